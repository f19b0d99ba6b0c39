import { statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type {
  CopiedPositions,
  FoundUser,
  LivePosition,
  PositionObserver,
  UserAnswer,
  UserQuestion,
  UsersNear,
} from '../../src/actor/port.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import { metadataMatcher } from '../../src/model/metadata.ts'
import { deviceHash } from '../../src/model/deviceHash.ts'
import type { Position } from '../../src/model/geofence.ts'
import { LiveAreas, type LiveArea } from '../../src/spatial/liveAreas.ts'
import { Tile38Devices } from '../../src/tile38/tile38Devices.ts'
import { Tile38Channels } from '../../src/tile38/tile38Channels.ts'
import { Tile38Positions } from '../../src/tile38/tile38Positions.ts'
import { entriesOf, Tile38Search } from '../../src/tile38/tile38Search.ts'
import { readPoint } from '../../src/tile38/tile38Position.ts'
import { deviceOf, Tile38Keys } from '../../src/tile38/tile38Texts.ts'
import { Tile38Wholeness } from '../../src/tile38/tile38Wholeness.ts'
import type { Tile38Connection } from '../../src/tile38/tile38Connection.ts'
import { AREAS, inside, positionsContract, SCOPE, spots, Watcher } from '../cluster/positionsContract.ts'
import fc from '../kit/fastCheck.ts'
import { TILE38_NAME, tile38Server } from '../kit/tile38.ts'
import { until } from '../kit/waiting.ts'
import { place } from '../spatial/contract.ts'

const RUNS = Math.ceil(Number(process.env.RINGFENCE_TEST_RUNS ?? 1) * 60)
const HERE = { latitude: 52.5, longitude: 13.4 }
const STORE = 'a store'
const troubled = () => {}

interface Device extends LivePosition {
  readonly metadata: { readonly team: string | number }
}

/** What a search may want besides the place. */
type Wanted = Pick<UsersNear, 'metadata' | 'maxAccuracy' | 'updatedAfter'>

/** Texts that Tile38 would take for numbers, or shorten, if it could. */
const ODD_IDS = ['nan', ' a ', '"', '1e5', '007', '{}', 'ü €', '']
const TEAMS = ['red', 'blue', 5, '5.0', 'Red']
const NOON = 1_700_000_000_000

const PARTITIONS = 4
const SHARES = Array.from({ length: PARTITIONS }, (_, n) => String(n))

/** A process that owns partitions and writes the positions of their devices. */
class Owner {
  readonly written: Tile38Devices
  readonly has: Set<number>
  isLive = true
  /** The devices as this process sees them. */
  sees: ReadonlyMap<string, Device>
  readonly #shares = new Map<number, CopiedPositions>()

  constructor(
    t: Test,
    tile38: Tile38Connection,
    writer: string,
    partitions: readonly number[],
    fleet: Fleet,
  ) {
    this.has = new Set(partitions)
    this.sees = fleet.devices
    this.written = new Tile38Devices({
      tile38,
      storeId: STORE,
      writer,
      partitions: PARTITIONS,
      shares: () =>
        [...this.has].map((n) => ({
          name: String(n),
          partitions: [n],
          positions: this.#shares.get(n) ?? this.#open(n),
        })),
      scopes: () => [SCOPE],
      isLive: () => this.isLive,
      troubled,
    })
    this.written.start()
    t.teardown(() => this.written.stop())
  }

  /** The observer of the devices of a partition, if the process has that partition. */
  observerOf(partition: number): PositionObserver | undefined {
    return this.has.has(partition) ? this.#shares.get(partition)?.copier : undefined
  }

  /** The next time, the process has the partition under a new ownership. */
  lose(partition: number): void {
    this.has.delete(partition)
    this.#shares.delete(partition)
  }

  #open(partition: number): CopiedPositions {
    const look: CopiedPositions['look'] = async (scope, _everywhere, viewer) => {
      for (const device of this.sees.values())
        if (device.scope === scope && partitionOf(device.deviceId) === partition) viewer.found(device)
      viewer.pause()
    }
    const positions: CopiedPositions = { observer: undefined, copier: undefined, look }
    this.#shares.set(partition, positions)
    return positions
  }
}

function partitionOf(deviceId: string): number {
  return deviceHash(deviceId) % PARTITIONS
}

/** A slow and obvious implementation: all devices in a map, and every query a scan. */
class Fleet {
  readonly devices = new Map<string, Device>()
  readonly owners: readonly Owner[]
  /** Records that somebody asked for. */
  readonly asked = new Set<string>()
  #records = 0

  constructor(t: Test, tile38: Tile38Connection, owners = 1) {
    const all = Array.from({ length: PARTITIONS }, (_, n) => n)
    this.owners = Array.from(
      { length: owners },
      (_, i) =>
        new Owner(
          t,
          tile38,
          `owner ${i}`,
          all.filter((n) => n % owners === i),
          this,
        ),
    )
  }

  move(deviceId: string, [longitude, latitude]: Position, more: Partial<Device> = {}): void {
    const device: Device = {
      scope: SCOPE,
      deviceId,
      recordId: this.devices.get(deviceId)?.recordId ?? String(this.#records++).padStart(6, '0'),
      userId: undefined,
      latitude,
      longitude,
      accuracy: NaN,
      updatedAt: NOON,
      metadata: { team: 'red' },
      ...more,
    }
    this.devices.set(deviceId, device)
    this.#observers(deviceId).forEach((observer) => observer.moved(device))
  }

  remove(deviceId: string): void {
    const { recordId } = this.devices.get(deviceId)!
    this.devices.delete(deviceId)
    this.#observers(deviceId).forEach((observer) => observer.removed(SCOPE, deviceId, recordId))
  }

  #observers(deviceId: string): PositionObserver[] {
    return this.owners.flatMap((owner) => owner.observerOf(partitionOf(deviceId)) ?? [])
  }

  in(area: LiveArea): Device[] {
    const areas = new LiveAreas<string>()
    areas.put('it', area)
    return [...this.devices.values()].filter(({ latitude, longitude }) =>
      areas.tester('it')(latitude, longitude),
    )
  }

  /** It only accepts queries for records by id. No other process may be asked who is near. */
  async ask(question: UserQuestion): Promise<UserAnswer> {
    if (question.ask !== 'records') throw new Error(`asked for ${question.ask}`)
    question.ids.forEach((id) => this.asked.add(id))
    const wanted = new Set(question.ids)
    const found = [...this.devices.values()].filter(({ recordId }) => wanted.has(recordId))
    // Limits the answer, as if it were full.
    return { users: found.slice(0, 20).map(userOf), hasMore: found.length > 20 }
  }

  near([longitude, latitude]: Position, radiusMeters: number, limit: number, wanted: Wanted) {
    return [...this.devices.values()]
      .map((device) => ({
        device,
        distance: pointDistance(latitude, longitude, device.latitude, device.longitude),
      }))
      .filter(({ device, distance }) => distance <= radiusMeters && isWanted(device, wanted))
      .toSorted((a, b) => a.distance - b.distance || (a.device.recordId < b.device.recordId ? -1 : 1))
      .slice(0, limit)
      .map(({ device }) => device.deviceId)
  }

  settled(): Promise<void> {
    return until(() => this.owners.every(({ written }) => written.waiting === 0))
  }
}

function isWanted(device: Device, { metadata = {}, maxAccuracy = Infinity, updatedAfter = 0 }: Wanted) {
  if (device.accuracy > maxAccuracy || device.updatedAt <= updatedAfter) return false
  return metadataMatcher(metadata)(device.metadata)
}

function userOf({
  recordId,
  deviceId,
  metadata,
  longitude,
  latitude,
  accuracy,
  updatedAt,
}: Device): FoundUser {
  return {
    order: [0],
    id: recordId,
    deviceId,
    user: [
      JSON.stringify({
        metadata,
        location: { type: 'Point', coordinates: [longitude, latitude] },
        ...(!Number.isNaN(accuracy) && { locationAccuracy: accuracy }),
        updatedAt: new Date(updatedAt).toISOString(),
      }),
    ],
    explanation: [],
  }
}

t.test(`${TILE38_NAME}: a search finds the same as a scan, in the same order`, async (t) => {
  const server = await tile38Server(t)
  const tile38 = server.connect(t)
  const fleet = new Fleet(t, tile38)
  const owners = { ask: (question: UserQuestion) => fleet.ask(question), remove: async () => false }
  const search = new Tile38Search(tile38, STORE, new Tile38Wholeness(tile38, STORE, SHARES), owners)
  const near = async (
    [longitude, latitude]: Position,
    radiusMeters: number,
    limit: number,
    wanted: Wanted = {},
  ) => {
    const question = { latitude, longitude, radiusMeters, limit, ...wanted }
    const { users } = await search.ask({ scope: SCOPE, ask: 'near', near: question })
    return users.map(({ deviceId }) => deviceId)
  }
  await t.rejects(near([0, 0], 1000, 10), { code: 503 }, 'before it is connected')
  await until(() => tile38.isConnected)
  const places = fc.sample(place, { numRuns: 400, seed: 38 })
  places.forEach((at, i) =>
    fleet.move(`device${i}`, at, {
      metadata: { team: TEAMS[i % TEAMS.length]! },
      accuracy: [0, 5, 50, NaN][i % 4]!,
      updatedAt: NOON + (i % 6) * 1000,
      userId: ODD_IDS[i % ODD_IDS.length]!,
    }),
  )
  for (let i = 0; i < 300; i++)
    fleet.move(`crowd${i}`, [13.4 + i * 1e-5, 52.5], { metadata: { team: i === 299 ? 'green' : 'red' } })
  for (let i = 0; i < 20; i++) fleet.remove(`device${i * 7}`)
  await fleet.settled()
  const wants: fc.Arbitrary<Wanted> = fc.record(
    {
      metadata: fc.constantFrom('red', 'blue', 'green', '5', '5.0', 'Red').map((team) => ({ team })),
      maxAccuracy: fc.constantFrom(1, 5, 49.5),
      updatedAfter: fc.constantFrom(NOON - 1, NOON, NOON + 3000),
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(
      place,
      fc.integer({ min: 100, max: 10_000 }),
      fc.integer({ min: 1, max: 100 }),
      wants,
      async (at, radius, limit, wanted) => {
        fleet.asked.clear()
        const found = await near(at, radius, limit, wanted)
        const expected = fleet.near(at, radius, limit, wanted)
        if (found.join() !== expected.join()) throw new Error(`found ${found.join()}, not ${expected.join()}`)
        const unwanted = [...fleet.devices.values()].find(
          (device) => fleet.asked.has(device.recordId) && !isWanted(device, wanted),
        )
        if (unwanted !== undefined) throw new Error(`asked for ${unwanted.deviceId}, which is not wanted`)
      },
    ),
    { numRuns: RUNS },
  )
  const green = { metadata: { team: 'green' } }
  t.same(await near([13.4, 52.5], 5000, 1, green), ['crowd299'], 'behind a crowd that is filtered out')
  t.same((await near([13.4, 52.5], 5000, 100)).length, 100)
  const [reply] = await tile38.send([
    ['SCAN', new Tile38Keys(STORE).devices(SCOPE), 'LIMIT', '1000', 'POINTS'],
  ])
  const read = entriesOf(reply).map((entry) => readPoint(SCOPE, deviceOf(entry[0]), entry)!)
  t.equal(read.length, fleet.devices.size)
  for (const { deviceId, ...position } of read) t.match(fleet.devices.get(deviceId), position, deviceId)
  const elsewhere = { ...HERE, radiusMeters: 1000, limit: 9 }
  t.same((await search.ask({ scope: SCOPE + 1, ask: 'near', near: elsewhere })).users, [], 'another scope')
  await server.kill9()
  await until(() => !tile38.isConnected)
  await t.rejects(near([0, 0], 1000, 10), { code: 503 })
})

positionsContract(
  t,
  TILE38_NAME,
  async (t) => {
    const server = await tile38Server(t)
    const tile38 = server.connect(t)
    const fleet = new Fleet(t, tile38)
    const wholeness = new Tile38Wholeness(tile38, STORE, SHARES)
    const channels = startChannels(t, tile38)
    const positions = new Tile38Positions({ tile38, storeId: STORE, wholeness, channels })
    await until(() => tile38.isConnected)
    return {
      positions,
      move: async (deviceId, at) => fleet.move(deviceId, at),
      remove: async (deviceId) => fleet.remove(deviceId),
    }
  },
  until,
)

t.test(`${TILE38_NAME}: while no device moves, its file grows by one note a second`, async (t) => {
  const server = await tile38Server(t)
  const tile38 = server.connect(t)
  await until(() => tile38.isConnected)
  const fleet = new Fleet(t, tile38)
  for (let i = 0; i < 200; i++) fleet.move(`device${i}`, [13.4 + i * 1e-3, 52.5])
  await fleet.settled()
  const file = join(server.folder, 'data', 'appendonly.aof')
  const { whole } = new Tile38Keys(STORE)
  const notes = async () => {
    const [reply] = await tile38.send([['SCAN', whole, 'LIMIT', '100']])
    const [, entries] = reply as unknown as readonly [unknown, readonly (readonly [string, string])[]]
    return entries.reduce((sum, [, note]) => sum + Number(note.split(' ')[0]), 0)
  }
  const [bytesBefore, notesBefore] = [statSync(file).size, await notes()]
  let more = 0
  await until(async () => (more = (await notes()) - notesBefore) >= 4)
  const grown = statSync(file).size - bytesBefore
  t.ok(grown < (more + 2) * 500, `${grown} bytes for ${more} notes`)
})

t.test(`${TILE38_NAME}: a watched area reports who is in it and who leaves`, async (t) => {
  const server = await tile38Server(t)
  const tile38 = server.connect(t)
  const fleet = new Fleet(t, tile38)
  const wholeness = new Tile38Wholeness(tile38, STORE, SHARES)
  const channels = startChannels(t, tile38)
  const positions = new Tile38Positions({ tile38, storeId: STORE, wholeness, channels })
  const watcher = new Watcher(positions)
  const places = () =>
    new Map(
      [...fleet.devices].map(([id, { longitude, latitude }]): [string, Position] => [
        id,
        [longitude, latitude],
      ]),
    )
  const agrees = () => watcher.agrees(places())
  const shuffle = (seed: number) => {
    for (const [i, at] of fc.sample(spots, { numRuns: 400, seed }).entries()) {
      const id = `device${i % 120}`
      if (i % 11 === 0 && fleet.devices.has(id)) fleet.remove(id)
      else fleet.move(id, at)
    }
  }

  await until(() => tile38.isConnected)
  shuffle(1)
  await fleet.settled()
  await Promise.all(AREAS.map((area, i) => positions.look(SCOPE, area, watcher.viewers[i]!)))
  t.ok(agrees(), 'at the first look')
  t.ok(AREAS.every((area) => inside(area, places()).length > 0))
  for (const seed of [2, 3, 4]) {
    shuffle(seed)
    await fleet.settled()
    await until(agrees)
  }
  t.pass('after moves and removals')

  await server.kill9()
  await until(() => !tile38.isConnected)
  shuffle(5)
  server.wipe()
  await server.start()
  await fleet.settled()
  await until(agrees)
  t.pass('after it was killed and wiped, and devices moved meanwhile')

  server.signal('SIGSTOP')
  shuffle(6)
  await until(() => !tile38.isConnected)
  shuffle(7)
  server.signal('SIGCONT')
  await fleet.settled()
  await until(agrees)
  t.pass('after it was stopped for some seconds')

  await tile38.send([['FLUSHDB']])
  shuffle(8)
  await until(() => !tile38.isConnected)
  await until(() => tile38.isConnected)
  await fleet.settled()
  await until(agrees)
  t.pass('after it was emptied, which takes the channels away')

  t.equal(channels.count, AREAS.length)
  for (const viewer of watcher.viewers) viewer.isEnded = true
  await until(() => channels.count === 0)
  const before = watcher.known.size
  fleet.move('late', [13.4, 52.5])
  await fleet.settled()
  await tile38.send([['PING']])
  t.equal(watcher.known.size, before, 'who looks no more is told nothing')
})

t.test(`${TILE38_NAME}: partitions change hands, and a former owner continues to write`, async (t) => {
  const server = await tile38Server(t)
  const tile38 = server.connect(t)
  await until(() => tile38.isConnected)
  const fleet = new Fleet(t, tile38, 2)
  const [one, other] = fleet.owners as [Owner, Owner]
  fc.sample(place, { numRuns: 200, seed: 7 }).forEach((at, i) => fleet.move(`device${i}`, at))
  /** The positions that Tile38 has. */
  const held = async () => {
    const [reply] = await tile38.send([
      ['SCAN', `ringfence:${STORE}:${SCOPE}:devices`, 'LIMIT', '1000', 'POINTS'],
    ])
    return entriesOf(reply)
      .map((entry) => readPoint(SCOPE, deviceOf(entry[0]), entry)!)
      .map(({ deviceId, longitude, latitude }) => `${deviceId} ${[longitude, latitude]}`)
      .toSorted()
  }
  const expected = () =>
    [...fleet.devices.values()]
      .map(({ deviceId, longitude, latitude }) => `${deviceId} ${[longitude, latitude]}`)
      .toSorted()
  const agrees = async () => (await held().catch(() => [])).join('|') === expected().join('|')
  await fleet.settled()
  t.strictSame(await held(), expected())

  // The first owner has lost the partition without knowing it, because it is stopped while the second one takes over.
  one.isLive = false
  one.sees = new Map(fleet.devices)
  other.has.add(0)
  const inPartition = [...fleet.devices.keys()].filter((id) => partitionOf(id) === 0)
  for (const id of inPartition) fleet.move(id, [14, 53])
  fleet.remove(inPartition[1]!)
  await until(agrees)
  await until(() => other.written.waiting === 0)
  one.isLive = true
  await until(async () => !(await agrees()))
  one.lose(0)
  one.sees = fleet.devices
  await until(agrees)
  t.pass('what it wrote is put right')

  await tile38.send([['FLUSHDB']])
  t.strictSame(await held(), [])
  await until(agrees)
  t.pass('what was emptied is written anew')
  other.lose(0)
  one.has.add(0)
  for (const id of inPartition.slice(2)) fleet.remove(id)
  await until(agrees)
  t.pass('and given back')
})

t.test(`${TILE38_NAME}: searches are refused until all positions are there`, async (t) => {
  const server = await tile38Server(t)
  const tile38 = server.connect(t)
  const readers = server.connect(t)
  await until(() => tile38.isConnected && readers.isConnected)
  const wholeness = new Tile38Wholeness(readers, STORE, SHARES)
  await t.rejects(wholeness.reached(), { code: 503, message: /Tile38/ }, 'nobody writes')
  const fleet = new Fleet(t, tile38, 2)
  const [one, other] = fleet.owners as [Owner, Owner]
  await until(() => other.written.waiting === 0)
  await wholeness.reached()
  const isWhole = async () => wholeness.isWhole((await readers.send([wholeness.question]))[0])
  t.ok(await isWhole())
  await tile38.send([['FLUSHDB']])
  t.notOk(await isWhole(), 'emptied')
  await until(() => isWhole().catch(() => false))

  // When it comes back, the notes of its earlier ownership still exist, and have no effect.
  one.isLive = false
  await server.kill9()
  await until(() => !readers.isConnected)
  await server.start()
  await until(() => readers.isConnected)
  await t.rejects(wholeness.reached(), { code: 503 }, 'one owner has not looked at it yet')
  one.isLive = true
  await until(() =>
    wholeness.reached().then(
      () => true,
      () => false,
    ),
  )
})

function startChannels(t: Test, tile38: Tile38Connection): Tile38Channels {
  const channels = new Tile38Channels({ tile38, storeId: STORE, process: 'this one', troubled })
  channels.start()
  t.teardown(() => channels.stop())
  return channels
}
