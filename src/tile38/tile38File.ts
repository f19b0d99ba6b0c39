import { every, type Job } from '../jobs/port.ts'
import { Tile38Unreachable, type Tile38, type Tile38Reply } from './tile38Port.ts'

const LOOK_MS = 60_000
/** Files that are smaller than this are not shrunk. */
const LEAST_BYTES = 64 * 1024 * 1024
/** The file is shrunk when it has grown by this factor since it was last shrunk. */
const GROWTH = 2

/**
 * The job that has Tile38 shrink its append-only file. Every position that is written makes the file grow, although
 * it replaces the one before: a device that moves every second adds 29 MB a day. Tile38 shrinks it only on request.
 */
export class Tile38File implements Job {
  readonly name = 'tile38'
  readonly isShared = true
  readonly dueAt = every(LOOK_MS)
  readonly #tile38: Tile38
  readonly #leastBytes: number
  /** The size of the file after the last shrinking, or when the present one was requested; 0 before the first. */
  #shrunkBytes = 0

  constructor(tile38: Tile38, leastBytes = LEAST_BYTES) {
    this.#tile38 = tile38
    this.#leastBytes = leastBytes
  }

  isAble(): boolean {
    return this.#tile38.isConnected
  }

  async run(): Promise<void> {
    try {
      const [role] = await this.#tile38.send([['ROLE']])
      // A leader answers with its role, the size of its file, and its followers. Without a file, the size is 0.
      const bytes = Number((role as readonly Tile38Reply[])[1])
      if (bytes < this.#shrunkBytes) this.#shrunkBytes = bytes
      if (bytes < Math.max(this.#leastBytes, GROWTH * this.#shrunkBytes)) return
      this.#shrunkBytes = bytes
      await this.#tile38.send([['AOFSHRINK']])
    } catch (error) {
      // The connection reports this, and the next run tries again.
      if (!(error instanceof Tile38Unreachable)) throw error
    }
  }
}
