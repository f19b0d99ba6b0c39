import type { AnswerOf } from '../../../../sdk/src/types.ts'
import { circleRing, type LngLat } from '../../map/geometry.ts'
import type { Mark } from '../../map/overlay.ts'
import type { Tone } from '../../ui/parts.tsx'

export type Trip = AnswerOf<'/v1/trips/{id}', 'get'>['trip']
export type Leg = NonNullable<Trip['legs']>[number]

export const ACTIVE = ['pending', 'started', 'approaching', 'arrived'] as const
export const STATUSES = [...ACTIVE, 'completed', 'canceled', 'expired'] as const

export const TRIP_TONES: Readonly<Record<string, Tone>> = {
  pending: undefined,
  started: 'accent',
  approaching: 'warn',
  arrived: 'ok',
  completed: 'ok',
  canceled: 'bad',
  expired: 'bad',
}

export function isActive({ status }: Pick<Trip, 'status'>): boolean {
  return (ACTIVE as readonly string[]).includes(status)
}

/** Minutes as text, such as `18 min` or `2 h 5 min`. */
export function minutesText(minutes: number): string {
  const whole = Math.round(minutes)
  if (whole < 60) return `${whole} min`
  return `${Math.floor(whole / 60)} h ${whole % 60} min`
}

/** Where a trip leads to, for people. */
export function destinationName(
  trip: Pick<Trip, 'destinationGeofenceTag' | 'destinationGeofenceExternalId'>,
): string {
  const { destinationGeofenceTag: tag, destinationGeofenceExternalId: externalId } = trip
  return tag === undefined ? '' : `${tag}/${externalId}`
}

/** The destination of a leg, as people read it. */
export function legName(leg: Leg): string {
  if (leg.destinationGeofenceTag !== undefined)
    return `${leg.destinationGeofenceTag}/${leg.destinationGeofenceExternalId}`
  const { data } = leg.destination.source
  if (typeof data === 'string') return data
  return Array.isArray(data) ? `${data[0]?.toFixed(5)}, ${data[1]?.toFixed(5)}` : 'geofence'
}

/** A trip on the map: its trail, the way that it took if it has ended, where it is, and where it leads to. */
export function tripMarks(trip: Trip, destination?: readonly LngLat[], way?: readonly LngLat[]): Mark[] {
  const path = trip.locations.map(({ coordinates }) => coordinates as unknown as LngLat)
  const last = path.at(-1)
  const marks: Mark[] = []
  if (destination !== undefined)
    marks.push({ shape: 'area', color: 'fence', ring: destination, name: destinationName(trip) })
  const end = trip.destinationLocation?.coordinates as unknown as LngLat | undefined
  if (path.length > 1)
    marks.push({ shape: 'line', color: 'trail', path, isStrong: way === undefined, id: trip._id })
  if (way !== undefined) marks.push({ shape: 'line', color: 'ok', path: way, isStrong: true })
  if (last !== undefined && end !== undefined && isActive(trip) && trip.status !== 'arrived')
    marks.push({ shape: 'line', color: 'line-2', path: [last, end], isDashed: true })
  const legs = trip.legs ?? []
  legs.forEach((leg, i) => {
    const at = leg.destination.location?.coordinates as unknown as LngLat | undefined
    if (at === undefined) return
    const { arrivalRadius } = leg.destination
    if (arrivalRadius !== undefined)
      marks.push({ shape: 'area', color: 'fence', ring: circleRing(at, arrivalRadius) })
    const isDone = leg.status === 'completed' || leg.status === 'canceled'
    marks.push({
      shape: 'point',
      color: isDone ? 'line-2' : 'fence',
      at,
      sign: String(i + 1),
      name: legName(leg),
    })
  })
  if (end !== undefined && legs.length === 0 && destination === undefined)
    marks.push({ shape: 'point', color: 'fence', at: end, name: destinationName(trip), id: trip._id })
  if (path.length > 1) marks.push({ shape: 'point', color: 'line-2', at: path[0]!, name: 'start' })
  if (last !== undefined)
    marks.push({
      shape: 'point',
      color: 'device',
      at: last,
      isStrong: true,
      name: trip.externalId,
      id: trip._id,
    })
  return marks
}
