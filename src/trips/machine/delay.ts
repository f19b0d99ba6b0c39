import { isEnded, type Trip } from '../../model/trip.ts'
import { oneDecimal, stopsAhead } from './eta.ts'

/** By how much a trip is late. */
export interface Delay {
  readonly delayed: boolean
  /** In minutes, with one decimal. */
  readonly scheduledArrivalTimeDelay: number
}

/**
 * The delay of a trip with a schedule and an ETA; undefined without them.
 * @param now the prediction for a running trip is not before this time; −Infinity for the moment of the last update
 * @param threshold in minutes; null means that it is never delayed
 */
export function delayOf(trip: Trip, now: number, threshold: number | null): Delay | undefined {
  const { scheduledArrivalAt, eta } = trip
  if (scheduledArrivalAt === undefined || eta === undefined) return undefined
  const minutes = Math.max(0, (predictedArrival(trip, eta.duration, now) - scheduledArrivalAt) / 60_000)
  return {
    delayed: threshold !== null && minutes > threshold,
    scheduledArrivalTimeDelay: oneDecimal(minutes),
  }
}

/** In epoch milliseconds. */
function predictedArrival(trip: Trip, minutes: number, now: number): number {
  const { status, arrivedAt, movedAt = -Infinity } = trip
  if (arrivedAt !== undefined && (isEnded(status) || stopsAhead(trip).length === 0)) return arrivedAt
  const predicted = movedAt + minutes * 60_000
  return isEnded(status) ? predicted : Math.max(now, predicted)
}
