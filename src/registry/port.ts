import type { ScopeView } from '../rules/port.ts'
import type { Beacon } from '../model/beacon.ts'
import type { Geofence, GeofenceProperties, Position, TravelMode } from '../model/geofence.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Webhook } from '../model/webhook.ts'
import type { WebhookChange, WebhookDefinition } from './webhookSchema.ts'

/** A scope as the user endpoints read it. */
export interface ScopeDirectory extends ScopeView {
  /** Undefined when absent or past `deleteAfter`. */
  geofenceByPair(tag: string, externalId: string): GeofenceProperties | undefined
  /** The whole of a geofence that is there. */
  withShape(geofence: GeofenceProperties): Geofence
  beaconByPair(tag: string, externalId: string): Beacon | undefined
}

/** The webhooks of all scopes, as what delivers to them uses them. What a change resolved to is durable. */
export interface WebhookDirectory {
  /** In the order of creation. */
  all(): readonly Webhook[]
  get(id: string): Webhook | undefined
  /** @throws ApiError 409 where the environment has no room for another */
  refuseFull(scope: ScopeId): void
  /** @throws ApiError 409 where the environment has no room for another */
  create(id: string, scope: ScopeId, definition: WebhookDefinition): Promise<Webhook>
  /** Undefined where there is none; so are those below. */
  change(id: string, change: WebhookChange): Promise<Webhook | undefined>
  /** A new secret; the one before signs beside it for a day. */
  rotate(id: string): Promise<Webhook | undefined>
  /** Whether it was there. */
  delete(id: string): Promise<boolean>
}

/** Where the areas of isochrones come from: the road networks of this server. */
export interface AreaSource {
  /** Names the network that has a place: `''` where none has, undefined while there is none at all. */
  networkAt(place: Position): string | undefined
  /**
   * From where the place is reached within so many minutes, on the network that has it: a closed ring that is one of a
   * geofence.
   * @throws {AreaRefused} where that network has no answer; {@link AreaTimedOut}; anything else is tried again
   */
  areaAround(place: Position, minutes: number, mode: TravelMode): Promise<readonly Position[]>
  /** Told when {@link networkAt} may answer otherwise. Returns what ends it. */
  onChange(listener: () => void): () => void
}

/** The network has no area for that place; the message says why. */
export class AreaRefused extends Error {
  override readonly name = 'AreaRefused'
}

/** The area took too long: for this once, or always. */
export class AreaTimedOut extends Error {
  override readonly name = 'AreaTimedOut'
}
