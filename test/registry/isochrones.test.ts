/** Isochrones: areas that are computed in the background by a source that the test controls. */
import t, { type Test } from 'tap'
import { isActive, type Position, type TravelMode } from '../../src/model/geofence.ts'
import { Jobs } from '../../src/jobs/jobs.ts'
import { aloneWith, type Job } from '../../src/jobs/port.ts'
import { scopeId } from '../../src/model/scope.ts'
import { IsochroneWorker } from '../../src/registry/geofences/isochroneWorker.ts'
import { AreaRefused, AreaTimedOut, type AreaSource } from '../../src/registry/geofences/areaSource.ts'
import { geofenceCells } from '../../src/registry/transfer/exportCells.ts'
import { geofenceRecord } from '../../src/registry/geofences/geofenceRecord.ts'
import { openRegistry, type Registry } from '../../src/registry/registry.ts'
import { ManualClock, systemTime } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { MemoryStream } from './memoryStream.ts'
import { openReplica } from './replicatedKit.ts'
import { definitionOf } from './areaFinders.ts'

const SCOPE = scopeId(1, false)
const CENTER: Position = [-56.19, -34.9]

/** A road network whose areas are squares. Their size in thousandths of a degree equals the minutes. */
class Squares implements AreaSource {
  network: string | undefined = 'first'
  /** Thrown by each request while it is set. */
  error: Error | undefined
  /** Requests for this many minutes take too long. */
  slowMinutes = NaN
  /** If set, requests wait for it. */
  gate: Promise<void> | undefined
  readonly asked: string[] = []
  readonly #listeners = new Set<() => void>()

  networkAt = () => this.network

  async areaAround([longitude, latitude]: Position, minutes: number, mode: TravelMode): Promise<Position[]> {
    this.asked.push(`${this.network} ${minutes} ${mode}`)
    await this.gate
    if (this.error !== undefined) throw this.error
    if (minutes === this.slowMinutes) throw new AreaTimedOut('No answer within 15 s.')
    const d = minutes / 1000
    const at = (x: number, y: number): Position => [longitude + x * d, latitude + y * d]
    return [at(-1, -1), at(1, -1), at(1, 1), at(-1, 1), at(-1, -1)]
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  become(network: string | undefined): void {
    this.network = network
    for (const listener of this.#listeners) listener()
  }
}

function open(t: Test) {
  const folder = t.testdir()
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const reopen = () => openRegistry({ folder, clock, createIndex: createGeofenceIndex })
  const source = new Squares()
  const troubles: string[] = []
  const begin = (registry: Registry) => {
    const worker = new IsochroneWorker(registry.geofences, source, () => true)
    const running = run(worker, (error) => troubles.push(error))
    const stop = async () => {
      await (
        await running
      )()
      registry.close()
    }
    return { registry, worker, stop }
  }
  let state = begin(reopen())
  t.teardown(() => state.stop())
  return {
    source,
    troubles,
    put(fields: object) {
      const all = { tag: 'area', externalId: '1', description: 'x', type: 'isochrone', coordinates: CENTER }
      return state.registry.geofences.put(SCOPE, definitionOf({ ...all, mode: 'car', radius: 10, ...fields }))
    },
    record() {
      const scope = state.registry.scope(SCOPE)
      const geofence = scope.geofences.whole(scope.geofences.byPair('area', '1')!)
      return {
        ...geofenceRecord(geofence),
        isActive: isActive(geofence),
        cells: geofenceCells(geofence),
      } as any
    },
    worker: () => state.worker,
    async restart() {
      await state.stop()
      state = begin(reopen())
    },
  }
}

/** Runs the job from now on. Returns a function that stops it. */
async function run(job: Job, failed: (reason: string) => void): Promise<() => Promise<void>> {
  const warn = ({ reason }: { reason: string }) => failed(reason)
  const jobs = new Jobs({ time: systemTime, logger: { warn } as never, openLease: aloneWith })
  const service = jobs.service(job)
  await service.start!()
  return async () => service.stop()
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

t.test('pending, then ready; kept by edits with the same area', async (t) => {
  const { source, put, record, restart, worker } = open(t)
  let go = () => {}
  source.gate = new Promise((resolve) => (go = resolve))
  put({})
  await until(() => source.asked.length >= 1)
  const pending = record()
  t.match(pending, {
    isActive: false,
    enabled: true,
    geometryCenter: { coordinates: CENTER },
    isochrone: { destination: CENTER, minutes: 10, status: 'pending' },
  })
  t.equal(pending.geometry, undefined)
  go()
  await until(() => record().isochrone.status === 'ready')
  t.match(record(), { isActive: true, type: 'isochrone', mode: 'car', geometry: { type: 'Polygon' } })
  t.strictSame(record().geometry.coordinates[0][0], [CENTER[0] - 0.01, CENTER[1] - 0.01])
  t.match(record().cells, { type: 'isochrone', coordinates: JSON.stringify(CENTER), radius: 10, mode: 'car' })

  const { geometry } = record()
  put({ description: 'another name' })
  t.match(record(), { description: 'another name', isActive: true, geometry })
  await restart()
  t.match(record(), { isActive: true, geometry, isochrone: { status: 'ready' } })
  t.equal(worker().pending, 0)
  put({ mode: 'foot' })
  t.match(record(), { isActive: false, isochrone: { status: 'pending' } }, 'another area')
  await until(() => record().isActive)
  put({ radius: 20 })
  await until(() => record().isActive)
  t.strictSame(source.asked, ['first 10 car', 'first 10 foot', 'first 20 car'])
  put({ type: 'circle', mode: undefined })
  t.match(record(), { isochrone: undefined, type: 'circle', geometryRadius: 10 })
})

t.test('a new network computes areas again; the old area stays until then, and if that fails', async (t) => {
  const { source, put, record } = open(t)
  put({})
  await until(() => record().isActive)
  const { geometry } = record()
  source.error = new AreaRefused('No road within 1 km.')
  source.become('second')
  await until(() => record().isochrone.failure !== undefined)
  t.match(record(), {
    isActive: true,
    geometry,
    isochrone: { status: 'ready', failure: 'No road within 1 km.' },
  })
  source.error = undefined
  source.become('third')
  await until(() => record().isochrone.failure === undefined)
  t.strictSame(source.asked, ['first 10 car', 'second 10 car', 'third 10 car'])
})

t.test('no network yet, none at this place, and one that fails for a while', async (t) => {
  const { source, troubles, put, record, restart } = open(t)
  source.network = undefined
  put({})
  await restart()
  t.match(record().isochrone, { status: 'pending' })
  source.become('')
  await until(() => record().isochrone.status === 'failed')
  t.match(record(), { isActive: false, isochrone: { failure: 'No region contains the destination.' } })
  source.error = new Error('the engine is away')
  source.become('second')
  await until(() => troubles.length > 0)
  t.match(record().isochrone, { status: 'failed' })
  source.error = undefined
  await until(() => record().isActive)
  t.match(record().isochrone, { status: 'ready', failure: undefined })
})

t.test('a new isochrone does not wait for the many that a new network causes', async (t) => {
  const { source, put, record } = open(t)
  for (let i = 0; i < 50; i++) put({ externalId: `many ${i}`, radius: 1 + i })
  await until(() => source.asked.length >= 50)
  let go = () => {}
  source.gate = new Promise((resolve) => (go = resolve))
  source.asked.length = 0
  source.become('second')
  await until(() => source.asked.length >= 2)
  put({ radius: 99 })
  go()
  await until(() => record().isActive)
  t.ok(source.asked.indexOf('second 99 car') <= 4, `${source.asked.slice(0, 6)}`)
  await until(() => source.asked.length >= 51)
})

t.test('those that take too long do not block others, and are given up', async (t) => {
  const { source, put, record, worker } = open(t)
  source.network = undefined
  for (const externalId of ['slow 1', 'slow 2', '1', 'slow 3', 'slow 4'])
    put({ externalId, radius: externalId === '1' ? 10 : 120 })
  source.slowMinutes = 120
  source.become('first')
  await until(() => record().isActive)
  t.equal(worker().pending, 4)
  source.slowMinutes = NaN
  source.become('second')
  await until(() => worker().pending === 0)
  source.slowMinutes = 120
  source.asked.length = 0
  put({ radius: 120 })
  await until(() => worker().pending === 0)
  t.match(record().isochrone, { status: 'failed', failure: 'No answer within 15 s.' })
  t.equal(source.asked.length, 3)
})

t.test('in a shared registry, those that are computed together are one edit', async (t) => {
  const stream = new MemoryStream()
  const registry = await openReplica(t, async () => stream.client())
  const all = {
    tag: 'area',
    description: 'x',
    type: 'isochrone',
    coordinates: CENTER,
    mode: 'car',
    radius: 10,
  }
  for (const externalId of ['1', '2']) {
    await registry.edit(() => registry.geofences.put(SCOPE, definitionOf({ ...all, externalId })))
  }
  const before = stream.history.length
  const worker = new IsochroneWorker(registry.geofences, new Squares(), () => true)
  t.teardown(await run(worker, (reason) => t.fail(reason)))
  await until(() => worker.pending === 0)
  t.equal(stream.history.length, before + 1)
})
