import type { Attempt, Delivery, AttemptOutcome } from './webhookPort.ts'
import { KEPT_ATTEMPTS } from './webhookPort.ts'

/** Decides what follows from an attempt. The code is pure, so that a day of failures is tested in a millisecond. */

/** The first retry comes within this time, the next one within twice as much, and so on up to the longest pause. */
const FIRST_RETRY_MS = 1000
export const LONGEST_RETRY_MS = 3_600_000

/** The circumstances of an attempt. */
export interface RetryContext {
  /** The end of the attempt, epoch milliseconds. */
  readonly now: number
  /** Since when every attempt at the endpoint has failed; absent if the previous one succeeded. */
  readonly failingSince: number | undefined
  /** When the endpoint's last pause ended, it was enabled again, or got another address. */
  readonly resumedAt: number | undefined
  /** How long a delivery is tried, milliseconds. */
  readonly retryMs: number
  /** A random number from 0 to below 1. */
  readonly random: number
}

/** The delivery after an attempt, and whether the endpoint must be paused. */
export interface Conclusion {
  readonly delivery: Delivery
  readonly pauseReason?: string | undefined
}

/**
 * Exponential backoff with full jitter (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/);
 * the last attempt is made when the time is up. A delivery is only given up while others succeed. If every attempt
 * failed for that long, the endpoint is at fault: it is paused, and the delivery stays pending.
 */
export function conclude(before: Delivery, outcome: AttemptOutcome, context: RetryContext): Conclusion {
  const { now, failingSince, resumedAt = 0, retryMs } = context
  const { at, latency, status, error, body } = outcome
  const attempt: Attempt = {
    at,
    latency,
    ...(status !== undefined && { status }),
    ...(error !== undefined && { error }),
  }
  const triedSince = before.triedSince ?? at
  const tried: Delivery = {
    ...before,
    attempts: [...before.attempts, attempt].slice(-KEPT_ATTEMPTS),
    attemptCount: before.attemptCount + 1,
    lastBody: body,
    triedSince,
    nextAttemptAt: undefined,
  }
  if (error === undefined) return { delivery: { ...tried, status: 'delivered' } }

  const failures = before.failures + 1
  const failed: Delivery = { ...tried, failures }
  if (status === 410) return { delivery: failed, pauseReason: 'The endpoint responded with 410 Gone.' }
  const failingFor = now - (failingSince ?? at)
  if (failingFor >= retryMs) {
    const pauseReason = `Every attempt failed for ${durationText(failingFor)}; the last one: ${error}.`
    return { delivery: failed, pauseReason }
  }
  const end = Math.max(triedSince, resumedAt) + retryMs
  if (now >= end) return { delivery: { ...failed, status: 'failed' } }
  const ceiling = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1))
  const delay = Math.ceil(context.random * ceiling)
  return { delivery: { ...failed, nextAttemptAt: Math.min(now + delay, end) } }
}

function durationText(milliseconds: number): string {
  const hours = milliseconds / 3_600_000
  return hours >= 1 ? `${Math.floor(hours)} h` : `${Math.round(milliseconds / 1000)} s`
}
