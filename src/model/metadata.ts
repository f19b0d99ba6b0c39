/** Custom data on users, geofences and beacons: flat, values of three kinds (interface.md, field tables). */
export type Metadata = Readonly<Record<string, string | number | boolean>>

/** The most keys that the metadata of a geofence or beacon may have. */
export const GEOFENCE_METADATA_KEYS = 16

/** The most keys that the metadata of a user may have. */
export const USER_METADATA_KEYS = 32

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

/**
 * Whether metadata has every wanted key with its value. A wanted value is text from a query: it stands for itself, and
 * for the boolean or number that it reads as.
 */
export function matchesMetadata(
  metadata: Metadata | undefined,
  wanted: Readonly<Record<string, string>>,
): boolean {
  for (const [key, text] of Object.entries(wanted)) {
    const value = metadata !== undefined && Object.hasOwn(metadata, key) ? metadata[key] : undefined
    if (value === undefined) return false
    if (typeof value === 'number' ? !DECIMAL.test(text) || Number(text) !== value : String(value) !== text) {
      return false
    }
  }
  return true
}
