import type { Settings } from '../model/settings.ts'
import { NO_STATE, type DeviceState } from './deviceState.ts'
import type { Evaluator } from './evaluator.ts'
import type { DeviceRows } from './port.ts'
import type { ZonesLeft } from './safeZone.ts'

/**
 * The evaluators of a partition, and which of them an update needs.
 *
 * The obvious way asks every evaluator at every update. But most environments use geofences alone, and asking six
 * evaluators of different classes takes longer than finding out that nothing changes for any geofence.
 *
 * Invariants
 * - SET-1: An evaluator that the settings turn off is not run for a device that has no state besides geofences and
 *   beacons. It would change nothing.
 */
export class EvaluatorSet {
  readonly #all: readonly Evaluator[]
  readonly #counting: readonly Evaluator[]
  readonly #remembering: readonly Evaluator[]
  /** The evaluators that are on, by the settings, which an edit replaces. */
  readonly #on = new WeakMap<Settings, readonly Evaluator[]>()
  /** Those of the last update, whose settings are mostly those of the next one, too. */
  #last: { readonly settings: Settings; readonly on: readonly Evaluator[] } | undefined

  constructor(evaluators: readonly Evaluator[]) {
    this.#all = evaluators
    this.#counting = evaluators.filter((evaluator) => evaluator.meetings !== undefined)
    this.#remembering = evaluators.filter((evaluator) => evaluator.remember !== undefined)
  }

  /** The evaluators that an update of a device in this state must be evaluated with. */
  neededFor({ regions, fraud, places }: DeviceState, settings: Settings): readonly Evaluator[] {
    const hasMore = regions !== NO_STATE.regions || fraud !== NO_STATE.fraud || places !== NO_STATE.places
    if (hasMore) return this.#all
    if (this.#last?.settings === settings) return this.#last.on
    let on = this.#on.get(settings)
    if (on === undefined) {
      on = this.#all.filter((evaluator) => evaluator.isOff?.(settings) !== true)
      this.#on.set(settings, on)
    }
    this.#last = { settings, on }
    return on
  }

  /**
   * How many geofences the last update was compared with.
   * @param left what was left of the device's zones, within which no evaluator was run
   */
  meetings(left: ZonesLeft | undefined): number {
    let meetings = 0
    for (const evaluator of this.#counting)
      if (left?.[evaluator.zone] === undefined) meetings += evaluator.meetings!
    return meetings
  }

  /** Stores what the evaluators of the last update know for the next one; see {@link Evaluator.remember}. */
  remember(rows: DeviceRows, row: number, after: DeviceState, left: ZonesLeft | undefined): void {
    for (const evaluator of this.#remembering)
      if (left?.[evaluator.zone] === undefined) evaluator.remember!(rows, row, after)
  }
}
