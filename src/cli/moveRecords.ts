/** Turns records of another project into definitions for this one. The code is pure. */

/** A record as the interface returns it. */
export type MovedFields = Readonly<Record<string, unknown>>

export interface Definition {
  readonly tag: string
  readonly externalId: string
  readonly body: MovedFields
}

/** The tag that records without one get, because every record has a pair here. */
const TAG = 'radar'

const GEOFENCE_FIELDS = (
  'metadata userId userIds ip enabled operatingHours stopDetection dwellThreshold disableAfter deleteAfter mode ' +
  'tripApproachingThreshold'
).split(' ')
const BEACON_FIELDS = ['type', 'uuid', 'major', 'minor', 'uid', 'instance', 'enabled', 'metadata']

/**
 * The definition of a geofence. It has no `placeId`, which would name a place of Radar's own data; the area that the
 * place gave is copied instead.
 */
export function geofenceDefinition(record: MovedFields): Definition {
  const { type, geometry, geometryCenter, geometryRadius, isochrone } = record
  const center = pointOf(geometryCenter)
  const ring = (geometry as { coordinates?: unknown[] } | undefined)?.coordinates?.[0]
  const reach = isochrone as { destination?: unknown; minutes?: unknown } | undefined
  const area =
    type === 'polygon'
      ? { coordinates: ring }
      : { coordinates: reach?.destination ?? center, radius: reach?.minutes ?? geometryRadius }
  return definition(record, { type, ...area, ...taken(record, GEOFENCE_FIELDS) })
}

export function beaconDefinition(record: MovedFields): Definition {
  return definition(record, { coordinates: pointOf(record.geometry), ...taken(record, BEACON_FIELDS) })
}

/** Only the settings that exist here, too. */
export function knownSettings(theirs: MovedFields, ours: MovedFields): MovedFields {
  return taken(theirs, Object.keys(ours))
}

function definition(record: MovedFields, body: MovedFields): Definition {
  const externalId = textOf(record.externalId) ?? String(record._id)
  return {
    tag: textOf(record.tag) ?? TAG,
    externalId,
    body: { description: textOf(record.description) ?? externalId, ...body },
  }
}

function taken(record: MovedFields, names: readonly string[]): MovedFields {
  const known = names.filter((name) => record[name] !== undefined && record[name] !== null)
  return Object.fromEntries(known.map((name) => [name, record[name]]))
}

function pointOf(geometry: unknown): unknown {
  return (geometry as { coordinates?: unknown } | undefined)?.coordinates
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
