import { call } from '../../api/call.ts'
import { environment } from '../../api/environment.ts'
import { boxAround, circleRing, metersBetween, type Box, type LngLat } from '../../map/geometry.ts'

/** How many records are enough to see where they are. */
const LOOKED_AT = 100
/** A geofence of at most this radius is shown together with a device that is at most this far from its edge. */
const NEAR_METERS = 2000

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
 * Where the records of this environment are: the devices that were seen last and the geofences near them; without devices, all
 * geofences. Undefined if there are neither, or the server does not say: then a map begins where its style does, in the imported region.
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
  const [{ users }, { geofences }] = await Promise.all([
    call('get', '/v1/users', { query }),
    call('get', '/v1/geofences', { query }),
  ])
  const seen = users.map((user) => user.location.coordinates as unknown as LngLat)
  const circles = geofences.map(({ geometryCenter, geometryRadius }) => ({
    center: geometryCenter.coordinates as unknown as LngLat,
    radius: geometryRadius,
  }))
  // One device alone would be a dot on an empty map.
  const shown = circles.filter(
    ({ center, radius }) =>
      seen.length === 0 ||
      (radius <= NEAR_METERS && seen.some((at) => metersBetween(at, center) <= radius + NEAR_METERS)),
  )
  return boxAround([...seen, ...shown.flatMap(({ center, radius }) => circleRing(center, radius))])
}
