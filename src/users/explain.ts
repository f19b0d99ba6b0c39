import type { Partition } from '../actor/partition.ts'
import { FLAG_FOREGROUND, FLAG_REPLAYED, FLAG_SETTLED, FLAG_STOPPED } from '../actor/deviceFlags.ts'
import { stateBefore } from '../actor/profile.ts'
import { publicSettings } from '../model/settings.ts'
import type { Update } from '../model/update.ts'
import { Unfetched } from '../rules/atlas.ts'
import { circumstancesOf } from '../rules/circumstances.ts'
import { createEvaluators, explain } from '../rules/evaluators.ts'
import type { ScopeView } from '../rules/port.ts'

/**
 * Why the last update of a user made events, or did not: every candidate geofence with its distance, coverage,
 * confidence and eligibility, and the sentence that follows from them.
 *
 * It is the engine's decision, made again for the stays before that update. Geofences and settings are the present
 * ones. If one has changed since then, the explanation says so.
 * @returns {@link Unfetched} if the atlas must fetch something first
 */
export function explainUser(partition: Partition, row: number, view: ScopeView) {
  const { table } = partition
  const profile = table.peek(row)
  const flags = table.flags(row)
  const accuracy = table.accuracy(row)
  const update: Update = {
    scope: table.scope(row),
    deviceId: profile.deviceId,
    userId: profile.userId,
    latitude: table.latitude(row),
    longitude: table.longitude(row),
    accuracy: Number.isNaN(accuracy) ? undefined : accuracy,
    foreground: (flags & FLAG_FOREGROUND) !== 0,
    stopped: (flags & FLAG_STOPPED) !== 0,
    replayed: (flags & FLAG_REPLAYED) !== 0,
    receivedAt: table.receivedAt(row),
    ip: profile.ip,
  }
  const time = table.updatedAt(row)
  const now = circumstancesOf(update, time, view)
  const before = stateBefore(profile, (flags & FLAG_SETTLED) !== 0)
  const explanation = explain(createEvaluators(), before, { update, view, now })
  if (explanation instanceof Unfetched) return explanation
  return {
    update: {
      time: new Date(time).toISOString(),
      receivedAt: new Date(update.receivedAt).toISOString(),
      latitude: update.latitude,
      longitude: update.longitude,
      accuracy: update.accuracy,
      userId: update.userId,
      ip: update.ip,
      foreground: update.foreground,
      stopped: update.stopped,
      replayed: update.replayed,
    },
    settings: publicSettings(view.settings),
    ...explanation,
  }
}
