import type { User } from '../../../../sdk/src/types.ts'
import { circleRing, type LngLat } from '../../map/geometry.ts'
import type { Mark } from '../../map/overlay.ts'
import { recordName, userName } from '../../ui/words.ts'
import { MarkMap } from '../maps/markMap.tsx'

/** Where a user is: the disc of the accuracy, and the geofences that it is in. */
export function UserMap({ user }: { readonly user: User }) {
  const at = user.location.coordinates as unknown as LngLat
  // The map follows a device that leaves the place, and stays still while it moves within it (two decimals: about a kilometre).
  const place = at.map((degrees) => degrees.toFixed(2)).join()
  return (
    <MarkMap
      label="The user on the map"
      marks={marksOf(user, at)}
      fitKey={`${user._id} ${place}`}
      height={320}
    />
  )
}

function marksOf(user: User, at: LngLat): Mark[] {
  const marks: Mark[] = user.geofences.flatMap((fence): Mark[] =>
    fence.geometryCenter === undefined || fence.geometryRadius === undefined
      ? []
      : [
          {
            shape: 'area',
            color: 'fence',
            ring: circleRing(fence.geometryCenter.coordinates as unknown as LngLat, fence.geometryRadius),
            name: recordName(fence),
          },
        ],
  )
  if (user.locationAccuracy !== undefined)
    marks.push({ shape: 'area', color: 'device', ring: circleRing(at, user.locationAccuracy) })
  marks.push({ shape: 'point', color: 'device', at, isStrong: true, name: userName(user) })
  return marks
}
