import type { Geofence } from '../../model/geofence.ts'
import type { Entity } from '../records/entity.ts'
import { GeofenceBody, NewGeofenceBody } from './geofenceFields.ts'
import { GeofenceRecord, geofenceRecord } from './geofenceRecord.ts'
import { GEOFENCE_ROWS, geofenceOfRow, rowOfGeofence, type GeofenceDefinition } from './geofenceRows.ts'
import { parseGeofence } from './parseGeofence.ts'

export const GEOFENCES: Entity<GeofenceDefinition, Geofence> = {
  singular: 'geofence',
  plural: 'geofences',
  tag: 'Geofences',
  rows: GEOFENCE_ROWS,
  toRow: rowOfGeofence,
  fromRow: geofenceOfRow,
  newBody: NewGeofenceBody,
  body: GeofenceBody,
  parse: parseGeofence,
  record: GeofenceRecord,
  answer: geofenceRecord,
}
