/** How answers show lengths, times and speeds: as a number, and as a text for people. */

export type Units = 'metric' | 'imperial'

/** What the interface calls a "Distance and duration value". */
export interface Quantity {
  readonly value: number
  readonly text: string
}

const METERS_PER_FOOT = 0.3048
const METERS_PER_MILE = 1609.344
const KILOMETERS_PER_MILE = METERS_PER_MILE / 1000

/**
 * A whole number of metres or feet. The text is in kilometres or miles with one decimal: `5.6 mi`. If that would be
 * `0.0`, the text is in metres or feet.
 */
export function distanceOf(meters: number, units: Units): Quantity {
  const metric = units === 'metric'
  const value = Math.round(metric ? meters : meters / METERS_PER_FOOT)
  const long = meters / (metric ? 1000 : METERS_PER_MILE)
  if (long < 0.05) return { value, text: `${value} ${metric ? 'm' : 'ft'}` }
  return { value, text: `${long.toFixed(1)} ${metric ? 'km' : 'mi'}` }
}

/**
 * A duration. The number has minutes with one decimal. The text has whole minutes, and half a minute is rounded down:
 * 19.9 is `20 mins`, 98.5 is `1 hr 38 min`.
 */
export function durationOf(seconds: number): Quantity {
  const value = Math.round(seconds / 6) / 10
  const minutes = Math.ceil(value - 0.5)
  if (minutes < 60) return { value, text: `${minutes} ${minutes === 1 ? 'min' : 'mins'}` }
  return { value, text: `${Math.floor(minutes / 60)} hr ${minutes % 60} min` }
}

/**
 * A speed limit.
 * @param speed in kilometres per hour
 */
export function speedOf(speed: number, units: Units): Quantity {
  const value = Math.round(units === 'metric' ? speed : speed / KILOMETERS_PER_MILE)
  return { value, text: `${value} ${units === 'metric' ? 'km/h' : 'mph'}` }
}
