import { evaluatedAccuracy } from '../geometry/confidence.ts'
import { Probe } from '../geometry/probe.ts'
import type { Update } from '../model/update.ts'
import type { ScopeView } from '../rules/port.ts'
import { badParam } from '../runtime/errors.ts'

/**
 * The largest number of geofence evaluations of one replay: 1,000 updates in 100 geofences, or 120, which an SDK
 * buffers, in 800. Each may make an event, and takes some microseconds.
 */
export const MAX_MEETINGS = 100_000

const probe = new Probe()

/**
 * Bounds the work of one replay before any of it is done. A single update is always accepted.
 * @param updates of one scope, in the order in which they are applied
 * @throws ApiError 400 that says how many of them may be sent at a time
 */
export function checkReplay(updates: readonly Update[], { index, settings }: ScopeView): void {
  const slots: number[] = []
  let meetings = 0
  for (let i = 0; i < updates.length; i++) {
    const { latitude, longitude, accuracy } = updates[i]!
    const reach = settings.bufferEntries ? evaluatedAccuracy(accuracy) : 0
    slots.length = 0
    index.candidates(probe.set(latitude, longitude), reach, slots)
    meetings += slots.length
    if (meetings <= MAX_MEETINGS || i === 0) continue
    const sentence =
      `The first ${i + 1} of the ${updates.length} updates meet geofences ${meetings} times in all. ` +
      `At most ${MAX_MEETINGS} are allowed in one request. Send at most ${i} of them at a time.`
    throw badParam('replays', sentence)
  }
}
