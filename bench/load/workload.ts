/**
 * The load of the benches, the same for every run with the same numbers: a square region with geofences spread over
 * it, and devices that drive its streets. Updates are written to a file that the generators read, so that the cost of
 * making a request falls before the measurement.
 */
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Driver, cityPosition as placeOf, seededRandom } from '../../src/simulation/streets.ts'
import type { City } from '../../src/simulation/streets.ts'
import { rounded } from '../figures.ts'

/** Rounds of updates in the request file. The generator walks them forwards and backwards. */
const ROUNDS = 6
const SAMPLE_SIZE = 1_000
/** Seconds of driving between two updates of a device. */
const STEP_SECONDS = 2
/** 100,000 geofences lie in 60 by 60 km; fewer lie in a smaller square with the same density. */
const GEOFENCES_PER_KM2 = 100_000 / 60 ** 2
const BLOCK_METERS = 150
/**
 * Radius of a geofence, or of the circle around a polygon. Small ones are more frequent: density falls with the
 * square.
 */
const MIN_RADIUS_METERS = 30
const MAX_RADIUS_METERS = 300
const POLYGON_SHARE = 0.5
const MIN_CORNERS = 8
const MAX_CORNERS = 200

export interface WorkloadOptions {
  readonly geofences: number
  /** Relative density of the geofences: 1, or a share of that. */
  readonly density?: number
  /** Where the devices drive; by default in a square for that many geofences. */
  readonly city?: City
  readonly devices: number
  readonly seed: number
  /** Where the files go. */
  readonly folder: string
  readonly publishableKey: string
  readonly onProgress: (text: string) => void
}

export interface Workload {
  /** Bodies of POST /v1/track, {@link ROUNDS} rounds of one per device. */
  readonly trackBodies: string
  /** Request line and headers of POST /v1/track, without Content-Length. */
  readonly trackHead: string
  /** The first bodies of the second round, to examine answers of devices that have just moved. */
  readonly sampleBodies: readonly string[]
  readonly devices: number
}

/** Appends records (`u32 length, bytes`) to a file in large writes. */
export class RecordFile {
  private readonly file: number
  private readonly buffer = Buffer.allocUnsafe(1 << 20)
  private used = 0

  constructor(path: string) {
    this.file = openSync(path, 'w')
  }

  add(text: string): void {
    const length = Buffer.byteLength(text)
    if (this.used + 4 + length > this.buffer.length) this.flush()
    this.buffer.writeUInt32LE(length, this.used)
    this.buffer.write(text, this.used + 4)
    this.used += 4 + length
  }

  close(): void {
    this.flush()
    closeSync(this.file)
  }

  private flush(): void {
    writeSync(this.file, this.buffer, 0, this.used)
    this.used = 0
  }
}

/** The square for that many geofences. */
export function regionOf(geofences: number, density = 1): City {
  const blocks = Math.ceil((Math.sqrt(geofences / (GEOFENCES_PER_KM2 * density)) * 1000) / BLOCK_METERS)
  return { latitude: 52.2, longitude: 13.1, sizeMeters: blocks * BLOCK_METERS, blockMeters: BLOCK_METERS }
}

/** Writes the request file of a run. */
export function writeWorkload(options: WorkloadOptions): Workload {
  const trackBodies = join(options.folder, 'track.requests')
  const trackHead = join(options.folder, 'track.head')
  writeFileSync(
    trackHead,
    `POST /v1/track HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${options.publishableKey}\r\n` +
      'Content-Type: application/json\r\nAccept: */*\r\nUser-Agent: ringfence-bench\r\n',
  )
  const sampleBodies = writeTracks(
    trackBodies,
    options.city ?? regionOf(options.geofences, options.density),
    options,
  )
  return { trackBodies, trackHead, sampleBodies, devices: options.devices }
}

/** The fields of every geofence, in the form for PUT /v1/geofences/:tag/:externalId. */
export function* drawGeofences(
  count: number,
  seed: number,
  density?: number,
  city?: City,
): Generator<Record<string, unknown>> {
  const random = seededRandom(seed)
  const region = city ?? regionOf(count, density)
  for (let i = 0; i < count; i++) {
    yield { tag: 'bench', externalId: String(i), description: `Geofence ${i}`, ...geometry(region, random) }
  }
}

function geometry(region: City, random: () => number): object {
  const east = random() * region.sizeMeters
  const north = random() * region.sizeMeters
  const radius = 1 / (1 / MIN_RADIUS_METERS - random() * (1 / MIN_RADIUS_METERS - 1 / MAX_RADIUS_METERS))
  if (random() >= POLYGON_SHARE) {
    return { type: 'circle', coordinates: corner(region, east, north), radius: Math.round(radius) }
  }
  const corners = MIN_CORNERS + Math.floor(random() * (MAX_CORNERS - MIN_CORNERS + 1))
  const ring: [number, number][] = []
  for (let i = 0; i < corners; i++) {
    const angle = (2 * Math.PI * i) / corners
    const reach = radius * (0.7 + 0.3 * random())
    ring.push(corner(region, east + reach * Math.cos(angle), north + reach * Math.sin(angle)))
  }
  ring.push(ring[0]!)
  return { type: 'polygon', coordinates: ring }
}

function corner(region: City, east: number, north: number): [longitude: number, latitude: number] {
  const { latitude, longitude } = placeOf(region, east, north)
  return [rounded(longitude, 6), rounded(latitude, 6)]
}

/** @returns the sample */
function writeTracks(path: string, region: City, options: WorkloadOptions): string[] {
  const fleet = new Fleet(region, options.devices, options.seed)
  const file = new RecordFile(path)
  const sample: string[] = []
  for (let round = 0; round < ROUNDS; round++) {
    for (const update of fleet.round()) {
      const body = JSON.stringify(update)
      file.add(body)
      if (round === 1 && sample.length < SAMPLE_SIZE) sample.push(body)
    }
    options.onProgress(`${options.devices} devices drive: round ${round + 1} of ${ROUNDS}`)
  }
  file.close()
  return sample
}

/** Devices that drive the streets of a region. */
export class Fleet {
  private readonly drivers: Driver[] = []
  private readonly ids: string[] = []
  private readonly order: Uint32Array
  private readonly random: () => number
  private rounds = 0

  constructor(region: City, devices: number, seed: number) {
    this.random = seededRandom(seed + 1)
    for (let i = 0; i < devices; i++) {
      this.drivers.push(new Driver(region, this.random))
      this.ids.push(uuid(this.random))
    }
    this.order = Uint32Array.from(this.drivers.keys())
  }

  /**
   * An update of each device, in the form for POST /v1/track, in an independent order; two seconds after the previous
   * round.
   */
  *round(): Generator<Record<string, unknown>> {
    if (this.rounds++ > 0) for (const driver of this.drivers) driver.advance(STEP_SECONDS)
    shuffle(this.order, this.random)
    for (const index of this.order) yield updateOf(this.ids[index]!, this.drivers[index]!)
  }
}

function updateOf(deviceId: string, driver: Driver): Record<string, unknown> {
  const { latitude, longitude } = driver.position()
  return {
    deviceId,
    latitude: rounded(latitude, 7),
    longitude: rounded(longitude, 7),
    accuracy: rounded(driver.accuracy, 2),
    foreground: false,
    stopped: driver.stopped,
    deviceType: 'Android',
  }
}

function uuid(random: () => number): string {
  let hex = ''
  while (hex.length < 32)
    hex += Math.floor(random() * 65536)
      .toString(16)
      .padStart(4, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Updates do not arrive in the order in which devices were created. (Fisher–Yates) */
function shuffle(order: Uint32Array, random: () => number): void {
  for (let i = order.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1))
    const kept = order[i]!
    order[i] = order[other]!
    order[other] = kept
  }
}
