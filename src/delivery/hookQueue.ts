import { Slice } from '../runtime/slices.ts'

/** How many positions may wait to be judged. */
const MOST_POSITIONS = 100_000
/** After this many tasks, their results are stored. */
const PIECE = 1000

/** Work with pauses: between two steps, others get a turn. */
export type Task = () => Generator<void, void>

/**
 * Does work in order and in slices (G7), however much of it comes at once. Positions beyond a bound are dropped; once
 * the rest is done, `lost` is called.
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
   * Creates an empty queue.
   * @param parts.store stores what was found; no more work is done until it resolves
   * @param parts.failed called for each task that throws
   * @param parts.lost called after positions were dropped
   */
  constructor(parts: { store: () => Promise<void>; failed: (error: unknown) => void; lost: () => void }) {
    this.#store = parts.store
    this.#failed = parts.failed
    this.#lost = parts.lost
  }

  /** Queues the judgement of a position, unless too many wait. */
  position(task: Task): void {
    if (this.#waiting >= MOST_POSITIONS) this.#hasLost = true
    else this.#push(task)
  }

  /** Queues a task, and resolves once it and everything before it is done and stored. */
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
    // Everything that is queued in this turn is done together.
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
