import { isActive, type Geofence } from '../model/geofence.ts'
import { isLive, projectOf, type ScopeId } from '../model/scope.ts'
import { numberText, type Tile38Keys } from './tile38Texts.ts'
import type { Tile38Command } from './tile38Port.ts'

/** A hook that nobody renews ends after this time. */
const HOOK_SECONDS = 600
/** How often hooks are renewed. */
export const RENEW_HOOKS_MS = (HOOK_SECONDS / 2) * 1000

/**
 * The geofences with `hooks: true` in their metadata, and the commands that make Tile38 tell NATS when a device
 * enters or leaves them. These are raw notifications by Tile38's geometry, without the rules of events.
 *
 * One hook for every geofence does not scale: Tile38 checks all hooks near a device at each of its moves. So only
 * marked geofences have one, and only for `enter` and `exit`; a hook without `DETECT` is checked for every device
 * anywhere.
 */
export class Tile38Hooks {
  readonly #keys: Tile38Keys
  readonly #url: string
  readonly #marked = new Map<string, Geofence>()

  /** @param url `nats://HOST:PORT` as reachable from Tile38; the empty text: there are no hooks */
  constructor(keys: Tile38Keys, url: string) {
    this.#keys = keys
    this.#url = url
  }

  /** The commands for a change of a geofence; undefined: it was removed. */
  changed(scope: ScopeId, id: string, geofence: Geofence | undefined): Tile38Command[] {
    if (geofence?.metadata?.hooks === true && isActive(geofence) && this.#url !== '') {
      this.#marked.set(id, geofence)
      return [this.#setting(geofence)]
    }
    return this.#marked.delete(id) ? [['DELHOOK', this.#keys.hook(scope, id)]] : []
  }

  get areWanted(): boolean {
    return this.#url !== ''
  }

  /** Whether the hook of that name belongs to a marked geofence. */
  has(scope: ScopeId, name: string): boolean {
    return this.#marked.has(name.slice(this.#keys.hook(scope, '').length))
  }

  /** All geofences of a scope will be reported again. */
  forget(scope: ScopeId): void {
    for (const [id, geofence] of this.#marked) if (geofence.scope === scope) this.#marked.delete(id)
  }

  /** The commands that renew all hooks. */
  renewals(): Tile38Command[] {
    return [...this.#marked.values()].map((geofence) => this.#setting(geofence))
  }

  #setting({ scope, id, shape }: Geofence): Tile38Command {
    const subject = `geofences.${projectOf(scope)}.${isLive(scope) ? 'live' : 'test'}.${id}`
    const area =
      shape.kind === 'circle'
        ? ['CIRCLE', numberText(shape.center[1]), numberText(shape.center[0]), numberText(shape.radius)]
        : ['OBJECT', JSON.stringify({ type: 'Polygon', coordinates: [shape.ring] })]
    return [
      'SETHOOK',
      this.#keys.hook(scope, id),
      `${this.#url}/${subject}`,
      'EX',
      `${HOOK_SECONDS}`,
      'INTERSECTS',
      this.#keys.devices(scope),
      'FENCE',
      'DETECT',
      'enter,exit',
      ...area,
    ]
  }
}
