import { stat } from 'node:fs/promises'
import type { Clock } from '../../runtime/clock.ts'
import { failureFields, systemReason } from '../../runtime/errors.ts'
import type { Logger } from '../../runtime/logger.ts'
import { tileBounds, type TileAddress } from '../mapFile/grid.ts'
import { checkInstalled, TILE_FILE_PACKAGES } from './packages.ts'
import { versionOf, type TileFileFacts } from './tileFile.ts'

/** How often files are checked while somebody asks for tiles. */
const LOOK_MS = 30_000
/** How many zooms beyond its largest one a file is shown. Most files end at 14 or 15, and our tiles at 16. */
const ENLARGED_ZOOMS = 2

interface Looked {
  /** The version; undefined if there is no file. */
  readonly version: string | undefined
  /** What is known about it, or why it is not shown. */
  readonly facts: TileFileFacts | string
}

/** The PMTiles files that the operator brings, in the order of precedence. */
export class TileFiles {
  readonly #paths: readonly string[]
  readonly #facts: (path: string) => Promise<TileFileFacts>
  readonly #clock: Clock
  readonly #logger: Logger
  #looked: readonly Looked[] = []
  #lookedAt = 0
  #looking: Promise<void> | undefined
  #changed = (): void => {}

  /**
   * Reads nothing yet.
   * @param parts.facts checks a file, in a thread
   */
  constructor(parts: {
    readonly paths: readonly string[]
    readonly facts: (path: string) => Promise<TileFileFacts>
    readonly clock: Clock
    readonly logger: Logger
  }) {
    this.#paths = parts.paths
    this.#facts = parts.facts
    this.#clock = parts.clock
    this.#logger = parts.logger
  }

  /** The files that can be read. */
  get shown(): readonly TileFileFacts[] {
    return this.#looked.map(({ facts }) => facts).filter((facts) => typeof facts !== 'string')
  }

  /** A text for /readyz, which anybody may ask for, so it contains no paths of files. */
  get condition(): string {
    if (this.#paths.length === 0) return 'none'
    const wrong = this.#looked.flatMap(({ facts }, i) =>
      typeof facts === 'string' ? [`file ${i + 1} of mapFiles ${facts}`] : [],
    )
    return wrong.length === 0 ? `${this.#paths.length} in use` : `${wrong.join('; ')}; it is not shown`
  }

  /**
   * Registers a listener.
   * @param changed called after each change of {@link shown}
   */
  onChange(changed: () => void): void {
    this.#changed = changed
  }

  /**
   * Reads all files.
   * @throws Error naming the first file that cannot be read, and why
   */
  async start(): Promise<void> {
    if (this.#paths.length > 0) checkInstalled(TILE_FILE_PACKAGES)
    await this.look()
    for (const [i, { facts }] of this.#looked.entries())
      if (typeof facts === 'string') throw new Error(`the option mapFiles: ${this.#paths[i]} ${facts}`)
  }

  /**
   * The files that may have the tile, in the order of precedence. Files that have changed are noticed some time later.
   */
  around(address: TileAddress): readonly TileFileFacts[] {
    if (this.#paths.length > 0 && this.#clock.now() - this.#lookedAt >= LOOK_MS) void this.look()
    const [west, south, east, north] = tileBounds(address)
    return this.shown.filter(({ minZoom, maxZoom, bounds }) => {
      const isInZooms = address.z >= minZoom && address.z <= maxZoom + ENLARGED_ZOOMS
      return isInZooms && bounds[0] < east && bounds[2] > west && bounds[1] < north && bounds[3] > south
    })
  }

  /** Checks all files now. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  async #look(): Promise<void> {
    this.#lookedAt = this.#clock.now()
    const before = this.#looked
    this.#looked = await Promise.all(this.#paths.map((path, i) => this.#lookAt(path, before[i])))
    if (this.#looked.some((looked, i) => looked !== before[i])) this.#changed()
  }

  async #lookAt(path: string, before: Looked | undefined): Promise<Looked> {
    let version: string | undefined
    try {
      version = versionOf(await stat(path))
      if (before !== undefined && before.version === version) return before
      const facts = await this.#facts(path)
      if (before !== undefined)
        this.#logger.info({ file: path }, 'a file of the option mapFiles is read again')
      return { version: facts.version, facts }
    } catch (error) {
      const reason = reasonOf(error)
      if (before?.version === version && before?.facts === reason) return before
      // At the start, the caller reports it.
      if (before !== undefined)
        this.#logger.warn(
          { ...failureFields(error), file: path },
          'a file of the option mapFiles is not shown',
        )
      return { version, facts: reason }
    }
  }
}

/**
 * The reason as the continuation of a sentence about the file. Errors of threads have this form already; others are
 * errors of the system.
 */
function reasonOf(error: unknown): string {
  const isOfSystem = (error as NodeJS.ErrnoException).syscall !== undefined
  return isOfSystem ? `cannot be read: ${systemReason(error)}` : (error as Error).message
}
