import type { Settings } from '../model/settings.ts'
import type { Update } from '../model/update.ts'
import { isTooInaccurate } from '../rules/circumstances.ts'

/** The flags of a user record, which are bits of one number. */

export const FLAG_FOREGROUND = 1
export const FLAG_STOPPED = 2
export const FLAG_REPLAYED = 4
/** The update was too inaccurate to touch any geofence. */
export const FLAG_IGNORED = 8
/**
 * The update left the profile unchanged: its information on the stays before the last update is from an earlier one.
 */
export const FLAG_SETTLED = 16

/** The flags that an update sets on its device. */
export function updateFlags(update: Update, settings: Settings): number {
  return (
    (update.foreground ? FLAG_FOREGROUND : 0) |
    (update.stopped ? FLAG_STOPPED : 0) |
    (update.replayed ? FLAG_REPLAYED : 0) |
    (isTooInaccurate(update, settings) ? FLAG_IGNORED : 0)
  )
}
