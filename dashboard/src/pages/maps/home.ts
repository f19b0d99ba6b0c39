import { call } from '../../api/call.ts'
import { boxAround, circleRing, type Box, type LngLat } from '../../map/geometry.ts'

/** How many records are enough to see where they are. */
const LOOKED_AT = 100

/**
 * Where the records of this environment are: the devices that were seen last; without any, the geofences. Undefined if there
 * are neither, or the server does not say: then a map begins where its style does, in the imported region.
 */
export async function homeBox(): Promise<Box | undefined> {
  const query = { limit: LOOKED_AT }
  // Both at once, because nothing is seen before.
  const [seen, fences] = await Promise.all([
    call('get', '/v1/users', { query }).then(
      ({ users }) => users.map((user) => user.location.coordinates as unknown as LngLat),
      () => [],
    ),
    call('get', '/v1/geofences', { query }).then(
      ({ geofences }) =>
        geofences.flatMap(({ geometryCenter, geometryRadius }) =>
          circleRing(geometryCenter.coordinates as unknown as LngLat, geometryRadius),
        ),
      () => [],
    ),
  ])
  return boxAround(seen.length > 0 ? seen : fences)
}
