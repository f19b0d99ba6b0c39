import { evaluatedAccuracy } from '../geometry/confidence.ts'
import type { Settings } from '../model/settings.ts'
import type { Update } from '../model/update.ts'
import type { ZoneOffsets } from '../model/zoneOffsets.ts'

/** What every evaluator needs to know about an update. */
export interface Circumstances {
  /** The time t of the update, in epoch milliseconds. */
  readonly time: number
  /** The server time, in epoch milliseconds. */
  readonly receivedAt: number
  /** In metres, at most 50 km; 0 if the update came without an accuracy. */
  readonly accuracy: number
  /** False if the update came without an accuracy. Every confidence is 1 then. */
  readonly accuracyKnown: boolean
  readonly userId: string | undefined
  readonly ip: string
  readonly stopped: boolean
  readonly foreground: boolean
  readonly settings: Settings
  /** For operating hours. */
  readonly zones: ZoneOffsets
}

/** The circumstances of an update. They are the same whenever it is evaluated. */
export function circumstancesOf(
  update: Update,
  time: number,
  { settings, zones }: Pick<Circumstances, 'settings' | 'zones'>,
): Circumstances {
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
    zones,
  }
}

/** Whether the update moves the device but touches no geofence. */
export function isTooInaccurate(update: Update, settings: Settings): boolean {
  const { maxAccuracyMeters } = settings
  return maxAccuracyMeters !== null && update.accuracy !== undefined && update.accuracy > maxAccuracyMeters
}
