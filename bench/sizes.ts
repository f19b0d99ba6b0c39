/**
 * `npm run bench -- sizes`: what a geofence, a device, an update and an event take, in memory and on disk.
 *
 * A server is started on a data folder again and again, each time with more in it. Memory is what the process has
 * resident some seconds after a start, so that it is the state and not what making it left behind. Each figure is a
 * difference divided by a count. That of the circles is between a start with a tenth of them and one with all,
 * because the first also pay for the heap that a start needs.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { benchFolder } from './folder.ts'
import { BENCH_KEYS, seedGeofences, startRingfence, type ServerProcess } from './load/servers.ts'
import { SNAPSHOTS_AT_ONCE, snapshotsWritten } from './load/snapshots.ts'
import { drawGeofences } from './load/workload.ts'
import { done, progress } from './progress.ts'

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean' },
    strict: { type: 'boolean' },
    seed: { type: 'string', default: '1' },
  },
})
/** Limit of memory for a circle. */
const STATED_CIRCLE_BYTES = 400
/** Memory of a polygon, at most, as a multiple of its raw coordinates. */
const STATED_POLYGON_SHARE = 1.5
/** The memory of a device that is not in a geofence and does not move. */
const STATED_DEVICE_BYTES = 1024
/** How far above it `--strict` lets the resident set measure. */
const TOLERANCE = 0.1
const COUNT = values.smoke ? 5_000 : 200_000
/** Updates per replay. */
const BATCH = 500
const SETTLE_MS = values.smoke ? 500 : 3000
/** Far away from the workload's geofences. */
const EMPTY_SEA = { latitude: 0, longitude: -150 }
const CIRCLE = { type: 'circle', description: 'Depot', coordinates: [0, 0], radius: 100 }

const folder = benchFolder('sizes')
const data = join(folder, 'data')
Object.assign(process.env, SNAPSHOTS_AT_ONCE)
// One segment, so that nothing is trimmed before it is measured.
process.env['RINGFENCE_SEGMENT_BYTES'] = String(2 ** 30)

/** Bytes of the files of the data folder whose names begin like this. */
function bytesOf(prefix: string): number {
  let bytes = 0
  for (const name of readdirSync(data, { recursive: true, encoding: 'utf8' })) {
    if (name.startsWith(prefix)) bytes += statSync(join(data, name)).size
  }
  return bytes
}

/** Bytes of the newest snapshot of each partition. */
function snapshotBytes(): number {
  const newest = new Map<string, [position: number, bytes: number]>()
  for (const name of readdirSync(join(data, 'snapshots'))) {
    const [partition = '', position = ''] = name.split(/[-.]/)
    if (Number(position) <= (newest.get(partition)?.[0] ?? -1)) continue
    newest.set(partition, [Number(position), statSync(join(data, 'snapshots', name)).size])
  }
  let bytes = 0
  for (const [, size] of newest.values()) bytes += size
  return bytes
}

/** Starts the server, lets it do something, and stops it. Returns its resident memory before the stop. */
async function session(work: (server: ServerProcess) => Promise<void> = async () => {}): Promise<number> {
  const server = await startRingfence(folder)
  await sleep(SETTLE_MS)
  const rss = server.rssBytes()
  await work(server)
  await server.stop()
  return rss
}

async function send(server: ServerProcess, method: string, path: string, body: unknown): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { authorization: BENCH_KEYS.testSecret, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status} ${text}`)
}

/** One update of each of {@link COUNT} devices, in batches. */
async function updates(server: ServerProcess, place: (i: number) => object): Promise<void> {
  for (let i = 0; i < COUNT; i += BATCH) {
    const replays = Array.from({ length: BATCH }, (_, j) => ({
      deviceId: `device-${String(i + j).padStart(10, '0')}`,
      userId: `user-${String(i + j).padStart(10, '0')}`,
      accuracy: 10,
      ...place(i + j),
    }))
    await send(server, 'POST', '/v1/track/replay', { replays })
  }
}

const at = (i: number): object => ({ ...EMPTY_SEA, latitude: (i % 1000) * 1e-5 })

let before: number
seedGeofences(folder, [], () => {})
const emptyRss = await session()
const drawn = drawGeofences(COUNT, Number(values.seed)).toArray()
const circles = drawn.filter(({ type }) => type === 'circle')
const polygons = drawn.filter(({ type }) => type === 'polygon')
/** Longitude and latitude of each corner, as 64-bit numbers. */
const rawPolygonBytes = polygons.reduce((sum, { coordinates }) => sum + 16 * (coordinates as []).length, 0)

progress(`${circles.length} circles`)
const fewCircles = Math.ceil(circles.length / 10)
before = bytesOf('registry.sqlite')
seedGeofences(folder, circles.slice(0, fewCircles), () => {})
const fewCirclesRss = await session()
seedGeofences(folder, circles.slice(fewCircles), () => {})
const circleRegistryBytes = bytesOf('registry.sqlite') - before

const log = { newDevice: 0, update: 0, event: 0 }
before = bytesOf('log')
const circlesRss = await session(async (server) => {
  progress(`${COUNT} devices`)
  await updates(server, at)
  await snapshotsWritten(data)
})
log.newDevice = bytesOf('log') - before
const deviceSnapshots = snapshotBytes()

before = bytesOf('log')
const devicesRss = await session(async (server) => {
  progress(`${COUNT} updates without an event`)
  await updates(server, (i) => at(i + 1))
  await snapshotsWritten(data)
})
log.update = bytesOf('log') - before

before = bytesOf('log')
const eventsBefore = bytesOf('events.sqlite')
await session(async (server) => {
  progress(`${COUNT} events`)
  await send(server, 'PUT', '/v1/geofences/depot/1', CIRCLE)
  await updates(server, () => ({ latitude: 0, longitude: 0 }))
  await snapshotsWritten(data)
})
log.event = bytesOf('log') - before
const eventBytes = bytesOf('events.sqlite') - eventsBefore
const insideRss = await session()

// Last, because they are so large that small differences would not be visible.
progress(`${polygons.length} polygons`)
before = bytesOf('registry.sqlite')
seedGeofences(folder, polygons, () => {})
const polygonRegistryBytes = bytesOf('registry.sqlite') - before
const polygonsRss = await session()

const each = (bytes: number, count = COUNT): number => Math.round(bytes / count)
const polygonsMemory = polygonsRss - insideRss
const figures = {
  firstCirclesMemoryBytes: each(fewCirclesRss - emptyRss, fewCircles),
  emptyServerMemoryBytes: emptyRss,
  circle: {
    memoryBytes: each(circlesRss - fewCirclesRss, circles.length - fewCircles),
    statedMemoryBytes: STATED_CIRCLE_BYTES,
    registryBytes: each(circleRegistryBytes, circles.length),
  },
  polygon: {
    memoryBytes: each(polygonsMemory, polygons.length),
    rawBytes: each(rawPolygonBytes, polygons.length),
    memoryShareOfRaw: Number((polygonsMemory / rawPolygonBytes).toFixed(2)),
    statedShareOfRaw: STATED_POLYGON_SHARE,
    registryBytes: each(polygonRegistryBytes, polygons.length),
  },
  device: {
    memoryBytes: each(devicesRss - circlesRss),
    statedMemoryBytes: STATED_DEVICE_BYTES,
    memoryInsideOneGeofenceBytes: each(insideRss - circlesRss),
    snapshotBytes: each(deviceSnapshots),
  },
  log: { newDeviceBytes: each(log.newDevice), updateBytes: each(log.update), eventBytes: each(log.event) },
  event: { indexBytes: each(eventBytes) },
}
done(JSON.stringify(figures, null, 2))
const { circle, polygon, device } = figures
console.log(
  `circle: ${circle.memoryBytes} bytes (stated: ${STATED_CIRCLE_BYTES}); ` +
    `polygon: ${polygon.memoryShareOfRaw} × its raw coordinates (stated: ${STATED_POLYGON_SHARE}); ` +
    `device: ${device.memoryBytes} bytes (stated: ${STATED_DEVICE_BYTES})` +
    (values.smoke ? ', a smoke run' : ''),
)
console.log(JSON.stringify({ bench: 'sizes', count: COUNT, ...figures }))
const isOver = (value: number, stated: number): boolean => value > stated * (1 + TOLERANCE)
if (
  values.strict &&
  !values.smoke &&
  (isOver(circle.memoryBytes, STATED_CIRCLE_BYTES) ||
    isOver(polygon.memoryShareOfRaw, STATED_POLYGON_SHARE) ||
    isOver(device.memoryBytes, STATED_DEVICE_BYTES))
)
  process.exitCode = 1
