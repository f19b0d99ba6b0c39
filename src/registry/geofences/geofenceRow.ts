import type { Geofence } from '../../model/geofence.ts'
import { parseOperatingHours } from '../../model/operatingHours.ts'

/** A geofence without what the registry gives it: the content of one definition. */
export type GeofenceDefinition = Omit<Geofence, 'id' | 'scope' | 'timeZone' | 'createdAt' | 'updatedAt'>

/** A row of the table `geofences`: what is looked up by stands in columns, the rest is JSON. */
export interface GeofenceRow {
  readonly id: string
  readonly scope: number
  readonly tag: string
  readonly externalId: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Epoch milliseconds. */
  readonly updatedAt: number
  readonly definition: string
}

/** The inverse of {@link fromRow}. Hours are kept as given: the parsed week follows from them. */
export function toRow(geofence: Geofence): GeofenceRow {
  const { id, scope, tag, externalId, createdAt, updatedAt, operatingHours, ...rest } = geofence
  const definition = JSON.stringify({ ...rest, operatingHours: operatingHours?.source })
  return { id, scope, tag, externalId, createdAt, updatedAt, definition }
}

/** The inverse of {@link toRow}. Throws SyntaxError or OperatingHoursError where the JSON is not what we wrote. */
export function fromRow(row: GeofenceRow): Geofence {
  const { definition, ...columns } = row
  const rest = JSON.parse(definition)
  if (rest.operatingHours !== undefined) rest.operatingHours = parseOperatingHours(rest.operatingHours)
  return { ...columns, ...rest }
}
