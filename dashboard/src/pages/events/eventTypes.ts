/** The types of events that the filter offers; a custom one is written into the address. */
export const EVENT_TYPES: readonly string[] = [
  'user.entered_geofence',
  'user.exited_geofence',
  'user.dwelled_in_geofence',
  'user.entered_beacon',
  'user.exited_beacon',
  'user.entered_region_country',
  'user.exited_region_country',
  'user.entered_region_state',
  'user.exited_region_state',
  'user.started_trip',
  'user.updated_trip',
  'user.approaching_trip_destination',
  'user.arrived_at_trip_destination',
  'user.stopped_trip',
  'user.failed_fraud',
]
