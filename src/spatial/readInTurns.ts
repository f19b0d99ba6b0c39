import { Slice } from '../runtime/slices.ts'
import type { GeofenceIndex } from './port.ts'

/** Unpacks geofences in turns with everything else, so that they are at hand afterwards. Slots may be free by then. */
export async function readInTurns(index: GeofenceIndex, slots: readonly number[]): Promise<void> {
  const slice = new Slice()
  for (const slot of slots) {
    if (slice.isOver) await slice.next()
    if (index.has(slot)) index.geofence(slot)
  }
}
