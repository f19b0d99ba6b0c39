import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import { Probe } from '../../src/geometry/probe.ts'
import { ShapeArena } from '../../src/geometry/shapeArena.ts'
import { measureShapes, type ShapeBatch } from '../../src/geometry/shapeBatch.ts'
import type { Geofence, Position } from '../../src/model/geofence.ts'
import type { Update } from '../../src/model/update.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { MeasuringPool } from '../../src/spatial/measuringPool.ts'
import type { Measurer } from '../../src/spatial/port.ts'
import fc from '../kit/fastCheck.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { circleScene, inRange, offset, polygonScene, runs, standpoint } from '../geometry/shapes.ts'
import { applied, Engine, kinds, NOON } from '../actor/kit.ts'
import { Random } from '../actor/world.ts'

const quiet = createLogger('silent')
const HERE = { latitude: 52, longitude: 13 }
/** Enough geofences and corners to make measuring expensive. */
const MANY = 300
const CORNERS = 1998

/** A star of about a kilometre around a place near {@link HERE}. */
function star(i: number, random: Random): Geofence {
  const longitude = HERE.longitude + random.between(-0.004, 0.004)
  const latitude = HERE.latitude + random.between(-0.004, 0.004)
  const ring = Array.from({ length: CORNERS }, (_, k): Position => {
    const angle = (2 * Math.PI * k) / CORNERS
    const degrees = random.between(0.008, 0.01)
    return [longitude + 1.6 * degrees * Math.cos(angle), latitude + degrees * Math.sin(angle)]
  })
  const id = i.toString(16).padStart(24, '0')
  return {
    id,
    scope: 0,
    tag: 'zone',
    externalId: id,
    description: `Zone ${i}`,
    type: 'polygon',
    shape: { kind: 'polygon', ring: [...ring, ring[0]!] },
    enabled: true,
    timeZone: 'Europe/Berlin',
    createdAt: NOON,
    updatedAt: NOON,
  }
}

const stars = Array.from({ length: MANY }, (_, i) => star(i, new Random(i)))

function engineAmidStars(measurer?: Measurer): Engine {
  const engine = new Engine(measurer === undefined ? {} : { measurer })
  for (const geofence of stars) engine.world.put(geofence)
  return engine
}

/** Measures only when told to. */
class Held implements Measurer {
  readonly batches: ShapeBatch[] = []
  readonly #waiting: (() => void)[] = []

  measure(batch: ShapeBatch): Promise<Float64Array> {
    this.batches.push(batch)
    return new Promise((resolve) => this.#waiting.push(() => resolve(measureShapes(structuredClone(batch)))))
  }

  release(): void {
    for (const go of this.#waiting.splice(0)) go()
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20))
}

t.test('a batch gives the same as the arena, to the last bit, also in another thread', async (t) => {
  const pool = new MeasuringPool(quiet)
  t.teardown(() => pool.close())
  const probe = new Probe()
  const scene = fc.oneof(polygonScene(84, 5, 50_000), circleScene(84))
  await fc.assert(
    fc.asyncProperty(
      fc.array(scene, { minLength: 1, maxLength: 30 }),
      standpoint(1.5),
      fc.constantFrom(0, 5, 500, 50_000),
      fc.constantFrom(0, 500),
      fc.nat(30),
      async (scenes, { east, north }, accuracyMeters, reachMeters, some) => {
        const arena = new ShapeArena()
        // Enough for several chunks.
        const refs = scenes.map(({ shape }) => {
          for (let i = 0; i < 10; i++) arena.add(stars[0]!.shape)
          return arena.add(shape)
        })
        const { center, size } = scenes[0]!
        const point = inRange(offset(center, east * size, north * size))
        const whole = Math.min(some, refs.length)
        const batch = { ...point, accuracyMeters, reachMeters, whole, ...arena.offsets(refs) }
        const measures = (await pool.measure(batch))!
        probe.set(point.latitude, point.longitude)
        refs.forEach((ref, i) => {
          const distance = arena.distance(ref, probe)
          const isAsked = accuracyMeters > Math.abs(distance) && (i < whole || distance <= reachMeters)
          const coverage = isAsked ? arena.coverage(ref, probe, accuracyMeters) : NaN
          if (!Object.is(measures[2 * i], distance) || !Object.is(measures[2 * i + 1], coverage))
            throw new Error(`${measures[2 * i]}, ${measures[2 * i + 1]}, not ${distance}, ${coverage}`)
        })
      },
    ),
    runs(30),
  )
})

t.test('events and users are the same, wherever distances are measured', async (t) => {
  const pool = new MeasuringPool(quiet)
  t.teardown(() => pool.close())
  let batches = 0
  const fickle = new Random(7)
  const measurers: Measurer[] = [
    pool,
    {
      async measure(batch) {
        batches++
        await pause()
        return fickle.chance(0.5) ? undefined : measureShapes(batch)
      },
    },
  ]
  const plain = await journey(engineAmidStars())
  t.ok(plain.events.length > 2 * MANY, 'devices come and go')
  for (const measurer of measurers) t.same(await journey(engineAmidStars(measurer)), plain)
  t.ok(batches > 5, 'much was measured')
  t.ok(pool.counters.measured > 5)
  t.equal(pool.counters.refused, 0)
})

/** Devices that walk into and out of the stars, while the stars and the settings change now and then. */
async function journey(engine: Engine) {
  const random = new Random(5)
  const told: unknown[] = []
  for (let step = 0; step < 12; step++) {
    engine.clock.advance(60_000)
    if (step === 3) engine.world.set(0, { bufferEntries: true, minimumConfidence: 2 })
    if (step === 6) for (const geofence of stars.slice(0, 20)) engine.world.remove(geofence)
    if (step === 8) engine.world.set(0, { detectCrossings: true, bufferEntries: false })
    const updates = ['a', 'b', 'c'].map((deviceId) =>
      engine.update({
        deviceId,
        latitude: HERE.latitude + random.between(-0.02, 0.02),
        longitude: HERE.longitude + random.between(-0.03, 0.03),
        accuracy: random.pick([5, 300, 3000, 3000, 20_000]),
      }),
    )
    for (const one of await Promise.all(updates.map((update) => engine.track(update)))) {
      const { user, events } = applied(one)
      told.push(withoutIds(user), events.map(withoutIds))
    }
  }
  return { told, events: told.flat() }
}

/** Ids identify the frame in which something was made. */
function withoutIds(json: string): unknown {
  return JSON.parse(json, (key, value) => (key === '_id' && value.length === 24 ? undefined : value))
}

t.test('a waiting update delays only its own device', async (t) => {
  const measurer = new Held()
  const engine = engineAmidStars(measurer)
  const order: string[] = []
  const send = (name: string, given: Partial<Update> & { readonly deviceId: string }) =>
    engine.track(engine.update({ ...HERE, ...given })).then((told) => {
      order.push(name)
      return applied(told)
    })
  const first = send('first', { deviceId: 'a', accuracy: 5000 })
  const second = send('second', { deviceId: 'a', latitude: 10, accuracy: 5 })
  const others = ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k']
  const isBeside = (deviceId: string) => engine.host.partitionOf(deviceId) === engine.host.partitionOf('a')
  t.ok(others.some(isBeside), 'in its partition too')
  await Promise.all(others.map((deviceId) => send('other', { deviceId, latitude: 10, accuracy: 5 })))
  await pause()
  t.equal(measurer.batches.length, 1)
  t.same(new Set(order), new Set(['other']))
  let drained = false
  const draining = engine.host.drained().then(() => (drained = true))
  await pause()
  t.equal(drained, false, 'what is being measured is not done')
  measurer.release()
  t.equal(kinds(await first).length, MANY)
  t.equal(kinds(await second).length, MANY, 'the exits')
  t.same(order.slice(-2), ['first', 'second'])
  await draining
})

t.test('G10: measured distances do not count once the registry has changed', async (t) => {
  const measurer = new Held()
  const engine = engineAmidStars(measurer)
  const sent = engine.track(engine.update({ deviceId: 'a', ...HERE, accuracy: 5000 }))
  await pause()
  t.equal(measurer.batches.length, 1)
  // The new geofences get the slots of those that were measured. They are beside the device, although their bounds
  // contain it; one of them is new.
  for (const geofence of stars.slice(0, 100)) engine.world.remove(geofence)
  const beside: Position[] = [
    [12.99, 51.99],
    [13.01, 51.99],
    [13.01, 52.005],
    [12.99, 51.99],
  ]
  for (const geofence of stars.slice(0, 99))
    engine.world.put({ ...geofence, shape: { kind: 'polygon', ring: beside } })
  engine.world.put({ ...star(1000, new Random(1)), id: 'f'.repeat(24) })
  measurer.release()
  const names = applied(await sent).events.map((json) => JSON.parse(json).geofence._id)
  t.equal(names.length, MANY - 99)
  t.ok(names.includes('f'.repeat(24)))
  t.equal(measurer.batches.length, 1, 'it is measured where it is needed')
})

t.test('a thread that fails or dies, and too many batches', async (t) => {
  const pool = new MeasuringPool(quiet)
  t.teardown(() => pool.close())
  const arena = new ShapeArena()
  const refs = stars.map(({ shape }) => arena.add(shape))
  const batch: ShapeBatch = {
    ...HERE,
    accuracyMeters: 5000,
    reachMeters: 0,
    whole: refs.length,
    ...arena.offsets(refs),
  }
  const expected = measureShapes(batch)
  const started = once(process, 'worker') as Promise<[Worker]>
  t.same(await pool.measure(batch), expected)
  t.equal(await pool.measure({ ...batch, chunks: [] }), undefined, 'what cannot be read')
  t.same(await pool.measure(batch), expected, 'and on')

  const cut = pool.measure({ ...batch, offsets: repeated(batch.offsets, 1000) })
  const [thread] = await started
  await thread.terminate()
  t.equal(await cut, undefined, 'the thread died with it')
  t.same(await pool.measure(batch), expected, 'another has taken its place')

  const answers = await Promise.all(Array.from({ length: 200 }, () => pool.measure(batch)))
  const refused = answers.filter((measures) => measures === undefined).length
  t.ok(refused > 0 && refused < 200, `${refused} of 200 found no room`)
  for (const measures of answers) if (measures !== undefined) t.same(measures, expected)
  t.equal(pool.counters.refused, refused + 2)
})

t.test('a server: a device and anonymous updates among very many geofences', async (t) => {
  const server = await startServer(t)
  const ask = async (method: string, path: string, body: unknown, key: string) => {
    const answer = await fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const read = (await answer.json()) as { readonly events: readonly { readonly type: string }[] }
    if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(read)}`)
    return read
  }
  for (const { externalId, description, shape } of stars) {
    const coordinates = [(shape as { readonly ring: readonly Position[] }).ring]
    const body = { description, type: 'polygon', coordinates }
    await ask('PUT', `/v1/geofences/zone/${externalId}`, body, KEYS.testSecret)
  }
  const update = { ...HERE, accuracy: 5000, foreground: true, stopped: false }
  const track = async (path: string, body: unknown) =>
    (await ask('POST', path, body, KEYS.testPublishable)).events.map(({ type }) => type)
  const entries = Array.from({ length: MANY }, () => 'user.entered_geofence')
  t.same(await track('/v1/track', { ...update, deviceId: 'a' }), entries)
  t.same(await track('/v1/track', { ...update, deviceId: 'anonymous' }), entries)
  const replays = [0, 1, 2].map((i) => ({ ...update, deviceId: 'anonymous', updatedAtMs: NOON + i }))
  t.same(await track('/v1/track/replay', { replays }), entries, 'and stays')
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  t.match(metrics, /\nringfence_measured_elsewhere_total 5\n/)
  t.match(metrics, /\nringfence_measured_elsewhere_refused_total 0\n/)
})

function repeated(places: Uint32Array, times: number): Uint32Array {
  const all = new Uint32Array(times * places.length)
  for (let i = 0; i < times; i++) all.set(places, i * places.length)
  return all
}
