import type { GeofenceIndex } from '../spatial/port.ts'
import { Unready } from './unready.ts'

/**
 * An update that concerns geofences which the index must unpack first, because no device was near them for long.
 *
 * The naive way unpacks them when they are needed, and everybody waits: 10,000 take ten to twenty milliseconds,
 * and 300 with 64 KB of metadata each take as long. So the update is deferred, they are read in turns with
 * everything else, and then it is evaluated.
 */
export class Unread extends Unready {
  readonly slots: readonly number[]

  constructor(slots: readonly number[]) {
    super()
    this.slots = slots
  }
}

/** So few geofences are never looked through, because nearly all updates concern fewer. */
export const FEW_TO_READ = 16
/** Reading this many bytes takes about a millisecond. */
const LONG_BYTES = 192 * 1024
/** Reading a geofence takes as long as this many bytes of metadata. */
const GEOFENCE_BYTES = 192

/** Those of the geofences that must be read before they are used, if that takes long. Slots below 0 are left out. */
export function unreadOf(index: GeofenceIndex, slots: Iterable<number>): Unread | undefined {
  const unread: number[] = []
  let bytes = 0
  for (const slot of slots) {
    const ofSlot = slot < 0 ? 0 : index.unreadBytes(slot)
    if (ofSlot === 0) continue
    unread.push(slot)
    bytes += ofSlot + GEOFENCE_BYTES
  }
  return bytes < LONG_BYTES ? undefined : new Unread(unread)
}
