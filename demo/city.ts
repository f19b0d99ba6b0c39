import { setTimeout as sleep } from 'node:timers/promises'
import { CallFailed } from './api.ts'
import type { Api, GeofenceDefinition, TrackAnswer } from './api.ts'
import { eventLine } from './screen.ts'
import type { Screen } from './screen.ts'
import { Driver, cityPosition, seededRandom } from '../src/simulation/streets.ts'
import type { City } from '../src/simulation/streets.ts'

const CITY: City = { latitude: 52.635, longitude: -8.675, sizeMeters: 6000, blockMeters: 120 }
const GEOFENCES = 60
/** Time between two updates of a device: slightly more than the second that the rate limit requires. */
const INTERVAL_MS = 1200
const TICK_MS = 20
/** The time span of the rate line. */
const WINDOW_MS = 5000
const TERMINAL_REFRESH_MS = 250
const PLAIN_REFRESH_MS = 1000
const DRAIN_MS = 3000

const KINDS = [
  'Market',
  'Depot',
  'Station',
  'School',
  'Harbour',
  'Stadium',
  'Clinic',
  'Park',
  'Café',
  'Garage',
]
const QUARTERS = ['North', 'South', 'East', 'West', 'Old Town', 'Riverside', 'Hillside', 'New Quarter']

interface Vehicle {
  readonly deviceId: string
  readonly driver: Driver
  lastSentAt: number
  nextAt: number
  waiting: boolean
}

/** The counts at one moment, for the rate line. */
interface Sample {
  readonly at: number
  readonly latencyMs: number
  readonly events: number
}

export interface CityOptions {
  readonly devices: number
  /** How many seconds they drive; undefined: until the signal. */
  readonly seconds: number | undefined
  /** Keeps the geofences and users on the server. */
  readonly keep: boolean
  /** The server ends with the demo, so nothing needs to be removed. */
  readonly temporary: boolean
}

/** Drives a city's worth of devices through random geofences until the signal. */
export async function driveCity(
  api: Api,
  screen: Screen,
  options: CityOptions,
  signal: AbortSignal,
): Promise<void> {
  const run = Date.now().toString(36)
  const random = seededRandom(Date.now())
  const geofences = drawGeofences(run, random)
  await api.putGeofences(geofences)
  const traffic = new Traffic(api, screen, `demo-${run}`, options.devices, random)
  screen.line(`${GEOFENCES} geofences with the tag demo, ${options.devices} devices. Ctrl-C ends it.`)
  const { seconds } = options
  const stop = seconds === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)])
  try {
    await traffic.run(stop)
  } finally {
    screen.clearBottom()
    if (!options.keep && !options.temporary) {
      await api.deleteGeofences(geofences)
      await api.deleteUsers(traffic.deviceIds)
    }
  }
  screen.line(traffic.summary())
  if (options.temporary) return
  screen.line(options.keep ? 'Geofences and users are kept.' : 'Geofences and users of this run are removed.')
}

function drawGeofences(run: string, random: () => number): GeofenceDefinition[] {
  return Array.from({ length: GEOFENCES }, (_, i) => {
    const east = random() * CITY.sizeMeters
    const north = random() * CITY.sizeMeters
    const radius = 60 + random() * 160
    const kind = KINDS[Math.floor(random() * KINDS.length)]!
    const quarter = QUARTERS[Math.floor(random() * QUARTERS.length)]!
    const named = { tag: 'demo', externalId: `${run}-${i}`, description: `${kind} ${quarter} ${i + 1}` }
    if (random() < 0.6) return { ...named, type: 'circle', coordinates: corner(east, north), radius }
    const corners = 3 + Math.floor(random() * 5)
    const ring = Array.from({ length: corners }, (_unused, k) => {
      const angle = (2 * Math.PI * k) / corners
      return corner(east + radius * Math.cos(angle), north + radius * Math.sin(angle))
    })
    return { ...named, type: 'polygon', coordinates: [...ring, ring[0]!] }
  })
}

function corner(east: number, north: number): [longitude: number, latitude: number] {
  const { latitude, longitude } = cityPosition(CITY, east, north)
  return [longitude, latitude]
}

/** The devices and their updates. Counts the answers. */
class Traffic {
  private readonly api: Api
  private readonly screen: Screen
  private readonly vehicles: Vehicle[]
  private readonly samples: Sample[] = []
  private readonly startedAt = performance.now()
  private endedAt = NaN
  private updates = 0
  private events = 0
  private refused = 0
  private refusal = ''
  private inFlight = 0

  constructor(api: Api, screen: Screen, prefix: string, devices: number, random: () => number) {
    this.api = api
    this.screen = screen
    this.vehicles = Array.from({ length: devices }, (_, i) => ({
      deviceId: `${prefix}-${i + 1}`,
      driver: new Driver(CITY, random),
      lastSentAt: this.startedAt,
      nextAt: this.startedAt + (i / devices) * INTERVAL_MS,
      waiting: false,
    }))
  }

  get deviceIds(): string[] {
    return this.vehicles.map(({ deviceId }) => deviceId)
  }

  /** Runs until the signal, then waits for calls in flight. */
  async run(stop: AbortSignal): Promise<void> {
    const refreshMs = process.stdout.isTTY ? TERMINAL_REFRESH_MS : PLAIN_REFRESH_MS
    let refreshAt = performance.now() + refreshMs
    while (!stop.aborted) {
      const now = performance.now()
      for (const vehicle of this.vehicles) {
        if (now >= vehicle.nextAt && !vehicle.waiting) void this.send(vehicle, now)
      }
      if (now >= refreshAt) {
        this.screen.bottom(this.rateLine(now))
        refreshAt = now + refreshMs
      }
      await sleep(TICK_MS)
    }
    for (const end = performance.now() + DRAIN_MS; this.inFlight > 0 && performance.now() < end;) {
      await sleep(TICK_MS)
    }
    this.endedAt = performance.now()
  }

  /** Describes the results; must be called after {@link run}. */
  summary(): string {
    const seconds = (this.endedAt - this.startedAt) / 1000
    const refused = this.refused === 0 ? '' : `, ${this.refused} refused (${this.refusal})`
    return `${this.updates} updates and ${this.events} events in ${seconds.toFixed(1)} s${refused}`
  }

  private async send(vehicle: Vehicle, now: number): Promise<void> {
    const { driver } = vehicle
    driver.advance((now - vehicle.lastSentAt) / 1000)
    vehicle.lastSentAt = now
    vehicle.nextAt = now + INTERVAL_MS
    vehicle.waiting = true
    this.inFlight++
    try {
      const { events } = (await this.api.call('POST', '/v1/track', {
        deviceId: vehicle.deviceId,
        ...driver.position(),
        accuracy: driver.accuracy,
        foreground: false,
        stopped: driver.stopped,
        deviceType: 'Android',
      })) as TrackAnswer
      const at = performance.now()
      this.updates++
      this.events += events.length
      this.samples.push({ at, latencyMs: at - now, events: events.length })
      for (const event of events) this.screen.line(eventLine(event))
    } catch (error) {
      this.refused++
      this.refusal = error instanceof CallFailed ? String(error.status) : 'no answer'
      // With a wrong key every call is refused, so this prints the reason instead of counting.
      if (error instanceof CallFailed && error.status < 429) this.screen.line(error.message)
    } finally {
      vehicle.waiting = false
      this.inFlight--
    }
  }

  private rateLine(now: number): string {
    while (this.samples.length > 0 && this.samples[0]!.at < now - WINDOW_MS) this.samples.shift()
    const seconds = Math.max(0.001, Math.min(WINDOW_MS, now - this.startedAt) / 1000)
    const latencies = this.samples.map(({ latencyMs }) => latencyMs).toSorted((a, b) => a - b)
    const quantile = (q: number) => (latencies[Math.floor(q * (latencies.length - 1))] ?? 0).toFixed(1)
    const events = this.samples.reduce((sum, sample) => sum + sample.events, 0)
    return (
      `${Math.round(this.samples.length / seconds)} updates/s  ${(events / seconds).toFixed(1)} events/s  ` +
      `latency p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms` +
      (this.refused === 0 ? '' : `  ${this.refused} refused`)
    )
  }
}
