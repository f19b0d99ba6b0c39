import { evaluatedAccuracy } from '../geometry/confidence.ts'
import type { Settings } from '../model/settings.ts'
import type { Update } from '../model/update.ts'

/** What one update is to every evaluator alike. */
export interface Circumstances {
  /** Time t of the update, epoch milliseconds. */
  readonly time: number
  /** Server time, epoch milliseconds. */
  readonly receivedAt: number
  /** Metres, at most 50 km; 0 when the update came without one. */
  readonly accuracy: number
  /** False when the update came without accuracy: then every confidence is 1. */
  readonly accuracyKnown: boolean
  readonly userId: string | undefined
  readonly ip: string
  readonly stopped: boolean
  readonly foreground: boolean
  readonly settings: Settings
}

/** What the update is to every evaluator; the same on every evaluation of it. */
export function circumstancesOf(update: Update, time: number, settings: Settings): Circumstances {
  return {
    time,
    receivedAt: update.receivedAt,
    accuracy: evaluatedAccuracy(update.accuracy),
    accuracyKnown: update.accuracy !== undefined,
    userId: update.userId,
    ip: update.ip,
    stopped: update.stopped,
    foreground: update.foreground,
    settings,
  }
}

/** Whether the update moves the device but touches no geofence. */
export function isTooInaccurate(update: Update, settings: Settings): boolean {
  const { maxAccuracyMeters } = settings
  return maxAccuracyMeters !== null && update.accuracy !== undefined && update.accuracy > maxAccuracyMeters
}
