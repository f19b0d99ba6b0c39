import type { Geofence } from '../model/geofence.ts'
import { parseOperatingHours } from '../model/operatingHours.ts'
import type { GeofenceDraft } from '../registry/geofences/resolveArea.ts'

/**
 * The text of a row: what it says about a geofence, in one fixed form. The thread that reads rows writes it. The same
 * text is made of the existing geofence, so that most rows are known to be equal without being read again.
 */

/** The members of a definition, in the order of the text. */
const MEMBERS = [
  'tag',
  'externalId',
  'description',
  'type',
  'mode',
  'metadata',
  'stopDetection',
  'disableAfter',
  'deleteAfter',
  'userId',
  'userIds',
  'ip',
  'dwellThreshold',
  'placeId',
  'tripApproachingThreshold',
  'address',
] as const

type Definition = GeofenceDraft['definition']

/**
 * Writes the text of a draft.
 * @param now a date that has passed disables the geofence, whatever the row says
 */
export function draftText({ definition, center, ring, radius }: GeofenceDraft, now: number): string {
  return JSON.stringify([definitionOf(definition, now), center ?? null, ring ?? null, radius ?? null])
}

/** The text of the row that would make this geofence, if nothing had to be looked up for it. */
export function rowTextOf(geofence: Geofence, now: number): string {
  const { shape, isochrone } = geofence
  if (isochrone !== undefined)
    return JSON.stringify([definitionOf(geofence, now), isochrone.destination, null, isochrone.minutes])
  return shape.kind === 'circle'
    ? JSON.stringify([definitionOf(geofence, now), shape.center, null, shape.radius])
    : JSON.stringify([definitionOf(geofence, now), null, shape.ring, null])
}

/** The inverse of {@link draftText}. */
export function draftOf(text: string): GeofenceDraft {
  const [{ operatingHours, ...definition }, center, ring, radius] = JSON.parse(text)
  return {
    definition: {
      ...definition,
      ...(operatingHours !== undefined && { operatingHours: parseOperatingHours(operatingHours) }),
    },
    ...(center !== null && { center }),
    ...(ring !== null && { ring }),
    ...(radius !== null && { radius }),
  }
}

/**
 * Whether a geofence is what a row says that has an address or a place: those are looked up once, so an equal one is not
 * looked up again.
 */
export function isSameLookUp(geofence: Geofence, draft: GeofenceDraft, now: number): boolean {
  const { definition, center, radius } = draft
  if (JSON.stringify(definitionOf(geofence, now)) !== JSON.stringify(definitionOf(definition, now)))
    return false
  const { shape, isochrone } = geofence
  const known =
    isochrone !== undefined
      ? { center: isochrone.destination, radius: isochrone.minutes }
      : shape.kind === 'circle'
        ? shape
        : undefined
  if (known === undefined) return true
  if (radius !== undefined && radius !== known.radius) return false
  return center === undefined || (center[0] === known.center[0] && center[1] === known.center[1])
}

function definitionOf(definition: Definition, now: number): object {
  const ordered: Record<string, unknown> = {}
  for (const name of MEMBERS) if (definition[name] !== undefined) ordered[name] = definition[name]
  const { enabled, disableAfter = Infinity, operatingHours } = definition
  ordered.enabled = enabled && disableAfter > now
  if (operatingHours !== undefined) ordered.operatingHours = operatingHours.source
  return ordered
}
