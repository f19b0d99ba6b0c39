/** Custom data on users, geofences and beacons: flat, values of three kinds (interface.md, field tables). */
export type Metadata = Readonly<Record<string, string | number | boolean>>

/** The most keys that the metadata of a geofence or beacon may have. */
export const GEOFENCE_METADATA_KEYS = 16

/** The most keys that the metadata of a user may have. */
export const USER_METADATA_KEYS = 32
