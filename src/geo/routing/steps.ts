import type { TravelMode } from '../../model/geofence.ts'
import { latLonOf } from './answerSchemas.ts'
import { writePoints, writeShape, type GeometryForm } from './geometryForm.ts'
import { decodePolyline, type LonLatPoint } from './polyline.ts'
import type { OsrmLeg, OsrmRoute, OsrmStep } from './valhallaJson.ts'
import { distanceOf, durationOf, type Units } from './units.ts'

/**
 * Makes directions in the interface's form from the engine's answer in OSRM's form, which contains everything that
 * they need.
 */

export interface Wording {
  readonly mode: TravelMode
  readonly units: Units
  readonly form: GeometryForm
}

export function routeAnswer(route: OsrmRoute, wording: Wording) {
  return {
    duration: durationOf(route.duration),
    distance: distanceOf(route.distance, wording.units),
    geometry: writeShape(route.geometry, wording.form),
    legs: route.legs.map((leg) => legAnswer(leg, wording)),
  }
}

function legAnswer(leg: OsrmLeg, wording: Wording) {
  const ways = leg.steps.map((step) => decodePolyline(step.geometry, 6))
  const way = joined(ways)
  return {
    startLocation: latLonOf(way[0]!),
    endLocation: latLonOf(way.at(-1)!),
    duration: durationOf(leg.duration),
    distance: distanceOf(leg.distance, wording.units),
    geometry: writePoints(way, wording.form),
    steps: leg.steps.map((step, i) => stepAnswer(step, ways[i]!, wording)),
  }
}

function stepAnswer(step: OsrmStep, way: readonly LonLatPoint[], { mode, units, form }: Wording) {
  const { maneuver } = step
  const exit = exitName(step)
  return {
    distance: distanceOf(step.distance, units),
    duration: durationOf(step.duration),
    start_location: latLonOf(way[0]!),
    end_location: latLonOf(way.at(-1)!),
    bearing_before: maneuver.bearing_before,
    bearing_after: maneuver.bearing_after,
    instructions: maneuver.instruction ?? '',
    banner_instructions: step.bannerInstructions ?? [],
    voice_instructions: step.voiceInstructions ?? [],
    geometry: writeShape(step.geometry, form),
    mode: step.mode === 'ferry' ? 'ferry' : mode,
    manuever: maneuverName(maneuver),
    // Many motorways only have a number.
    street_name: step.name || (step.ref ?? ''),
    ...(exit !== undefined && { exit_name: exit }),
  }
}

/** The steps of a leg as one way. Each step begins where the previous one ended. */
function joined(ways: readonly (readonly LonLatPoint[])[]): LonLatPoint[] {
  const points: LonLatPoint[] = []
  for (const way of ways) {
    for (const point of way) {
      const last = points.at(-1)
      if (last === undefined || last[0] !== point[0] || last[1] !== point[1]) points.push(point)
    }
  }
  return points
}

/** The text on an exit's sign: its number, or else where it leads. */
function exitName({ maneuver, exits, destinations }: OsrmStep): string | undefined {
  return maneuver.type === 'off ramp' ? (exits ?? destinations) : undefined
}

/**
 * The interface's word for a maneuver: `start`, `left`, `stay-right`, `ramp-left`, `exit-right`, `destination-left`,
 * ….
 * @param modifier OSRM's word: `left`, `slight right`, `uturn`, …
 */
export function maneuverName({
  type,
  modifier,
}: {
  readonly type: string
  readonly modifier?: string
}): string {
  // A ramp or fork always leaves the road slightly, so only the side matters.
  const side = modifier?.replace(/^(?:slight|sharp) /, '')
  const withSide = (word: string) => (side === undefined ? word : `${word}-${side}`)
  switch (type) {
    case 'depart':
      return 'start'
    case 'arrive':
      return withSide('destination')
    case 'on ramp':
      return withSide('ramp')
    case 'off ramp':
      return withSide('exit')
    case 'fork':
      return withSide('stay')
    case 'merge':
      return withSide('merge')
    case 'roundabout':
    case 'rotary':
      return 'roundabout'
    case 'exit roundabout':
    case 'exit rotary':
      return 'roundabout-exit'
    default:
      return modifier === undefined || modifier === 'straight' ? 'continue' : modifier.replace(' ', '-')
  }
}
