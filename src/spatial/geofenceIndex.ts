import type { GeofenceProperties } from '../model/geofence.ts'
import { CellIndex } from './cellIndex.ts'
import { GeofenceSlotStore } from './geofenceSlotStore.ts'
import type { GeofenceIndex } from './port.ts'

/** An empty index of the geofences of one scope, kept in memory as hierarchical cells. */
export function createGeofenceIndex(): GeofenceIndex {
  return new GeofenceCells(new GeofenceSlotStore())
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
