/**
 * The table of a trip's statuses on a real server, cell by cell: calls and updates come over HTTP, time passes by a clock
 * that is ahead, and the exported log has the events of the answers and no others. table.test.ts asks the same of the
 * machine alone.
 */
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { TRIP_STATUSES, type TripStatus } from '../../src/model/trip.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const LETTERS: Readonly<Record<string, string>> = {
  'user.started_trip': 'S',
  'user.arrived_at_wrong_trip_destination': 'W',
  'user.approaching_trip_destination': 'A',
  'user.arrived_at_trip_destination': 'R',
  'user.delayed_during_trip': 'D',
  'user.updated_trip': 'U',
  'user.stopped_trip': 'X',
}

type Cells = readonly [
  pending: string,
  started: string,
  approaching: string,
  arrived: string,
  completed: string,
  canceled: string,
  expired: string,
]

/** An update where the destination is now, or where it was last. */
const THERE: Cells = ['arrived; SR', 'arrived; R', 'arrived; R', 'same; U', 'same; -', 'same; -', 'same; -']

/** By input: the status after it and the events, from each status. `gone` is a trip that is not there any more. */
const TABLE = {
  'POST, a change': ['same; -', 'same; U', 'same; U', 'same; U', 'new; -', 'new; -', 'new; -'],
  'POST, no change': ['same; -', 'same; -', 'same; -', 'same; -', 'new; -', 'new; -', 'new; -'],
  'PATCH, a change': ['same; -', 'same; U', 'same; U', 'same; U', 'same; -', 'same; -', 'same; -'],
  'PATCH pending': [
    'same; -',
    'pending; U',
    'pending; U',
    'pending; U',
    'pending; -',
    'pending; -',
    'pending; -',
  ],
  'PATCH started': [
    'started; S',
    'same; -',
    'started; U',
    'started; U',
    'started; S',
    'started; S',
    'started; S',
  ],
  'PATCH approaching': [
    'approaching; SA',
    'approaching; A',
    'same; -',
    'approaching; U',
    'approaching; SA',
    'approaching; SA',
    'approaching; SA',
  ],
  'PATCH arrived': [
    'arrived; SR',
    'arrived; R',
    'arrived; R',
    'same; -',
    'arrived; SR',
    'arrived; SR',
    'arrived; SR',
  ],
  'PATCH completed': [
    'completed; X',
    'completed; X',
    'completed; X',
    'completed; X',
    'same; -',
    '400 status',
    'completed; X',
  ],
  'PATCH canceled': [
    'canceled; X',
    'canceled; X',
    'canceled; X',
    'canceled; X',
    '400 status',
    'same; -',
    'canceled; X',
  ],
  'update, outside': ['started; S', 'same; U', 'same; U', 'same; U', 'same; -', 'same; -', 'same; -'],
  'update, near': [
    'approaching; SA',
    'approaching; A',
    'same; U',
    'same; U',
    'same; -',
    'same; -',
    'same; -',
  ],
  'update, inside': THERE,
  'update, wrong': ['started; SW', 'same; W', 'same; W', 'same; U', 'same; -', 'same; -', 'same; -'],
  'update, left': ['started; S', 'same; U', 'same; U', 'same; U', 'same; -', 'same; -', 'same; -'],
  'edited, then there': THERE,
  'deleted, then there': THERE,
  'disabled, then there': THERE,
  'for others, then there': THERE,
  time: ['expired; X', 'expired; X', 'expired; X', 'expired; X', 'same; -', 'same; -', 'same; -'],
  'user removed': [
    'canceled; X',
    'canceled; X',
    'canceled; X',
    'canceled; X',
    'same; -',
    'same; -',
    'same; -',
  ],
  DELETE: ['gone; -', 'gone; -', 'gone; -', 'gone; -', 'gone; -', 'gone; -', 'gone; -'],
} as const satisfies Record<string, Cells>

type Input = keyof typeof TABLE
const INPUTS = Object.keys(TABLE) as Input[]
/** Their events are in no answer. */
const BY_ITSELF = new Set<Input>(['time', 'user removed', 'DELETE'])

const MINUTE = 60_000
const LATITUDE = -34.9
const METERS_PER_DEGREE = 91_290
const [FAR, WRONG, NEAR] = [20_000, 10_000, 1000]

const server = await startServer(t)

const { good } = server

/** A trip of its own user to its own geofence, in one of the statuses, with the events that it has had so far. */
class Scene {
  readonly events: Json[] = []
  readonly name: string
  id = ''
  readonly #longitude: number

  constructor(name: string, number: number) {
    this.name = name
    this.#longitude = -170 + 2 * number
  }

  get destination() {
    return { destinationGeofenceTag: this.name, destinationGeofenceExternalId: 'home' }
  }

  async fence(externalId: string, meters: number, more: object = {}): Promise<void> {
    await good('PUT', `/v1/geofences/${encodeURIComponent(this.name)}/${externalId}`, {
      description: externalId,
      type: 'circle',
      coordinates: [this.#longitude - meters / METERS_PER_DEGREE, LATITUDE],
      radius: 100,
      ...more,
    })
  }

  /** The events of trips in an answer, by their letters. */
  note({ events }: Json): string {
    const own = events.filter(({ type }: Json) => type in LETTERS)
    this.events.push(...own)
    return own.map(({ type }: Json) => LETTERS[type]).join('')
  }

  async track(meters: number): Promise<string> {
    return this.note(
      await good(
        'POST',
        '/v1/track',
        {
          deviceId: this.name,
          userId: this.name,
          latitude: LATITUDE,
          longitude: this.#longitude - meters / METERS_PER_DEGREE,
          accuracy: 5,
          stopped: true,
        },
        KEYS.testPublishable,
      ),
    )
  }

  async call(body: object): Promise<string> {
    const { status, body: answer } = await server.api('PATCH', `/v1/trips/${this.id}/update`, body)
    return status === 200 ? this.note(answer) : `${status} ${answer.meta.param}`
  }

  async make(input: Input, status: TripStatus): Promise<void> {
    await this.fence('home', 0)
    await this.fence('other', WRONG)
    // Somebody who is in the destination before the trip is made, or in the middle of nowhere.
    await this.track(input === 'update, left' ? 0 : FAR)
    const body = { externalId: this.name, userId: this.name, ...this.destination, mode: 'car' }
    this.id = (await good('POST', '/v1/trips', body)).trip._id
    if (status === 'pending' || status === 'expired') return
    if (input === 'update, left') await this.track(1)
    await this.call({ status })
  }

  get status(): Promise<string> {
    return server
      .api('GET', `/v1/trips/${this.id}`)
      .then(({ status, body }) => (status === 404 ? 'gone' : body.status))
  }
}

/** The letters of what an input does to the scene's trip. */
async function put(input: Input, scene: Scene): Promise<string> {
  const there = async (more: object | undefined) => {
    if (more !== undefined) await scene.fence('home', 0, more)
    else await good('DELETE', `/v1/geofences/${encodeURIComponent(scene.name)}/home`)
    return scene.track(0)
  }
  switch (input) {
    case 'POST, a change':
    case 'POST, no change': {
      const metadata = input === 'POST, a change' ? { floor: 3 } : undefined
      const body = { externalId: scene.name, userId: scene.name, ...scene.destination, metadata }
      const answer = await good('POST', '/v1/trips', body)
      return `${answer.trip._id === scene.id ? '' : `new, ${answer.trip.status} `}${scene.note(answer)}`
    }
    case 'PATCH, a change':
      return scene.call({ metadata: { floor: 3 }, mode: 'bike' })
    case 'update, outside':
      return scene.track(FAR + 100)
    case 'update, near':
      return scene.track(NEAR)
    case 'update, inside':
      return scene.track(0)
    case 'update, wrong':
      return scene.track(WRONG)
    case 'update, left':
      return scene.track(FAR)
    case 'edited, then there':
      await scene.fence('home', FAR)
      return scene.track(FAR)
    case 'deleted, then there':
      return there(undefined)
    case 'disabled, then there':
      return there({ enabled: false })
    case 'for others, then there':
      return there({ userIds: ['somebody else'] })
    case 'time':
      return ''
    case 'user removed':
      await good('DELETE', `/v1/users/${encodeURIComponent(scene.name)}`)
      await until(async () => !('userId' in (await good('GET', `/v1/trips/${scene.id}`)).trip))
      return ''
    case 'DELETE':
      await good('DELETE', `/v1/trips/${scene.id}`)
      return ''
    default:
      return scene.call({ status: input.replace('PATCH ', '') })
  }
}

/** The events of all trips in the log, oldest first, by the `_id` of the trip. */
async function logged(): Promise<Map<string, Json[]>> {
  const text: string = await good('GET', '/v1/exports/events?format=ndjson')
  const events: Json[] = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  return Map.groupBy(
    events.filter(({ type }) => type in LETTERS).toReversed(),
    ({ trip }) => trip._id as string,
  )
}

const lettersOf = (events: readonly Json[] = []) => events.map(({ type }) => LETTERS[type]).join('')

const scenes = new Map<string, Scene>()
const sceneOf = (input: Input, status: TripStatus) => scenes.get(`${input} of ${status}`)!

t.before(async () => {
  await good('PATCH', '/v1/settings', {
    tripUpdateSeconds: 0,
    tripWrongDestinationEvents: true,
    tripExpirationMinutes: 525_600,
  })
  for (const input of INPUTS) {
    for (const status of TRIP_STATUSES) {
      const name = `${input} of ${status}`
      const scene = new Scene(name, scenes.size)
      scenes.set(name, scene)
      // The time of all comes at once, so what has another status to begin with is made later.
      if (status === 'expired' || input === 'time') await scene.make(input, status)
    }
  }
  const early = [...scenes.values()].filter(({ id }) => id !== '')
  const before = new Map<Scene, Json>()
  for (const scene of early) before.set(scene, (await good('GET', `/v1/trips/${scene.id}`)).trip)
  await good('PATCH', '/v1/settings', { tripExpirationMinutes: 1 })
  await server.kill9()
  await server.restart({
    module: import.meta.resolve('../clusterFaults/clockShift.ts'),
    env: { CLOCK_SHIFT_MS: String(2 * MINUTE) },
  })
  const isEnded = (status: string) => ['completed', 'canceled', 'expired'].includes(status)
  await until(async () => {
    const statuses = await Promise.all(early.map(({ status }) => status))
    return statuses.every(isEnded)
  })
  await good('PATCH', '/v1/settings', { tripExpirationMinutes: null })
  const log = await logged()
  for (const [scene, was] of before) {
    if (isEnded(was.status)) continue
    const { endedAt } = (await good('GET', `/v1/trips/${scene.id}`)).trip
    const from = Math.max(Date.parse(was.createdAt), Date.parse(was.startedAt ?? was.createdAt))
    t.equal(Date.parse(endedAt) - from, MINUTE, `${scene.name}: as of its deadline`)
    scene.events.push(log.get(scene.id)!.at(-1))
  }
})

for (const input of INPUTS) {
  t.test(input, async (t) => {
    for (const [i, status] of TRIP_STATUSES.entries()) {
      const expected = TABLE[input][i]!
      const scene = sceneOf(input, status)
      if (scene.id === '') await scene.make(input, status)
      if (input !== 'time') t.equal(await scene.status, status, `before it is ${status}`)
      const before = lettersOf(scene.events)
      const letters = await put(input, scene)
      const [to, made = ''] = expected.split('; ')
      const after = (to === 'same' ? status : to) as string
      if (to === 'new') {
        t.equal(letters, 'new, pending ', `${status}: another trip`)
        t.equal(await scene.status, status, `${status}: the old one stays under its _id`)
      } else if (to === '400 status') {
        t.equal(letters, to, status)
        t.equal(await scene.status, status, 'nothing changes')
      } else {
        t.equal(await scene.status, after, `${status}: ${after}`)
        if (!BY_ITSELF.has(input)) t.equal(letters || '-', made, `${status}: the events of the answer`)
      }
      const events = (await logged()).get(scene.id) ?? []
      const own = made === '-' ? '' : made
      if (input === 'time') {
        t.equal(lettersOf(events), before, `${status}: the events of the log`)
        t.equal(before.endsWith('X'), true, `${status}: it has ended`)
      } else t.equal(lettersOf(events), before + own, `${status}: the events of the log`)
      if (!BY_ITSELF.has(input)) t.strictSame(events, scene.events, `${status}: they are the answered ones`)
      await furthermore(t, input, status, scene)
    }
  })
}

/** What the table says of some inputs beyond status and events. */
async function furthermore(t: Json, input: Input, status: TripStatus, scene: Scene): Promise<void> {
  const isOver = ['completed', 'canceled', 'expired'].includes(status)
  const { trip } = (await server.api('GET', `/v1/trips/${scene.id}`)).body
  if (input === 'PATCH, a change') {
    t.strictSame(trip.metadata, { floor: 3 }, `${status}: metadata changes`)
    t.equal(trip.mode, isOver ? 'car' : 'bike', `${status}: other fields only of one that has not ended`)
  }
  if (input === 'user removed') {
    for (const gone of ['user', 'userId']) t.notOk(gone in trip, `${status}: ${gone}`)
    t.strictSame(trip.locations, [], `${status}: locations`)
  }
  if (isOver && /^PATCH (?:pending|started|approaching|arrived)$/.test(input)) {
    for (const gone of ['completedAt', 'endedAt'])
      t.notOk(gone in trip, `${status}: a new run has no ${gone}`)
    t.equal('arrivedAt' in trip, input === 'PATCH arrived', status)
  }
  if (status === 'arrived' && /^PATCH (?:pending|started|approaching)$/.test(input))
    t.notOk('arrivedAt' in trip, `${input}: the arrival is taken back`)
}
