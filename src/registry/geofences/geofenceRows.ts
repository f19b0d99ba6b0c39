import Type from 'typebox'
import { shapeCenter } from '../../geometry/shape.ts'
import type { Geofence } from '../../model/geofence.ts'
import { parseOperatingHours } from '../../model/operatingHours.ts'
import type { SharedTexts } from '../../spatial/sharedTexts.ts'
import {
  rowOfRecord,
  recordOfRow,
  recordRows,
  StoredMetadata,
  type RecordRow,
} from '../records/recordRows.ts'

/** A geofence without the fields that the registry adds: the content of one definition. */
export type GeofenceDefinition = Omit<Geofence, 'id' | 'scope' | 'timeZone' | 'createdAt' | 'updatedAt'>

const StoredPosition = Type.Tuple([Type.Number(), Type.Number()])
const Minutes = Type.Number({ exclusiveMinimum: 0 })
const Time = Type.Number()

const StoredShape = Type.Union([
  Type.Object({
    kind: Type.Literal('circle'),
    center: StoredPosition,
    radius: Type.Number({ exclusiveMinimum: 0 }),
  }),
  Type.Object({ kind: Type.Literal('polygon'), ring: Type.Array(StoredPosition, { minItems: 4 }) }),
])

const StoredIsochrone = Type.Object({
  destination: StoredPosition,
  minutes: Minutes,
  computedAt: Type.Optional(Time),
  network: Type.Optional(Type.String()),
  failure: Type.Optional(Type.String()),
})

/** The rows of geofences. */
export const GEOFENCE_ROWS = {
  ...recordRows(
    'geofences',
    'all',
    Type.Object({
      description: Type.String(),
      type: Type.Enum(['circle', 'polygon', 'isochrone']),
      shape: StoredShape,
      enabled: Type.Boolean(),
      timeZone: Type.String(),
      mode: Type.Optional(Type.String()),
      isochrone: Type.Optional(StoredIsochrone),
      metadata: Type.Optional(StoredMetadata),
      stopDetection: Type.Optional(Type.Boolean()),
      disableAfter: Type.Optional(Time),
      deleteAfter: Type.Optional(Time),
      userId: Type.Optional(Type.String()),
      userIds: Type.Optional(Type.Array(Type.String())),
      ip: Type.Optional(Type.String()),
      dwellThreshold: Type.Optional(Type.Number()),
      placeId: Type.Optional(Type.String()),
      address: Type.Optional(Type.String()),
      tripApproachingThreshold: Type.Optional(Type.Number()),
    }),
  ),
  check: (row: object) => {
    const { shape } = geofenceOfRow(row as RecordRow)
    if (!shapeCenter(shape).every(Number.isFinite)) throw new Error('its shape has no centre')
  },
}

/** The inverse of {@link geofenceOfRow}. Hours are stored as given, because the parsed week follows from them. */
export function rowOfGeofence(geofence: Geofence): RecordRow {
  const { operatingHours, ...rest } = geofence
  return rowOfRecord({ ...rest, operatingHours: operatingHours?.source } as unknown as Geofence)
}

/**
 * The inverse of {@link rowOfGeofence}. Throws SyntaxError or OperatingHoursError if the JSON was not written by us.
 */
export function geofenceOfRow(row: RecordRow, texts?: SharedTexts): Geofence {
  const geofence = recordOfRow<Geofence & { operatingHours?: unknown }>(row)
  const { operatingHours } = geofence
  if (operatingHours !== undefined)
    Object.assign(geofence, {
      operatingHours: texts?.parseHours(operatingHours) ?? parseOperatingHours(operatingHours),
    })
  return geofence
}
