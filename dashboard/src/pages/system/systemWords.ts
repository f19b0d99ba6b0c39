import { countText } from '../../ui/words.ts'

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** A number of bytes as text, such as `512 MB` or `3.2 GB`. */
export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0]
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000
    unit++
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`
}

/** A metric's value as text; its unit follows from the end of the name. */
export function metricText(name: string, value: number): string {
  if (name.endsWith('_bytes')) return bytesText(value)
  if (name.endsWith('_seconds'))
    return value < 10 ? `${(value * 1000).toFixed(1)} ms` : `${countText(value)} s`
  return countText(value)
}
