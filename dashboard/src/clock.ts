import { signal } from '@preact/signals'

/** A smaller difference is ignored, because answers say the time in whole seconds and take a while to arrive. */
const LEAST_LEAD_MS = 30_000

/**
 * How far the clock of this computer is ahead of the server's, in milliseconds; 0 if they agree. All times of records are
 * the server's.
 */
export const clockLead = signal(0)

/** The time by the server's clock, in epoch milliseconds. */
export function serverNow(): number {
  return Date.now() - clockLead.peek()
}

/**
 * Compares the clocks.
 * @param date the header `Date` of an answer that has just come
 */
export function compareClocks(date: string | null): void {
  const server = Date.parse(date ?? '')
  if (Number.isNaN(server)) return
  const lead = Date.now() - server
  // It stays the same number while the difference does, so that nothing is drawn anew.
  if (Math.abs(lead - clockLead.peek()) > LEAST_LEAD_MS)
    clockLead.value = Math.abs(lead) > LEAST_LEAD_MS ? lead : 0
}
