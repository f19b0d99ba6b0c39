import { decimalOf } from './decimal.ts'

/** Custom data on users, geofences and beacons: flat, values of three kinds. */
export type Metadata = Readonly<Record<string, string | number | boolean>>

/** The most keys that the metadata of a geofence or beacon may have. */
export const GEOFENCE_METADATA_KEYS = 16

/** The most keys that the metadata of a user may have. */
export const USER_METADATA_KEYS = 32

/** The most characters that a text in metadata may have. */
export const METADATA_TEXT_LENGTH = 4096

/** The metadata that a search wants: keys with the text of their values. */
export type WantedMetadata = Readonly<Record<string, string>>

/**
 * Tells whether metadata has every wanted key with its value. A wanted value is text from a query: it matches the
 * same text, and the boolean or number that it can be read as. It is read once here, not again for each record of a
 * search.
 */
export function metadataMatcher(wanted: WantedMetadata): (metadata: Metadata | undefined) => boolean {
  const members = Object.entries(wanted).map(([key, text]) => ({ key, text, number: decimalOf(text) }))
  return (metadata) => {
    for (const { key, text, number } of members) {
      const value = metadata !== undefined && Object.hasOwn(metadata, key) ? metadata[key] : undefined
      if (value === undefined) return false
      if (typeof value === 'number' ? value !== number : String(value) !== text) return false
    }
    return true
  }
}

/** Whether two have the same keys with the same values. */
export function sameMetadata(a: Metadata, b: Metadata | undefined): boolean {
  if (b === undefined) return false
  let keys = 0
  for (const key in a) {
    if (a[key] !== b[key]) return false
    keys++
  }
  return keys === Object.keys(b).length
}
