/**
 * Epoch milliseconds as ISO 8601 UTC with milliseconds, `2026-11-20T04:21:00.123Z`: the form in all answers and
 * events, which native clients require. Equal to `Date.prototype.toISOString`, which is called only for a second of
 * time that was not written lately: a record has several dates, and others have the same.
 */
export function isoDate(time: number): string {
  const second = Math.floor(time / 1000)
  const slot = second & (SECONDS - 1)
  if (second !== seconds[slot]) {
    prefixes[slot] = new Date(second * 1000).toISOString().slice(0, -4)
    seconds[slot] = second
  }
  return prefixes[slot]! + ENDINGS[Math.floor(time) - second * 1000]!
}

/** The endings from `000Z` to `999Z`. */
const ENDINGS = Array.from({ length: 1000 }, (_, millisecond) => `${String(millisecond).padStart(3, '0')}Z`)

/** How many seconds are kept; a power of two. */
const SECONDS = 64
const seconds = new Float64Array(SECONDS).fill(NaN)
/** The beginnings of their dates. */
const prefixes: string[] = Array.from({ length: SECONDS }, () => '')
