import type { Bounds } from '../geometry/bounds.ts'
import type { ScopeId } from '../model/scope.ts'

/** A query without a limit is cut at 100, silently. */
export const NO_LIMIT = '1000000000'

/** What the collections, hooks and channels of one store are called; several may share a Tile38. */
export class Tile38Keys {
  readonly #prefix: string

  /** @param storeId of the data folder, or of what the processes share */
  constructor(storeId: string) {
    this.#prefix = `ringfence:${storeId}`
  }

  /** Boxes of geofences as one writer has written them, and its notes. */
  geofences(scope: ScopeId, writer: string): string {
    return `${this.#prefix}:${scope}:geofences:${writer}`
  }

  /** Pattern of those of all writers. */
  get allGeofences(): string {
    return `${this.#prefix}:*:geofences:*`
  }

  /** The hook of a geofence; with `*` the pattern of all of the scope. */
  hook(scope: ScopeId, geofenceId: string): string {
    return `${this.#prefix}:${scope}:hook:${geofenceId}`
  }

  /** Where devices are. */
  devices(scope: ScopeId): string {
    return `${this.#prefix}:${scope}:devices`
  }

  /** Who has written last, by the name of a share. */
  get writers(): string {
    return `${this.#prefix}:devices:writers`
  }

  /** The shares of which all devices are there, by name. */
  get whole(): string {
    return `${this.#prefix}:devices:whole`
  }

  /** The channel of a watched area; `name` differs with each. */
  watch(scope: ScopeId, name: string): string {
    return `${this.#prefix}:${scope}:watch:${name}`
  }
}

/**
 * The id of a device in its collection: ids lie in order there, so the devices of a partition can be asked for together. The inverse
 * is {@link deviceOf}.
 */
export function deviceKey(partition: number, deviceId: string): string {
  return `${partition}:${deviceId}`
}

export function deviceOf(key: string): string {
  return key.slice(key.indexOf(':') + 1)
}

/** As Tile38 has it: south, west, north, east. */
export function cornersOf({ west, south, east, north }: Bounds, padDegrees = 0): string[] {
  return [
    Math.max(-90, south - padDegrees),
    Math.max(-180, west - padDegrees),
    Math.min(90, north + padDegrees),
    Math.min(180, east + padDegrees),
  ].map((degrees) => numberText(degrees))
}

/** Degrees or metres, without an exponent, which not every reader takes. */
export function numberText(value: number): string {
  return value.toFixed(12)
}
