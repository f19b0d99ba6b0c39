import { queueOptionsSymbol, type Piscina } from 'piscina'

type Queue = NonNullable<NonNullable<ConstructorParameters<typeof Piscina>[0]>['taskQueue']>
type Waiting = Parameters<Queue['push']>[0]

/** How long a task lets shorter ones go first, as a multiple of the time that it will take itself. */
const PATIENCE = 10

/** When a task is due, in milliseconds of the clock of {@link performance.now}. */
interface Due {
  readonly dueMs: number
}

/**
 * The tasks that wait for a thread of a pool, short ones before long ones. A task is due ten times its own time after it
 * came, and the one that is due first is done first. So a task of 1 ms does not wait for one of 40 ms that came just
 * before, but no task waits for ever: one that comes later than another is due does not go before it.
 */
export class ShortFirstQueue implements Queue {
  readonly #waiting: Waiting[] = []

  get size(): number {
    return this.#waiting.length
  }

  push(task: Waiting): void {
    const due = dueOf(task)
    let [low, high] = [0, this.#waiting.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (dueOf(this.#waiting[middle]!) <= due) low = middle + 1
      else high = middle
    }
    this.#waiting.splice(low, 0, task)
  }

  shift(): Waiting | null {
    return this.#waiting.shift() ?? null
  }

  remove(task: Waiting): void {
    const index = this.#waiting.indexOf(task)
    if (index >= 0) this.#waiting.splice(index, 1)
  }
}

/**
 * A task for a pool with a {@link ShortFirstQueue}.
 * @param tookMs how long it will probably take
 */
export function withEstimate<Task extends object>(task: Task, tookMs: number): Task {
  const due: Due = { dueMs: performance.now() + PATIENCE * tookMs }
  // Its name is a symbol, so it is not sent to the thread.
  return { ...task, [queueOptionsSymbol]: due }
}

/** A task without an estimate is due at once. */
function dueOf(task: Waiting): number {
  return (task[queueOptionsSymbol] as Due | null)?.dueMs ?? 0
}
