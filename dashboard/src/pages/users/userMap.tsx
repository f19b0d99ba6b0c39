import type { Geofence, User } from '../../../../sdk/src/types.ts'
import { call, CallFailure } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { circleRing, type LngLat } from '../../map/geometry.ts'
import type { Mark } from '../../map/overlay.ts'
import { recordName, userName } from '../../ui/words.ts'
import { MarkMap } from '../maps/markMap.tsx'

/** Geofences whose outlines are asked for; somebody in more of them sees the circles alone. */
const MOST_OUTLINES = 20

type Inside = User['geofences'][number]
type Outlines = ReadonlyMap<string, readonly LngLat[]>

/** Where a user is: the disc of the accuracy, and the geofences that it is in. */
export function UserMap({ user }: { readonly user: User }) {
  const at = user.location.coordinates as unknown as LngLat
  // The map follows a device that leaves the place, and stays still while it moves within it (two decimals: about a kilometre).
  const place = at.map((degrees) => degrees.toFixed(2)).join()
  return (
    <MarkMap
      label="The user on the map"
      marks={marksOf(user, at, useOutlines(user.geofences))}
      fitKey={`${user._id} ${place}`}
      height={320}
    />
  )
}

/** The outlines of what is no circle, which users do not have in them. */
function useOutlines(inside: readonly Inside[]): Outlines {
  const ids = inside
    .filter(({ type }) => type !== 'circle')
    .map(({ _id }) => _id)
    .slice(0, MOST_OUTLINES)
  const { data } = useQuery(`outlines ${ids.join()}`, async (signal) => {
    const found = await Promise.all(ids.map((id) => outlineOf(id, signal)))
    return new Map(ids.flatMap((id, i) => (found[i] === undefined ? [] : [[id, found[i]] as const])))
  })
  return data ?? new Map()
}

/** The outline of a geofence; undefined if it was deleted, or has no area yet. */
async function outlineOf(id: string, signal: AbortSignal): Promise<readonly LngLat[] | undefined> {
  try {
    const { geofence } = await call('get', '/v1/geofences/{id}', { params: { id }, signal })
    return (geofence as Geofence).geometry?.coordinates[0] as LngLat[] | undefined
  } catch (error) {
    if (error instanceof CallFailure && error.status === 404) return undefined
    throw error
  }
}

function marksOf(user: User, at: LngLat, outlines: Outlines): Mark[] {
  const marks: Mark[] = user.geofences.flatMap((fence): Mark[] => {
    const { type, geometryCenter, geometryRadius } = fence
    const ring =
      type === 'circle'
        ? circleRing(geometryCenter.coordinates as unknown as LngLat, geometryRadius)
        : outlines.get(fence._id)
    return ring === undefined ? [] : [{ shape: 'area', color: 'fence', ring, name: recordName(fence) }]
  })
  if (user.locationAccuracy !== undefined)
    marks.push({ shape: 'area', color: 'device', ring: circleRing(at, user.locationAccuracy) })
  marks.push({ shape: 'point', color: 'device', at, isStrong: true, name: userName(user) })
  return marks
}
