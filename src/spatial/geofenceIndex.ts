import type { GeofenceProperties } from '../model/geofence.ts'
import { CellIndex } from './cellIndex.ts'
import { GeofenceSlotStore } from './geofenceSlotStore.ts'
import type { GeofenceIndex } from './port.ts'
import type { SharedTexts } from './sharedTexts.ts'

/**
 * An empty index of the geofences of one scope, kept in memory as hierarchical cells.
 * @param texts shared with the indexes of other scopes
 */
export function createGeofenceIndex(texts?: SharedTexts): GeofenceIndex {
  return new GeofenceCells(new GeofenceSlotStore(texts))
}

/** The index of a scope's geofences, with the questions that its slot store answers. */
class GeofenceCells extends CellIndex<GeofenceProperties, GeofenceSlotStore> implements GeofenceIndex {
  isUnrestricted(slot: number): boolean {
    return this.slotStore.isUnrestricted(slot)
  }

  isPlain(slot: number): boolean {
    return this.slotStore.isPlain(slot)
  }

  unreadBytes(slot: number): number {
    return this.slotStore.unreadBytes(slot)
  }

  createdAt(slot: number): number {
    return this.slotStore.createdAt(slot)
  }

  updatedAt(slot: number): number {
    return this.slotStore.updatedAt(slot)
  }

  hasTag(slot: number, tag: string): boolean {
    return this.slotStore.hasTag(slot, tag)
  }

  hasExternalId(slot: number, externalId: string): boolean {
    return this.slotStore.hasExternalId(slot, externalId)
  }
}
