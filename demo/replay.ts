import { readFileSync } from 'node:fs'
import type { Api, DemoEvent, TrackAnswer } from './api.ts'
import { readGeofenceFile } from './geofenceFile.ts'
import { systemReason } from '../src/runtime/errors.ts'
import { parseGpx } from './gpx.ts'
import type { TrackPoint } from './gpx.ts'
import { eventLine, textTable } from './screen.ts'
import type { Screen } from './screen.ts'
import { UsageError } from './server.ts'

/** Points of one POST /v1/track/replay. */
const BATCH = 100

/** A stay in a geofence, according to its events. */
interface Stay {
  readonly name: string
  readonly entered: string
  exited?: string
  minutes?: number
}

/**
 * Drives a recorded trace through the geofences of a CSV in fast motion, with the times of the recording, and prints
 * who was where at the end. The device is always a new one, so that a second run gives the same result. The geofences
 * are kept, because they belong to the user.
 */
export async function replay(
  api: Api,
  screen: Screen,
  files: { gpx: string; geofences: string },
  signal: AbortSignal,
): Promise<void> {
  const points = parseGpxFile(files.gpx)
  const pairs = await importGeofences(api, files.geofences)
  screen.line(`${pairs.size} geofences stored, ${points.length} points to replay.`)

  const deviceId = `gpx-${Date.now().toString(36)}`
  const stays = new Stays(pairs)
  const startedAt = performance.now()
  let sent = 0
  for (let start = 0; start < points.length && !signal.aborted; start += BATCH) {
    const batch = points.slice(start, start + BATCH)
    const replays = batch.map((point) => trackBody(deviceId, point))
    const { events } = (await api.callPatiently('POST', '/v1/track/replay', { replays })) as TrackAnswer
    sent += batch.length
    for (const event of events) {
      screen.line(eventLine(event))
      stays.add(event)
    }
  }
  const seconds = (performance.now() - startedAt) / 1000
  screen.line('')
  screen.line(stays.table())
  screen.line('')
  screen.line(
    `${stays.entries} entries, ${stays.exits} exits from ${sent} points ` +
      `(${spanMinutes(points)} minutes replayed in ${seconds.toFixed(1)} s)`,
  )
}

function parseGpxFile(path: string): TrackPoint[] {
  const text = readFile(path).toString()
  try {
    return parseGpx(text)
  } catch (cause) {
    throw new UsageError(`${path}: ${(cause as Error).message}`, { cause })
  }
}

/** Imports the file completely, or fails. Returns the pairs of its geofences. */
async function importGeofences(api: Api, path: string): Promise<ReadonlySet<string>> {
  const file = readFile(path)
  const { errors, interruption } = await api.importGeofences(file)
  const [refused = interruption] = errors
  if (refused !== undefined) throw new UsageError(`${path}, line ${refused.line}: ${refused.message}`)
  const rows = await readGeofenceFile(file)
  return new Set(rows.map(({ tag, externalId }) => pairOf(String(tag), String(externalId))))
}

function pairOf(tag: string, externalId: string): string {
  return `${tag}/${externalId}`
}

function readFile(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new UsageError(`${path} cannot be read: ${systemReason(cause)}.`, { cause })
  }
}

function trackBody(deviceId: string, point: TrackPoint): object {
  return {
    deviceId,
    latitude: point.latitude,
    longitude: point.longitude,
    accuracy: point.accuracy,
    replayed: true,
    updatedAtMs: point.time,
  }
}

function spanMinutes(points: readonly TrackPoint[]): number {
  return Math.round((points.at(-1)!.time - points[0]!.time) / 60_000)
}

/** The stays in the geofences of the CSV, in the order of entry. */
class Stays {
  entries = 0
  exits = 0
  private readonly wanted: ReadonlySet<string>
  private readonly all: Stay[] = []
  private readonly open = new Map<string, Stay>()

  /** @param wanted pairs */
  constructor(wanted: ReadonlySet<string>) {
    this.wanted = wanted
  }

  add(event: DemoEvent): void {
    const { geofence } = event
    if (geofence === undefined) return
    const pair = pairOf(geofence.tag, geofence.externalId)
    if (!this.wanted.has(pair)) return
    if (event.type === 'user.entered_geofence') {
      this.entries++
      const stay = { name: geofence.description, entered: event.createdAt }
      this.all.push(stay)
      this.open.set(pair, stay)
    } else if (event.type === 'user.exited_geofence') {
      this.exits++
      const stay = this.open.get(pair)
      if (stay === undefined) return
      this.open.delete(pair)
      stay.exited = event.createdAt
      stay.minutes = event.duration ?? (Date.parse(event.createdAt) - Date.parse(stay.entered)) / 60_000
    }
  }

  table(): string {
    const time = (iso: string) => `${iso.slice(0, 10)} ${iso.slice(11, 19)}`
    return textTable(
      ['stop', 'entered', 'minutes inside', 'exited'],
      this.all.map(({ name, entered, exited, minutes }) => [
        name,
        time(entered),
        minutes === undefined ? '' : minutes.toFixed(2).padStart(14),
        exited === undefined ? 'still inside' : time(exited),
      ]),
    )
  }
}
