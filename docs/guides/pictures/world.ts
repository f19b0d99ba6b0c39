/**
 * The small world that the pictures show: a place in Berlin, offsets in metres from it, and the engine's own answers.
 * Nothing in a picture is drawn by eye: distance, coverage and confidence come from the index, decisions from the
 * transition rules.
 */
import { decide, type Decision, type Fact } from '../../../src/rules/geofenceRules.ts'
import { type Circumstances } from '../../../src/rules/circumstances.ts'
import { destination, pointDistance } from '../../../src/geometry/distance.ts'
import { Probe } from '../../../src/geometry/probe.ts'
import type { Visit } from '../../../src/model/device.ts'
import type { Geofence, Shape } from '../../../src/model/geofence.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../../src/model/settings.ts'
import { PLAIN_OFFSETS } from '../../../src/model/zoneOffsets.ts'
import { createGeofenceIndex } from '../../../src/spatial/geofenceIndex.ts'

const CENTER = { latitude: 52.5219, longitude: 13.4132 }

/** Metres east and north of the centre. */
export type Offset = readonly [east: number, north: number]

export function placeAt([east, north]: Offset): { readonly latitude: number; readonly longitude: number } {
  const bearing = (Math.atan2(east, north) * 180) / Math.PI
  return destination(CENTER.latitude, CENTER.longitude, bearing, Math.hypot(east, north))
}

/** The metres east and north of the centre of a place nearby. */
export function offsetOf({ latitude, longitude }: ReturnType<typeof placeAt>): Offset {
  const north = pointDistance(CENTER.latitude, longitude, latitude, longitude)
  const east = pointDistance(latitude, CENTER.longitude, latitude, longitude)
  return [longitude < CENTER.longitude ? -east : east, latitude < CENTER.latitude ? -north : north]
}

/** A geofence with the index that holds it. */
export interface Fence {
  readonly geofence: Geofence
  /** Signed metres to the boundary. */
  distance(at: Offset): number
  /** What an update there, with that accuracy in metres, means for it. */
  fact(at: Offset, accuracy: number): Fact
}

export function circleAt(radius: number, [east, north]: Offset = [0, 0]): Fence {
  const { latitude, longitude } = placeAt([east, north])
  return fenceOf({ kind: 'circle', center: [longitude, latitude], radius })
}

export function polygonOf(corners: readonly Offset[]): Fence {
  const ring = [...corners, corners[0]!].map((corner) => {
    const { latitude, longitude } = placeAt(corner)
    return [longitude, latitude] as const
  })
  return fenceOf({ kind: 'polygon', ring })
}

function fenceOf(shape: Shape): Fence {
  const geofence: Geofence = {
    id: '0'.repeat(24),
    scope: 0,
    tag: 'store',
    externalId: '1',
    description: 'A store',
    type: shape.kind,
    shape,
    enabled: true,
    timeZone: 'Europe/Berlin',
    createdAt: 0,
    updatedAt: 0,
  }
  const index = createGeofenceIndex()
  index.put(geofence)
  const slot = index.slotOf(geofence.id)
  const probe = new Probe()
  const set = (at: Offset) => {
    const { latitude, longitude } = placeAt(at)
    return probe.set(latitude, longitude)
  }
  return {
    geofence,
    distance: (at) => index.distance(slot, set(at)),
    fact: (at, accuracy) => ({
      geofence,
      distance: index.distance(slot, set(at)),
      coverage: index.coverage(slot, set(at), accuracy),
    }),
  }
}

/** One update of a trace. */
export interface TracePoint {
  /** Seconds since the start. */
  readonly second: number
  readonly at: Offset
  /** Metres. */
  readonly accuracy: number
}

export interface Decided extends TracePoint {
  readonly distance: number
  readonly decision: Decision
  /** After the update. */
  readonly isInside: boolean
}

/** What the engine makes of a trace, from outside, under the given settings. */
export function decideTrace(
  fence: Fence,
  trace: readonly TracePoint[],
  settings: Partial<Settings>,
): Decided[] {
  let visit: Visit | undefined
  let approachingSince: number | undefined
  return trace.map((point) => {
    const now = circumstances(point, { ...DEFAULT_SETTINGS, ...settings })
    const fact = fence.fact(point.at, point.accuracy)
    const decision = decide(visit, fact, now, approachingSince)
    if (decision.outcome === 'entered')
      visit = { geofenceId: fence.geofence.id, enteredAt: now.time, dwelled: false }
    else if (decision.outcome === 'exited') visit = undefined
    else if (visit !== undefined) {
      const { geofenceId, enteredAt } = visit
      const dwelled = visit.dwelled || decision.outcome === 'dwelled'
      const leaving = decision.since === undefined ? {} : { leavingSince: decision.since }
      visit = { geofenceId, enteredAt, dwelled, ...leaving }
    }
    approachingSince = visit === undefined ? decision.since : undefined
    return { ...point, distance: fact.distance, decision, isInside: visit !== undefined }
  })
}

/** The confidence that an entry there, or an exit, has. */
export function confidenceAt(
  fence: Fence,
  at: Offset,
  accuracy: number,
  of: 'entry' | 'exit',
): 0 | 1 | 2 | 3 {
  const visit = { geofenceId: fence.geofence.id, enteredAt: 0, dwelled: false }
  const now = circumstances({ second: 0, at, accuracy }, DEFAULT_SETTINGS)
  const decision = decide(of === 'exit' ? visit : undefined, fence.fact(at, accuracy), now)
  return decision.event === undefined ? 0 : decision.confidence
}

function circumstances(point: TracePoint, settings: Settings): Circumstances {
  return {
    time: point.second * 1000,
    receivedAt: point.second * 1000,
    accuracy: point.accuracy,
    accuracyKnown: true,
    userId: undefined,
    ip: '192.0.2.1',
    stopped: false,
    foreground: false,
    settings,
    zones: PLAIN_OFFSETS,
  }
}

/** The same noise for everybody: mulberry32 by T. Ettinger, and normal values by Box and Muller. */
export function noise(seed: number): () => number {
  let state = seed
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
}
