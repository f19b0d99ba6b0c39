import type { Beacon } from '../../src/model/beacon.ts'
import type { Geofence } from '../../src/model/geofence.ts'
import { geofenceRecord } from '../../src/registry/geofences/geofenceRecord.ts'
import type { Update } from '../../src/model/update.ts'
import { isOperating } from './oracleEligibility.ts'

/** The records of the interface for oracle.ts, and how they are compared. */

/** When and where something happened, if that differs from the update's own time and place. */
export interface Happened {
  /** ISO 8601, as written by the engine. */
  readonly createdAt: string
  readonly coordinates: readonly number[]
}

export function eventRecord(
  subject:
    | { readonly geofence: Geofence }
    | { readonly beacon: Beacon }
    | { readonly region: { readonly type: string } },
  user: EventUser,
  update: Update,
  time: number,
  kind: string,
  confidence: number,
  duration?: number,
  happened: Happened = happenedAt(update, time),
): unknown {
  const about =
    'geofence' in subject
      ? 'geofence'
      : 'beacon' in subject
        ? 'beacon'
        : `region_${subject.region.type.replace('C', '_c')}`
  const type = `user.${kind}${kind === 'dwelled' ? '_in' : ''}_${about}`
  const members =
    'geofence' in subject
      ? {
          geofence: contextOf(subject.geofence),
          currentlyOperating: isOperating(subject.geofence, Date.parse(happened.createdAt)),
        }
      : 'beacon' in subject
        ? { beacon: beaconContext(subject.beacon) }
        : { region: subject.region }
  return eventWith({ type, ...members }, user, update, confidence, duration, happened)
}

type EventUser = { readonly id: string; readonly userId: string | undefined; readonly metadata: unknown }

/** @param about its type, and what it is about */
export function eventWith(
  about: object,
  user: EventUser,
  update: Update,
  confidence: number,
  duration: number | undefined,
  happened: Happened,
): unknown {
  return {
    ...about,
    createdAt: happened.createdAt,
    actualCreatedAt: iso(update.receivedAt),
    live: false,
    user: { _id: user.id, userId: user.userId, deviceId: update.deviceId, metadata: user.metadata },
    location: { type: 'Point', coordinates: happened.coordinates },
    locationAccuracy: update.accuracy,
    confidence,
    duration,
    replayed: update.replayed,
    foreground: update.foreground,
    stopped: update.stopped,
  }
}

/** At the time and place of the update. */
export function happenedAt({ latitude, longitude }: Update, time: number): Happened {
  return { createdAt: iso(time), coordinates: [longitude, latitude] }
}

export function contextOf(geofence: Geofence): unknown {
  const { id, tag, externalId, description, metadata, type } = geofence
  // Taken from the geofence's own record; ring.test.ts checks that with Karney's distances.
  const { geometryCenter, geometryRadius } = geofenceRecord(geofence)
  return { _id: id, tag, externalId, description, metadata, type, geometryCenter, geometryRadius }
}

export function beaconContext(beacon: Beacon): unknown {
  const { id, type, uuid, major, minor, uid, instance, ...rest } = beacon
  const { description, tag, externalId, enabled, metadata } = rest
  const sent = type === 'ibeacon' ? { uuid, major, minor } : { uid, instance }
  return { _id: id, type, ...sent, description, tag, externalId, enabled, metadata }
}

export function iso(time: number): string {
  return new Date(time).toISOString()
}

export function show(value: unknown): string {
  return JSON.stringify(value) ?? 'none'
}

/** Compares as JSON with keys in any order. Ids of events are checked elsewhere. */
export function same(what: string, expected: unknown, found: unknown, update: Update): void {
  const [a, b] = [sorted(expected), sorted(found)]
  if (a !== b) throw new Error(`${what}:\n expected ${a}\n found    ${b}\n update ${show(update)}`)
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, inner) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    const isEvent = typeof inner.type === 'string' && inner.type.startsWith('user.')
    const keys = Object.keys(inner).filter((key) => !(isEvent && key === '_id'))
    return Object.fromEntries(keys.sort().map((key) => [key, inner[key]]))
  })
}
