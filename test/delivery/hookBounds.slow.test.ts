/** What hooks of areas and roaming can make the server keep is bounded, and what exceeds a bound is told which one. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type {
  LivePosition,
  PositionObserver,
  Positions,
  PositionViewer,
  Roams,
  RoamViewer,
} from '../../src/actor/port.ts'
import { HookDatabase } from '../../src/delivery/hookDatabase.ts'
import { HookLog, type HookStore } from '../../src/delivery/hookLog.ts'
import { HookWatches } from '../../src/delivery/hookWatches.ts'
import type { Hook } from '../../src/model/hook.ts'
import { startServer } from '../kit/server.ts'
import { tile38Server } from '../kit/tile38.ts'
import { until } from '../kit/waiting.ts'

const HERE = [13.4, 52.5] as const
const CIRCLE = { type: 'circle', center: HERE, radius: 100 } as const
const ENDPOINT = { url: 'https://receiver.example/' }

function positionOf(deviceId: string, updatedAt: number, [longitude, latitude] = HERE): LivePosition {
  return {
    scope: 0,
    deviceId,
    recordId: deviceId,
    userId: undefined,
    latitude,
    longitude,
    accuracy: 5,
    updatedAt,
  }
}

/** Devices that are shown, and a clock, both set by hand. */
class Places implements Positions, Roams {
  observer: PositionObserver | undefined
  readonly isConnected = true
  present: LivePosition[] = []
  roamer: RoamViewer | undefined
  time = 0
  readonly #timers: { at: number; work: () => void }[] = []

  async look(_scope: number, _area: unknown, viewer: PositionViewer): Promise<void> {
    for (const position of this.present) viewer.found(position)
  }

  async roam(_scope: number, _meters: number, viewer: RoamViewer): Promise<void> {
    this.roamer = viewer
  }

  async locate(_scope: number, deviceIds: readonly string[]): Promise<LivePosition[]> {
    return deviceIds.map((deviceId) => positionOf(deviceId, 0))
  }

  now(): number {
    return this.time
  }

  after(milliseconds: number, work: () => void): () => void {
    const timer = { at: this.time + milliseconds, work }
    this.#timers.push(timer)
    return () => void this.#timers.splice(this.#timers.indexOf(timer), 1)
  }

  advance(milliseconds: number): void {
    this.time += milliseconds
    const due = this.#timers.filter(({ at }) => at <= this.time)
    for (const timer of due) this.#timers.splice(this.#timers.indexOf(timer), 1)
    for (const { work } of due) work()
  }
}

async function watchesOf(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-hooks-'))
  const database = new HookDatabase(join(folder, 'messages.sqlite'), 1e12)
  const store: HookStore = {
    ends: async () => database.ends(),
    stays: async (hookId) => database.stays(hookId),
    begin: async (hookId, known) => database.begin(hookId, known),
    append: async (entries) => database.append(entries),
    read: async (hookId, after, limit) => database.read(hookId, after, limit),
    get: async (id) => database.get(id),
    remove: async (ids) => database.remove(ids),
    forget: async (hookId, whole) => database.forget(hookId, whole),
    close: async () => database.close(),
  }
  const log = await HookLog.open(store)
  const places = new Places()
  const paused = new Map<string, string>()
  const watches = new HookWatches({
    log,
    positions: places,
    roams: places,
    time: places,
    logger: pino({ level: 'silent' }),
    pause: (hookId, reason) => void paused.set(hookId, reason),
  })
  t.teardown(async () => {
    await watches.stop()
    database.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { watches, places, paused, log }
}

function hookOf(id: string, more: Partial<Hook>): Hook {
  return {
    id,
    scope: 0,
    tag: 'a',
    externalId: id,
    enabled: true,
    detect: [],
    endpoint: ENDPOINT,
    createdAt: 0,
    updatedAt: 0,
    ...more,
  }
}

t.test('what is too large is refused, and the error names the bound', async (t) => {
  const tile38 = await tile38Server(t)
  const env = { RINGFENCE_TILE38_URL: tile38.url, RINGFENCE_RATE_LIMITS: 'off' }
  const server = await startServer(t, { env })
  const put = (id: string, body: object) =>
    server.api('PUT', `/v1/hooks/a/${id}`, { endpoint: ENDPOINT, enabled: false, ...body })
  const ring = (count: number) => {
    const positions = Array.from({ length: count - 1 }, (_, i) => {
      const angle = (2 * Math.PI * i) / (count - 1)
      return [HERE[0] + Math.cos(angle) / 100, HERE[1] + Math.sin(angle) / 100]
    })
    return { type: 'polygon', coordinates: [[...positions, positions[0]!]] }
  }
  const texts = (count: number, length = 1) =>
    Array.from({ length: count }, (_, i) => `${i}`.padStart(length))
  const cases: readonly [param: string, message: RegExp, body: object][] = [
    ['area.coordinates', /2,?000/, { area: ring(2001) }],
    ['area.coordinates', /One ring/, { area: { type: 'polygon', coordinates: [[], []] } }],
    ['area.radius', /1000000/, { area: { ...CIRCLE, radius: 1_000_001 } }],
    ['roam.meters', /1000/, { roam: { meters: 1001 } }],
    ['userIds', /100/, { area: CIRCLE, userIds: texts(101) }],
    ['deviceIds', /100/, { area: CIRCLE, deviceIds: texts(101) }],
    ['description', /\d/, { area: CIRCLE, description: 'x'.repeat(100_000) }],
  ]
  for (const [param, message, body] of cases) {
    const { status, body: answer } = await put('1', body)
    t.match({ status, meta: answer.meta }, { status: 400, meta: { param, message } }, param)
  }
  t.match(await put('0', { area: ring(2000), userIds: texts(100), deviceIds: texts(100) }), { status: 200 })
  for (let i = 1; i < 100; i++) {
    const { status } = await put(String(i), i % 2 === 0 ? { area: CIRCLE } : { roam: { meters: 1000 } })
    if (status !== 200) t.fail(`${status} for hook ${i}`)
  }
  t.match(await put('100', { area: CIRCLE }), { status: 409, body: { meta: { message: /100 hooks/ } } })
  t.match(await put('7', { area: CIRCLE }), { status: 200 }, 'one that is there can still be changed')
  t.equal((await server.api('DELETE', '/v1/hooks/a/7')).status, 200)
  t.match(await put('100', { area: CIRCLE }), { status: 200 }, 'and in place of one that is gone, another')
})

t.test('a hook that would have to know too many devices is paused; the others go on', async (t) => {
  const { watches, places, paused } = await watchesOf(t)
  await watches.put(hookOf('small', { area: CIRCLE, detect: ['enter', 'exit'], deviceIds: ['d1'] }))
  places.present = Array.from({ length: 100_001 }, (_, i) => positionOf(`d${i}`, 1))
  await watches.put(hookOf('large', { area: CIRCLE, detect: ['enter'] }))
  t.strictSame([...paused], [['large', 'It would have to know more than 100000 devices or pairs.']])

  // All hooks together: each of them is small enough.
  places.present.length = 84_000
  for (let i = 0; i < 6; i++) await watches.put(hookOf(`h${i}`, { area: CIRCLE, detect: ['enter'] }))
  t.strictSame(
    [...paused].slice(1),
    [['h5', 'All hooks together would have to know more than 500000 devices and pairs.']],
    'the one that exceeds the sum',
  )
  for (const id of ['small', 'h0', 'h4']) t.equal(watches.trouble(id), undefined)
})

t.test('a hook whose messages are not delivered is suspended, and goes on by itself', async (t) => {
  const { watches, places, paused, log } = await watchesOf(t)
  await watches.put(hookOf('h', { area: CIRCLE, detect: ['inside'] }))
  let count = 0
  for (let round = 1; watches.trouble('h') === undefined; round++) {
    for (let i = 0; i < 10_000; i++) places.observer!.moved(positionOf(`d${i}`, round))
    await until(() => log.count('h') >= 10_000 * round || watches.trouble('h') !== undefined)
    count = log.count('h')
    if (round > 7) break
  }
  t.equal(watches.trouble('h'), 'More than 50000 messages wait.')
  t.ok(count > 50_000 && count <= 61_000, `${count} messages`)
  t.strictSame([...paused], [])

  // They are delivered.
  const source = log.source('h', 0)
  for (;;) {
    const { events } = await source.feed.read(0, 0, 5000)
    if (events.length === 0) break
    for (const { event } of events) await log.delivered('h', event.id)
  }
  await until(() => {
    places.advance(1000)
    return watches.trouble('h') === undefined
  })
  places.observer!.moved(positionOf('d1', 100))
  await until(() => log.count('h') > 0)
})

t.test('too many encounters pause a hook of roaming', async (t) => {
  const { watches, places, paused } = await watchesOf(t)
  await watches.put(hookOf('r', { roam: { meters: 10 }, detect: ['nearby'] }))
  const other = { deviceId: 'b', latitude: 0, longitude: 0 }
  const meet = (count: number) => {
    for (let i = 0; i < count; i++) places.roamer?.met(positionOf('a', 1), other)
    places.advance(1000)
  }
  for (let second = 0; second < 10; second++) meet(20_000)
  t.strictSame([...paused], [], 'so many are no trouble')
  for (let second = 0; second < 6; second++) meet(20_001)
  t.strictSame([...paused], [['r', 'More than 20000 encounters a second. Use fewer metres.']])
})
