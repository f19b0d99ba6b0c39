import { KeyedBound, type KeyedLimits } from '../runtime/keyedBound.ts'

const MIB = 1024 * 1024

/**
 * How many characters of events may be kept for replays and frames that are not answered yet. One replay may have half
 * of what a key may have; see `MAX_EVENT_CHARACTERS`.
 */
const BOUNDS: KeyedLimits = { connection: 64 * MIB, key: 64 * MIB, all: 128 * MIB }

/**
 * The memory for the events of replays, and of frames of streams whose clients want them, until all of their updates
 * are applied (G7). Updates are applied whether there is room or not: events without room are left out of the answer,
 * which counts them, and are in the event log.
 */
export function waitingEventsBound(): KeyedBound {
  return new KeyedBound('Events of updates', BOUNDS)
}
