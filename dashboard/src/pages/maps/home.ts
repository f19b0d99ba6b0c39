import { call } from '../../api/call.ts'
import { environment } from '../../api/environment.ts'
import { boxAround, circleRing, type Box, type LngLat } from '../../map/geometry.ts'

/** How many records are enough to see where they are. */
const LOOKED_AT = 100

/** What was asked for before the first map. */
let early: { readonly environment: string; readonly box: Promise<Box | undefined> } | undefined

/** Asks where the records are, while the code of the first map is still being loaded. */
export function preloadHome(): void {
  if (early?.environment === environment.peek()) return
  const box = lookForHome()
  early = { environment: environment.peek(), box }
  // Nobody may be waiting for it.
  box.catch(() => {})
}

/**
 * Where the records of this environment are: the devices that were seen last; without any, the geofences. Undefined if there
 * are neither, or the server does not say: then a map begins where its style does, in the imported region.
 */
export async function homeBox(): Promise<Box | undefined> {
  const asked = early
  early = undefined
  try {
    if (asked?.environment === environment.peek()) return await asked.box
  } catch {
    // It may have been refused because nobody had signed in yet.
  }
  try {
    return await lookForHome()
  } catch {
    return undefined
  }
}

async function lookForHome(): Promise<Box | undefined> {
  const query = { limit: LOOKED_AT }
  const { users } = await call('get', '/v1/users', { query })
  const seen = boxAround(users.map((user) => user.location.coordinates as unknown as LngLat))
  if (seen !== undefined) return seen
  const { geofences } = await call('get', '/v1/geofences', { query })
  return boxAround(
    geofences.flatMap(({ geometryCenter, geometryRadius }) =>
      circleRing(geometryCenter.coordinates as unknown as LngLat, geometryRadius),
    ),
  )
}
