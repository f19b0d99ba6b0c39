import type { Credentials } from '../http/credentials.ts'
import type { ScopeId } from '../model/scope.ts'
import { ApiError } from '../runtime/errors.ts'
import { BeaconExists } from './beaconRegistry.ts'
import { GeofenceExists } from './registry.ts'

/** What the handlers of geofences and beacons share. */

/** The scope of a call to a route that needs a key. */
export function scopeOf(call: { readonly credentials: Credentials | undefined }): ScopeId {
  return call.credentials!.scope
}

/** The edit, throwing ApiError 409 where the pair is another record's. */
export function refusingTaken<T>(edit: () => T): () => T {
  return () => {
    try {
      return edit()
    } catch (error) {
      if (!(error instanceof GeofenceExists || error instanceof BeaconExists)) throw error
      throw new ApiError(409, error.message, { param: 'externalId', cause: error })
    }
  }
}
