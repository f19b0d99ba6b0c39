/** How often each call of the document was accepted and refused. */
import type { Operation } from '../e2e/contract.ts'

/** The answers to one call. */
export interface CallCount {
  /** Answered with 2xx. */
  readonly accepted: number
  readonly refused: number
  /** The commonest refusal, as `404 Trip not found.` */
  readonly commonest: string | undefined
}

interface Count {
  accepted: number
  refused: number
  readonly refusals: Map<string, number>
}

/** Different refusals of one call that are told apart. */
const MOST_REFUSALS = 200
const MOST_LETTERS = 120

export class Tally {
  readonly #statuses = new Map<number, number>()
  readonly #calls = new Map<string, Count>()

  /** Counts an answer of any kind. */
  countStatus(status: number): void {
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1)
  }

  /** Counts an answer to a call of the document. */
  count(operation: Operation, status: number, message: string): void {
    const name = nameOf(operation)
    const count = this.#calls.get(name) ?? { accepted: 0, refused: 0, refusals: new Map() }
    this.#calls.set(name, count)
    if (status < 300) {
      count.accepted++
      return
    }
    count.refused++
    const refusal = `${status} ${message.slice(0, MOST_LETTERS)}`
    if (count.refusals.has(refusal) || count.refusals.size < MOST_REFUSALS)
      count.refusals.set(refusal, (count.refusals.get(refusal) ?? 0) + 1)
  }

  isAccepted(operation: Operation): boolean {
    return (this.#calls.get(nameOf(operation))?.accepted ?? 0) > 0
  }

  get total(): number {
    return this.#statuses.values().reduce((sum, count) => sum + count, 0)
  }

  /** Answers by status. */
  get statuses(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#statuses].toSorted(([a], [b]) => a - b))
  }

  /** By `GET /v1/users`, in the order of the document. */
  calls(operations: readonly Operation[]): Readonly<Record<string, CallCount>> {
    return Object.fromEntries(
      operations.map((operation) => {
        const { accepted = 0, refused = 0, refusals } = this.#calls.get(nameOf(operation)) ?? {}
        const [commonest] = [...(refusals ?? [])].toSorted(([, a], [, b]) => b - a)
        return [nameOf(operation), { accepted, refused, commonest: commonest?.[0] }]
      }),
    )
  }
}

function nameOf({ method, path }: Operation): string {
  return `${method} ${path}`
}

/** A line for each call, and what hindered those that were never accepted. */
export function tallyText(calls: Readonly<Record<string, CallCount>>): string {
  const lines = Object.entries(calls).map(([name, { accepted, refused, commonest }]) => {
    const hindered = accepted > 0 || commonest === undefined ? '' : `  never; most often ${commonest}`
    return `${String(accepted).padStart(8)}${String(refused).padStart(9)}  ${name}${hindered}`
  })
  return ['accepted  refused  call', ...lines].join('\n')
}
