import type { Time } from '../../runtime/clock.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { MapRegions } from '../extract/port.ts'
import type { FileState } from '../placeDatabase/port.ts'

const LOOK_MS = 1000

export interface PlaceFilesParts {
  readonly regions: Pick<MapRegions, 'all'>
  /** Checks a place database. It never rejects. */
  readonly stateOf: (file: string) => Promise<FileState>
  /**
   * Called when the file of a map region in service was lost, damaged, replaced or repaired. What was read of it
   * before is then outdated.
   */
  readonly changed: () => void
  readonly time: Time
  readonly logger: Logger
}

/**
 * Checks whether the place databases of the map regions in service can be read. An import never changes a file that is
 * in service, but disks and people may.
 *
 * Owns: what is known about each file. Does not own: which map regions there are, and damage inside of a file, which
 * is noticed when that part is read (cellCache.ts).
 */
export class PlaceFiles implements Service {
  readonly name = 'place files'
  readonly #parts: PlaceFilesParts
  /** The states by the path of the file. */
  #states: ReadonlyMap<string, FileState> = new Map()
  #callOff = (): void => {}
  #isStopped = false

  constructor(parts: PlaceFilesParts) {
    this.#parts = parts
  }

  /** The map regions whose files cannot be read, and why. */
  get unreadable(): { readonly region: string; readonly problem: string }[] {
    return this.#parts.regions.all.flatMap(({ name, places }) => {
      const problem = places === undefined ? undefined : this.#states.get(places)?.problem
      return problem === undefined ? [] : [{ region: name, problem }]
    })
  }

  async start(): Promise<void> {
    await this.look()
    this.#lookLater()
  }

  stop(): void {
    this.#isStopped = true
    this.#callOff()
  }

  /** Checks all files. It never rejects. */
  async look(): Promise<void> {
    const { regions, stateOf, changed, logger } = this.#parts
    const states = new Map<string, FileState>()
    let isOutdated = false
    for (const { name, places } of regions.all) {
      if (places === undefined) continue
      const state = await stateOf(places)
      states.set(places, state)
      const before = this.#states.get(places)
      if (state.problem !== before?.problem) {
        if (state.problem === undefined) {
          if (before !== undefined) logger.info({ region: name }, 'the place database can be read again')
        } else logger.error({ region: name, problem: state.problem }, 'the place database cannot be read')
      }
      isOutdated ||= before !== undefined && before.stamp !== state.stamp
    }
    this.#states = states
    if (isOutdated) changed()
  }

  #lookLater(): void {
    if (this.#isStopped) return
    this.#callOff = this.#parts.time.after(LOOK_MS, () => void this.look().then(() => this.#lookLater()))
  }
}
