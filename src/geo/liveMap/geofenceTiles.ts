import { LRUCache } from 'lru-cache'
import { asOf } from '../../model/geofence.ts'
import type { ScopeId } from '../../model/scope.ts'
import { ConcurrencyLimit } from '../../runtime/concurrencyLimit.ts'
import type { Clock } from '../../runtime/clock.ts'
import { inSlices } from '../../runtime/slices.ts'
import type { GeofenceIndex } from '../../spatial/port.ts'
import type { TileAddress } from '../mapFile/grid.ts'
import { geofenceTile } from './geofenceTile.ts'

/** How many tiles are made at a time, in turns, and how many may wait. */
const AT_ONCE = 2
const MOST_WAITING = 256
/** How many bytes of the tiles that were asked for last are kept. */
const CACHE_BYTES = 16 * 1024 * 1024
const ENTRY_BYTES = 300

/** The geofences of a scope, as tiles need them. */
export interface TiledGeofences {
  /** Changes with every change of a geofence. */
  readonly revision: number
  readonly index: GeofenceIndex
}

export interface KeptTile {
  readonly content: Uint8Array
  /** The revision of the geofences in the tile. */
  readonly revision: number
}

/** Makes tiles of geofences, and keeps them until a geofence of their scope changes. */
export class GeofenceTiles {
  readonly #geofences: (scope: ScopeId) => TiledGeofences
  readonly #clock: Clock
  readonly #limit = new ConcurrencyLimit(AT_ONCE, MOST_WAITING)
  readonly #kept = new LRUCache<string, KeptTile>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ content }) => content.length + ENTRY_BYTES,
  })

  constructor(geofences: (scope: ScopeId) => TiledGeofences, clock: Clock) {
    this.#geofences = geofences
    this.#clock = clock
  }

  /**
   * A tile.
   * @param tag only geofences with this tag are in it; undefined means all
   */
  async tile(scope: ScopeId, address: TileAddress, tag: string | undefined): Promise<KeptTile> {
    const { z, x, y } = address
    const key = `${scope} ${z}/${x}/${y} ${tag ?? ''}`
    const known = this.#current(scope, key)
    return known ?? this.#limit.run(() => this.#make(scope, address, tag, key))
  }

  #current(scope: ScopeId, key: string): KeptTile | undefined {
    const kept = this.#kept.get(key)
    return kept?.revision === this.#geofences(scope).revision ? kept : undefined
  }

  async #make(scope: ScopeId, address: TileAddress, tag: string | undefined, key: string): Promise<KeptTile> {
    // It may have been made while this waited.
    const known = this.#current(scope, key)
    if (known !== undefined) return known
    // The revision is read first, so that a change in the meantime makes the tile outdated.
    const { revision, index } = this.#geofences(scope)
    const isShown = (slot: number): boolean => {
      if (tag === undefined && index.isPlain(slot)) return true
      const geofence = index.geofence(slot)
      return (tag === undefined || geofence.tag === tag) && asOf(geofence, this.#clock.now()) !== undefined
    }
    const content = await inSlices(geofenceTile(index, address, isShown))
    const tile = { content, revision }
    this.#kept.set(key, tile)
    return tile
  }
}
