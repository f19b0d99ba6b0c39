import type { Bounds } from '../geometry/bounds.ts'
import type { ScopeId } from '../model/scope.ts'

/** A query without a limit is cut at 100, silently. */
export const NO_LIMIT = '1000000000'

/** What the collections and channels of one data folder are called; several may share a Tile38. */
export class Tile38Keys {
  readonly #prefix: string

  /** @param storeId of the data folder */
  constructor(storeId: string) {
    this.#prefix = `ringfence:${storeId}`
  }

  /** Boxes of geofences. */
  geofences(scope: ScopeId): string {
    return `${this.#prefix}:${scope}:geofences`
  }

  geofencesState(scope: ScopeId): string {
    return `${this.#prefix}:${scope}:geofences:state`
  }

  /** The hook of a geofence. */
  hook(scope: ScopeId, geofenceId: string): string {
    return `${this.#prefix}:${scope}:hook:${geofenceId}`
  }

  /** Where devices are. */
  devices(scope: ScopeId): string {
    return `${this.#prefix}:${scope}:devices`
  }

  /** Whether the devices of all scopes are there. */
  get devicesState(): string {
    return `${this.#prefix}:devices:state`
  }

  /** The channel of a watched area; `name` differs with each. */
  watch(scope: ScopeId, name: string): string {
    return `${this.#prefix}:${scope}:watch:${name}`
  }
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
