import { circleRing, lineOf, type LngLat } from '../../map/geometry.ts'
import type { Mark } from '../../map/overlay.ts'
import type { Answer } from './questions.ts'

/** What is asked and what is answered, as marks: the points of the question last, above all others. */
export function marksOf(points: readonly LngLat[], answer: Answer | undefined): Mark[] {
  const asked = points.map((at, i): Mark => ({
    shape: 'point',
    color: 'accent',
    at,
    sign: points.length > 1 ? String(i + 1) : undefined,
    isStrong: true,
  }))
  return [...(answer === undefined ? [] : answered(answer)), ...asked]
}

function answered(answer: Answer): Mark[] {
  switch (answer.kind) {
    case 'addresses':
      return answer.addresses.map(({ geometry, formattedAddress, placeLabel, addressLabel }, i) => ({
        shape: 'point',
        color: i === 0 ? 'trail' : 'line-2',
        at: geometry.coordinates as unknown as LngLat,
        name: placeLabel ?? addressLabel ?? formattedAddress,
      }))
    case 'here':
      return answer.context.geofences.map(({ geometryCenter, geometryRadius, description }) => ({
        shape: 'area',
        color: 'fence',
        ring: circleRing(geometryCenter.coordinates as unknown as LngLat, geometryRadius),
        name: description,
      }))
    case 'places':
      return answer.places.map(({ location, name }) => ({
        shape: 'point',
        color: 'trail',
        at: location.coordinates as unknown as LngLat,
        name,
      }))
    case 'routes':
      return answer.routes
        .map(({ geometry }, i): Mark => ({
          shape: 'line',
          color: i === 0 ? 'accent' : 'line-2',
          path: lineOf(geometry),
          isStrong: i === 0,
        }))
        .toReversed()
    case 'order':
      return answer.route.legs.map(({ geometry }) => ({
        shape: 'line',
        color: 'accent',
        path: lineOf(geometry),
        isStrong: true,
      }))
    case 'matched':
      return [{ shape: 'line', color: 'ok', path: lineOf(answer.matched.geometry), isStrong: true }]
    case 'reach':
      return answer.isochrone.geometry.coordinates.map((ring) => ({
        shape: 'area',
        color: 'accent',
        ring: ring as unknown as LngLat[],
      }))
    case 'matrix':
      return []
  }
}
