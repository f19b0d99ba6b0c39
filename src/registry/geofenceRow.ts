import { isActive } from '../model/geofence.ts'
import type { Geofence, GeofenceProperties } from '../model/geofence.ts'
import { parseOperatingHours } from '../model/operatingHours.ts'

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

/**
 * The geofence as it stands at `now`: undefined once `deleteAfter` is reached, disabled once `disableAfter` is. Reads
 * go through it, so that a date counts from its very millisecond whenever the sweep writes it down.
 */
export function asOf<T extends GeofenceProperties>(geofence: T, now: number): T | undefined {
  if (geofence.deleteAfter !== undefined && now >= geofence.deleteAfter) return undefined
  if (geofence.enabled && geofence.disableAfter !== undefined && now >= geofence.disableAfter) {
    return { ...geofence, enabled: false } as T
  }
  return geofence
}

/** Whether it may have somebody inside at `now`. */
export function isActiveAt(geofence: GeofenceProperties, now: number): boolean {
  const standing = asOf(geofence, now)
  return standing !== undefined && isActive(standing)
}

/** When something is next due for it by itself, epoch milliseconds; undefined: never. */
export function dueAt(geofence: GeofenceProperties): number | undefined {
  const { disableAfter = Infinity, deleteAfter = Infinity, enabled } = geofence
  const due = enabled ? Math.min(disableAfter, deleteAfter) : deleteAfter
  return due === Infinity ? undefined : due
}
