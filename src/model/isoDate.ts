/**
 * Epoch milliseconds as ISO 8601 UTC with milliseconds, `2026-11-20T04:21:00.123Z`: the form in all answers and
 * events, which native clients require. Equal to `Date.prototype.toISOString`, which is called once per second of
 * time.
 */
export function isoDate(time: number): string {
  const second = Math.floor(time / 1000)
  if (second !== lastSecond) {
    lastPrefix = new Date(second * 1000).toISOString().slice(0, -4)
    lastSecond = second
  }
  return lastPrefix + ENDINGS[Math.floor(time) - second * 1000]!
}

/** The endings from `000Z` to `999Z`. */
const ENDINGS = Array.from({ length: 1000 }, (_, millisecond) => `${String(millisecond).padStart(3, '0')}Z`)

let lastSecond = NaN
let lastPrefix = ''
