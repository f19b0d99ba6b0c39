/** Both implementations of the routing port with the same roads, and the code that uses them. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { MapRegions, RoutedMapRegion } from '../../src/geo/extract/port.ts'
import { AnswerCache } from '../../src/geo/routing/cache.ts'
import { CachedEngine } from '../../src/geo/routing/engine.ts'
import {
  BadRoutingRequest,
  NoMatch,
  NoRoadNear,
  NoRoute,
  RoutingGone,
  RoutingRefusal,
  TooFar,
  TooMuch,
  Unconnected,
  type RoutingAction,
  type RoutingEngine,
} from '../../src/geo/routing/port.ts'
import { MapRegionEngines } from '../../src/geo/routing/mapRegionEngines.ts'
import { RemoteValhalla } from '../../src/geo/routing/remoteValhalla.ts'
import type { Valhalla } from '../../src/geo/routing/valhalla.ts'
import { ValhallaProcess } from '../../src/geo/routing/valhallaProcess.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import fc, { draws } from '../kit/fastCheck.ts'
import { skipUnless } from '../kit/goServers.ts'
import { startValhalla, valhallaServer } from '../kit/valhallaServer.ts'
import { buildGridCity, crossing, DEAD_END, ISLAND, OCEAN } from './gridCity.ts'

const MIB = 1024 * 1024
const RUNS = draws(100)
const SILENT = { asked() {} }
const logger = createLogger('silent')

const city = await buildGridCity()
t.teardown(() => city.remove())

function startProcess(tiles: string): ValhallaProcess {
  return new ValhallaProcess({
    tiles,
    name: 'grid city',
    threads: 2,
    timeoutMs: 300_000,
    memoryBytes: 1024 * MIB,
    maxWaiting: 1000,
    logger,
    ended() {},
  })
}

function engineOf(valhalla: Valhalla, cache = new AnswerCache(0, new ManualClock())): RoutingEngine {
  return new CachedEngine({
    valhalla,
    cache,
    attribution: undefined,
    key: 'test',
    maxAgeMs: Infinity,
    observer: SILENT,
  })
}

/** An HTTP server that is closed when the test ends. */
async function serve(t: Test, listener: Parameters<typeof createServer>[1]): Promise<string> {
  const server: Server = createServer(listener!)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Answers like Valhalla's own server: errors have a number, and in the OSRM format a word. */
function asServer(valhalla: Valhalla): Parameters<typeof createServer>[1] {
  const words: Record<number, string> = { 171: 'NoSegment', 442: 'NoRoute', 154: 'DistanceExceeded' }
  return async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    try {
      response.end(await valhalla.call(request.url!.replace('/valhalla/', '') as RoutingAction, body))
    } catch (error) {
      const { code, message } = error as RoutingRefusal
      response.statusCode = 400
      const osrm = { code: words[code] ?? 'InvalidValue', message: 'In other words.' }
      const own = { error_code: code, error: message, status_code: 400, status: 'Bad Request' }
      response.end(JSON.stringify(body.includes('"osrm"') ? osrm : own))
    }
  }
}

const local = startProcess(city.tiles)
t.teardown(() => local.stop())

const TECHNOLOGIES: Record<string, (t: Test) => Promise<Valhalla>> = {
  'a process of ours': () => Promise.resolve(local),
  'a server by URL': async (t) => {
    const url = await serve(t, asServer(local))
    const remote = new RemoteValhalla({
      url: `${url}/valhalla/`,
      timeoutMs: 300_000,
      maxWaiting: 100,
      logger,
    })
    t.teardown(() => remote.stop())
    return remote
  },
  "Valhalla's own server": async (t) => {
    const url = await startValhalla(t, city.tiles)
    const remote = new RemoteValhalla({ url, timeoutMs: 300_000, maxWaiting: 100, logger })
    t.teardown(() => remote.stop())
    return remote
  },
}
if ((await skipUnless(valhallaServer)) !== false) delete TECHNOLOGIES["Valhalla's own server"]

for (const [technology, open] of Object.entries(TECHNOLOGIES)) {
  t.test(`${technology} answers every request that the interface allows`, async (t) => {
    const engine = engineOf(await open(t))
    const costing = 'auto'
    const corners = [crossing(0, 0), crossing(10, 10)]

    const { trip } = await engine.ask('route', { locations: corners, costing })
    t.ok(Math.abs(trip.summary.length - 4) < 0.02, `20 blocks are ${trip.summary.length} km`)
    t.ok(trip.summary.time > 200 && trip.summary.time < 600, `in ${trip.summary.time} s`)
    t.equal(trip.legs[0]?.maneuvers?.[0]?.type, 1)

    const osrm = await engine.ask('route', {
      locations: corners,
      costing,
      format: 'osrm',
      banner_instructions: true,
      voice_instructions: true,
    })
    t.equal(osrm.code, 'Ok')
    t.ok(Math.abs(osrm.routes[0]!.distance - 4000) < 20)
    t.ok((osrm.routes[0]!.legs[0]!.steps[0]!.bannerInstructions as unknown[]).length > 0)

    const unreachable = await engine.ask('sources_to_targets', {
      sources: [crossing(5, 5)],
      targets: [crossing(5, 6), { ...ISLAND[0], minimum_reachability: 1, search_cutoff: 100 }],
      costing,
      verbose: false,
    })
    t.equal(unreachable.sources_to_targets.durations[0]?.[1], null)

    const drive = Array.from({ length: 200 }, (_, i) => ({ ...crossing(0, i / 10), time: i }))
    const traced = await engine.ask('trace_attributes', {
      shape: drive,
      costing,
      shape_match: 'map_snap',
      filters: {
        action: 'include',
        attributes: ['edge.names', 'edge.speed_limit', 'edge.road_class', 'matched.type'],
      },
    })
    t.equal(traced.matched_points?.length, 200)
    t.match(traced.edges?.[0], { names: ['Column 0'], speed_limit: 50, road_class: 'residential' })
    const retraced = await engine.ask('trace_route', {
      shape: drive.slice(0, 101),
      costing,
      shape_match: 'map_snap',
    })
    t.ok(Math.abs(retraced.trip.summary.length - 2) < 0.02)

    const area = await engine.ask('isochrone', {
      locations: [crossing(10, 10)],
      costing: 'pedestrian',
      contours: [{ time: 10 }],
      polygons: true,
      reverse: true,
    })
    t.equal(area.features[0]?.geometry.type, 'Polygon')

    const [place] = await engine.ask('locate', { locations: [ISLAND[0]], costing, verbose: true })
    t.strictSame(place?.edges?.[0]?.edge_info?.names, ['Island Road'])
    t.match(await engine.ask('status', {}), { version: /^3\./ })
  })

  t.test(`${technology} has one error class per cause`, async (t) => {
    const engine = engineOf(await open(t))
    const costing = 'auto' as const
    const here = crossing(5, 5)
    const nearby = { minimum_reachability: 0, search_cutoff: 500 }
    const far = { lat: 10, lon: -20 }
    const sea = { ...crossing(30, 5), search_cutoff: 100 }
    const polygons = true
    const shape_match = 'map_snap'
    const CASES: [RoutingAction, object, new (...args: never[]) => RoutingRefusal, number][] = [
      ['route', { locations: [here, { ...DEAD_END, ...nearby }], costing }, NoRoute, 442],
      ['route', { locations: [here, { ...DEAD_END, ...nearby }], costing, format: 'osrm' }, NoRoute, 442],
      ['route', { locations: [here, { ...ISLAND[0], ...nearby }], costing }, NoRoute, 442],
      ['route', { locations: [here, { ...OCEAN, ...nearby }], costing }, Unconnected, 170],
      ['route', { locations: [here, sea], costing }, NoRoadNear, 171],
      ['route', { locations: [here, sea], costing, format: 'osrm' }, NoRoadNear, 171],
      ['route', { locations: [here, { lat: 40, lon: 100 }], costing }, TooFar, 154],
      ['sources_to_targets', { sources: [here], targets: [{ lat: -30, lon: -56 }], costing }, TooFar, 154],
      ['trace_attributes', { shape: [here, far], costing, shape_match }, TooFar, 154],
      ['route', { locations: Array.from({ length: 627 }, () => here), costing }, TooMuch, 150],
      ['isochrone', { locations: [here], costing, polygons, contours: [{ time: 121 }] }, TooMuch, 151],
      [
        'isochrone',
        { locations: [here], costing, polygons, contours: [1, 2, 3, 4, 5].map((time) => ({ time })) },
        TooMuch,
        152,
      ],
      ['trace_route', { shape: Array(16_001).fill(here), costing, shape_match }, TooMuch, 153],
      ['trace_route', { shape: [here, crossing(5.5, 5.5)], costing, shape_match: 'edge_walk' }, NoMatch, 443],
      ['route', { locations: [here, here], costing: 'rocket' }, BadRoutingRequest, 125],
      ['route', { locations: 'here', costing }, BadRoutingRequest, 110],
    ]
    for (const [action, request, refusal, code] of CASES) {
      const error = await engine.ask(action, request as never).then(
        () => 'answered',
        (failure: unknown) => failure,
      )
      t.type(error, refusal, `${refusal.name}: ${action} ${JSON.stringify(request).slice(0, 80)}`)
      const known = !(error instanceof BadRoutingRequest)
      if (known) t.equal((error as RoutingRefusal).code, code)
    }
  })
}

t.test('our process accepts as much as the interface allows', async (t) => {
  const engine = engineOf(local)
  const costing = 'auto'
  const visited = Array.from({ length: 25 }, (_, i) => crossing(i % 5, (i * 7) % 20))
  t.equal((await engine.ask('route', { locations: visited, costing })).trip.legs.length, 24)
  const places = (count: number) => Array.from({ length: count }, (_, i) => crossing(i % 21, (i * 5) % 21))
  for (const [sources, targets] of [
    [25, 25],
    [1, 625],
  ] as const) {
    const answer = await engine.ask('sources_to_targets', {
      sources: places(sources),
      targets: places(targets),
      costing,
      verbose: false,
      date_time: { type: 1, value: '2026-01-05T08:00' },
    })
    const { distances, durations } = answer.sources_to_targets
    t.equal(distances.flat().length, 625)
    t.notOk(durations.flat().includes(null))
  }
  const drive = Array.from({ length: 16_000 }, (_, i) => crossing(0, i / 800))
  const traced = await engine.ask('trace_attributes', {
    shape: drive,
    costing,
    shape_match: 'map_snap',
    filters: { action: 'include', attributes: ['matched.type'] },
  })
  t.equal(traced.matched_points?.length, 16_000)
  const area = await engine.ask('isochrone', {
    locations: [crossing(10, 10)],
    costing,
    contours: [{ time: 120 }],
    polygons: true,
  })
  t.equal(area.features[0]?.properties.contour, 120)
})

t.test('a server that is busy, slow or gone, or not Valhalla at all', async (t) => {
  let answer: { status: number; body: string; headers?: Record<string, string> } | undefined
  const url = await serve(t, (_, response) => {
    if (answer === undefined) return
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
  const remote = new RemoteValhalla({ url, timeoutMs: 1500, maxWaiting: 2, logger })
  t.teardown(() => remote.stop())
  const cache = new AnswerCache(MIB, new ManualClock())
  const engine = engineOf(remote, cache)
  const ask = () => engine.ask('locate', { locations: [crossing(1, 1)], costing: 'auto' })

  const calls: Promise<unknown>[] = [ask(), remote.call('route', '{}')]
  const both = calls.map((call) => t.rejects(call, { name: 'RoutingTimedOut', code: 503 }))
  t.equal(remote.waiting, 2)
  await t.rejects(remote.call('route', '{"one":"more"}'), { name: 'RoutingOverloaded', code: 503 })
  await Promise.all(both)
  t.equal(remote.waiting, 0)
  t.match(remote.condition, /not respond within 1\.5 s/)

  answer = { status: 503, body: '', headers: { 'retry-after': '7' } }
  await t.rejects(ask(), { name: 'RoutingOverloaded', retryAfter: 7 })
  answer = { status: 502, body: '<html>Bad gateway</html>' }
  await t.rejects(ask(), { name: 'RoutingGone', code: 503, message: /status 502/ })
  answer = { status: 302, body: '', headers: { location: 'http://127.0.0.1:1/' } }
  await t.rejects(ask(), { name: 'RoutingGone', message: /status 302/ })
  answer = { status: 200, body: '<html>Welcome</html>' }
  await t.rejects(ask(), { name: 'RoutingGone', message: /cannot be read/ })
  answer = { status: 200, body: '[]' }
  t.strictSame(await ask(), [], 'nothing of that is remembered')
  t.match(remote.condition, /no trouble/)

  const lines: string[] = []
  const nobody = new RemoteValhalla({
    url: 'http://127.0.0.1:1',
    timeoutMs: 5000,
    maxWaiting: 2,
    logger: createLogger('info', { write: (line) => lines.push(line) }),
  })
  t.teardown(() => nobody.stop())
  for (let i = 0; i < 3; i++)
    await t.rejects(nobody.call('status', '{}'), { name: 'RoutingGone', code: 503, message: /^(?!.*127)/ })
  t.equal(lines.length, 1, 'the reason is logged once for a row of failures')
  t.match(lines[0], /ECONNREFUSED/)
})

t.test('a question that nobody asks twice is not kept', async (t) => {
  let asked = 0
  const valhalla = {
    call: async () => Buffer.from(`[${++asked}]`),
    waiting: 0,
    residentBytes: 0,
    condition: '',
    stop: () => Promise.resolve(),
  }
  const cache = new AnswerCache(MIB, new ManualClock())
  const engine = engineOf(valhalla, cache)
  const question = { locations: [crossing(1, 1)], costing: 'auto' } as const
  t.strictSame(
    [await engine.ask('locate', question, false), await engine.ask('locate', question, false)],
    [[1], [2]],
  )
  t.equal(cache.bytes, 0)
  t.strictSame([await engine.ask('locate', question), await engine.ask('locate', question)], [[3], [3]])
})

t.test('answers are cached: those used last, limited by bytes and time', async (t) => {
  const KEY = 8
  const ENTRY = 200
  const MAX_BYTES = 8 * (1000 + KEY + ENTRY)
  const step = fc.record({
    key: fc.integer({ min: 0, max: 12 }),
    bytes: fc.integer({ min: 0, max: 1100 }),
    wait: fc.constantFrom(0, 0, 0, 5, 20),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const clock = new ManualClock()
      const cache = new AnswerCache(MAX_BYTES, clock)
      /** In the order of their last use. */
      let expected: { name: string; bytes: number; keptAt: number }[] = []
      for (const { key, bytes, wait } of steps) {
        clock.advance(wait)
        const name = String(key).padStart(KEY)
        const known = expected.find((entry) => entry.name === name && clock.now() - entry.keptAt <= 30)
        let asked = false
        const json = await cache.answer(name, 30, async () => {
          asked = true
          return Buffer.alloc(bytes)
        })
        expected = expected.filter((entry) => entry.name !== name)
        if (known !== undefined) expected.push(known)
        else if (bytes <= 1000) expected.push({ name, bytes, keptAt: clock.now() })
        const sizes = () => expected.reduce((sum, entry) => sum + entry.bytes + KEY + ENTRY, 0)
        while (sizes() > MAX_BYTES) expected.shift()
        if (asked !== (known === undefined) || json.length !== (known?.bytes ?? bytes)) return false
        if (cache.bytes !== sizes()) return false
      }
      return cache.hits + cache.misses === steps.length
    }),
    { numRuns: RUNS },
  )

  const cache = new AnswerCache(MIB, new ManualClock())
  let asked = 0
  const slow = async () => {
    asked++
    await sleep(5)
    if (asked === 1) throw new RoutingGone('gone', 1)
    return Buffer.from('{}')
  }
  const failed = await Promise.allSettled([1, 2, 3].map(() => cache.answer('a', Infinity, slow)))
  t.strictSame(
    failed.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
    'who asks the same at the same time has one answer',
  )
  t.equal(asked, 1)
  await Promise.all([1, 2, 3].map(() => cache.answer('a', Infinity, slow)))
  await cache.answer('a', Infinity, slow)
  t.equal(asked, 2, 'a failure is not kept, an answer is')
  t.strictSame([cache.hits, cache.misses], [5, 2])

  let calls = 0
  const counting: Valhalla = {
    call: async () => Buffer.from(String(++calls)),
    waiting: 0,
    residentBytes: 0,
    condition: '',
    stop: async () => {},
  }
  const engine = engineOf(counting, new AnswerCache(MIB, new ManualClock()))
  const here = { locations: [crossing(1, 1), crossing(2, 2)], costing: 'auto' } as const
  t.strictSame([await engine.ask('route', here), await engine.ask('route', here)], [1, 1])
  const now = { ...here, date_time: { type: 0 } } as const
  t.strictSame([await engine.ask('route', now), await engine.ask('route', now)], [2, 3], 'now passes')
  t.equal(await engine.ask('locate', here), 4)
})

const region = (id: string, tiles: string): RoutedMapRegion => ({
  id,
  name: 'grid',
  bounds: [-57, -35, -56, -34],
  attribution: 'nobody',
  map: undefined,
  tiles,
  places: undefined,
})

t.test('a region whose tiles are deleted', async (t) => {
  const deleted = region('1', join(city.tiles, 'deleted'))
  const engines = new MapRegionEngines({
    regions: {
      all: [deleted],
      routed: [deleted],
      at: () => deleted,
      containing: () => deleted,
      onChange: () => () => {},
    },
    open: ({ tiles }) => startProcess(tiles),
    cache: new AnswerCache(MIB, new ManualClock()),
    observer: SILENT,
  })
  t.teardown(() => engines.stop())
  const locations = [crossing(0, 0), crossing(1, 1)]
  await t.rejects(engines.containing([]).ask('route', { locations, costing: 'auto' }), {
    code: 503,
    message: /missing on disk/,
  })
})

t.test('a region that is switched under load', async (t) => {
  const faster = await buildGridCity(90)
  t.teardown(() => faster.remove())
  let served = region('1', city.tiles)
  let changed = () => {}
  const regions: MapRegions = {
    get all() {
      return [served]
    },
    get routed() {
      return [served]
    },
    at: () => served,
    containing: () => served,
    onChange(listener) {
      changed = listener
      return () => {}
    },
  }
  const opened: ValhallaProcess[] = []
  const engines = new MapRegionEngines({
    regions,
    open({ tiles }) {
      const valhalla = startProcess(tiles)
      opened.push(valhalla)
      return valhalla
    },
    cache: new AnswerCache(MIB, new ManualClock()),
    observer: SILENT,
  })
  t.equal(engines.condition, 'starts with the next request')
  const ask = async (i: number) => {
    const locations = [crossing(0, (i % 50) / 3), crossing(10, (i * 7) % 20)]
    const engine = engines.containing([])
    const { trip } = await engine.ask('route', { locations, costing: 'auto' })
    return trip.summary.length / trip.summary.time
  }

  const ended = new AbortController()
  let switched = false
  const before: number[] = []
  const after: number[] = []
  const clients = Promise.all(
    [1, 2, 3, 4].map(async (client) => {
      for (let i = client; !ended.signal.aborted; i += 4) {
        const speeds = switched ? after : before
        speeds.push(await ask(i))
        // Cached answers come without a turn of the event loop.
        await sleep(0)
      }
    }),
  ).finally(() => ended.abort())
  const asked = async (speeds: readonly number[]) => {
    while (!ended.signal.aborted && speeds.length < 40) await sleep(5)
  }
  await asked(before)
  served = region('2', faster.tiles)
  switched = true
  changed()
  await asked(after)
  ended.abort()
  await clients

  t.equal(opened.length, 2)
  t.ok(
    Math.min(...after) > Math.max(...before),
    'asked after the switch: answered by the new build, every time',
  )
  while (opened[0]!.residentBytes > 0) await sleep(10)
  t.equal(opened[0]!.condition, 'not in use', 'the other has ended')
  t.equal(engines.condition, 'grid: running')
  await engines.stop()
  t.equal(opened[1]!.condition, 'not in use')
})
