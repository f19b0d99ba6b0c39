import type { Geofence } from '../../model/geofence.ts'
import type { Entity } from '../records/entity.ts'
import { GEOFENCE_CHANGES, GeofenceBody, NewGeofenceBody } from './geofenceFields.ts'
import { GeofenceRecord, geofenceRecord } from './geofenceRecord.ts'
import { GEOFENCE_ROWS, geofenceOfRow, rowOfGeofence, type GeofenceDefinition } from './geofenceRows.ts'

/** The entity without the reading of definitions, which may need a look-up; see geofenceRoutes. */
export const GEOFENCES: Omit<Entity<GeofenceDefinition, Geofence>, 'parse'> = {
  singular: 'geofence',
  plural: 'geofences',
  tag: 'Geofences',
  rows: GEOFENCE_ROWS,
  toRow: rowOfGeofence,
  fromRow: geofenceOfRow,
  changes: GEOFENCE_CHANGES,
  newBody: NewGeofenceBody,
  body: GeofenceBody,
  record: GeofenceRecord,
  answer: geofenceRecord,
}
