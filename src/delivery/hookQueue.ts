import { Slice } from '../runtime/slices.ts'

/** Positions that wait to be judged. */
const MOST_POSITIONS = 100_000
/** After this many tasks, their results are stored. */
const PIECE = 1000

/** Work with pauses: between two steps, others get a turn. */
export type Task = () => Generator<void, void>

/**
 * Work that is done in order and in slices (G7), however much of it comes at once. Positions beyond a bound are
 * dropped, and `lost` is called once the rest is done.
 */
export class HookQueue {
  readonly #store: () => Promise<void>
  readonly #failed: (error: unknown) => void
  readonly #lost: () => void
  #tasks: Task[] = []
  #waiting = 0
  #hasLost = false
  #isWorking = false

  /**
   * @param parts.store stores what was found; no more is done until it resolves
   * @param parts.failed called for each task that throws
   * @param parts.lost called after positions were dropped
   */
  constructor(parts: { store: () => Promise<void>; failed: (error: unknown) => void; lost: () => void }) {
    this.#store = parts.store
    this.#failed = parts.failed
    this.#lost = parts.lost
  }

  /** Judges a position, unless too many wait. */
  position(task: Task): void {
    if (this.#waiting >= MOST_POSITIONS) this.#hasLost = true
    else this.#push(task)
  }

  /** Resolves once everything is done and stored that was put in before, and the task. */
  done(task?: Task): Promise<void> {
    return new Promise((resolve) => {
      if (task !== undefined) this.#push(task)
      this.#push(function* () {
        yield
        resolve()
      })
    })
  }

  #push(task: Task): void {
    this.#waiting++
    this.#tasks.push(task)
    if (this.#isWorking) return
    this.#isWorking = true
    void this.#work()
  }

  async #work(): Promise<void> {
    // What is put in in this turn is done in one piece.
    await undefined
    const slice = new Slice()
    while (this.#tasks.length > 0) {
      const tasks = this.#tasks
      this.#tasks = []
      for (const [i, task] of tasks.entries()) {
        try {
          const steps = task()
          while (steps.next().done !== true) if (slice.isOver) await slice.next()
        } catch (error) {
          this.#failed(error)
        }
        this.#waiting--
        if (slice.isOver) await slice.next()
        if (i % PIECE === PIECE - 1) await this.#store()
      }
      await this.#store()
    }
    this.#isWorking = false
    if (!this.#hasLost) return
    this.#hasLost = false
    this.#lost()
  }
}
