import type { Bounds } from '../geometry/bounds.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Tile38Command } from './tile38Port.ts'

/** The limit for queries that should have none. Without a limit, a query silently returns at most 100 results. */
export const NO_LIMIT = '1000000000'

/** The names of one store's collections and channels; several stores may share a Tile38. */
export class Tile38Keys {
  readonly #prefix: string

  /**
   * The names of one store.
   * @param storeId that of the data folder, or of the store that the processes share
   */
  constructor(storeId: string) {
    this.#prefix = `ringfence:${storeId}`
  }

  /** The collection with the positions of devices. */
  devices(scope: ScopeId): string {
    return `${this.#prefix}:${scope}:devices`
  }

  /** The command that asks for a device by its id in the collection; see `readReply` of tile38Position.ts. */
  gettingDevice(scope: ScopeId, key: string): Tile38Command {
    return ['GET', this.devices(scope), key, 'WITHFIELDS', 'POINT']
  }

  /** The collection with the last writer of each share, by name. */
  get writers(): string {
    return `${this.#prefix}:devices:writers`
  }

  /** The collection with the shares that are complete, by name. */
  get whole(): string {
    return `${this.#prefix}:devices:whole`
  }

  /**
   * The channel of a watched area.
   * @param name differs for each of them
   */
  watch(scope: ScopeId, name: string): string {
    return `${this.#prefix}:${scope}:watch:${name}`
  }
}

/**
 * The id of a device in its collection. Ids are sorted there, so the devices of a partition can be queried together.
 * {@link deviceOf} is the inverse.
 */
export function deviceKey(partition: number, deviceId: string): string {
  return `${partition}:${deviceId}`
}

export function deviceOf(key: string): string {
  return key.slice(key.indexOf(':') + 1)
}

/** The corners in Tile38's order: south, west, north, east. */
export function cornersOf({ west, south, east, north }: Bounds, padDegrees = 0): string[] {
  return [
    Math.max(-90, south - padDegrees),
    Math.max(-180, west - padDegrees),
    Math.min(90, north + padDegrees),
    Math.min(180, east + padDegrees),
  ].map((degrees) => numberText(degrees))
}

/** Degrees or metres as text without an exponent, because some readers do not accept one. */
export function numberText(value: number): string {
  return value.toFixed(12)
}
