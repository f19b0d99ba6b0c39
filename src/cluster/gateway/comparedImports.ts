/**
 * Compares the map regions that the processes of the distributed engine have imported. Each process answers from its
 * own, so a difference means that an answer depends on the process that gives it.
 *
 * Each process asks all of them from time to time, including itself. An answer that is lost is missing until the next
 * time.
 */
import type { Time } from '../../runtime/clock.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Calls, OpenCall, Served } from '../nats/calls.ts'
import { importsSubject } from '../nats/subjects.ts'

const ROUND_MS = 5000
/** How many processes are compared. The answers of further ones are not kept. */
const MOST_PROCESSES = 1000
const QUESTION = new Uint8Array()

/** What a process has imported. */
interface Statement {
  /** Identifies the run of the process. */
  readonly process: string
  /** The roles of the process and where it runs, for the log. */
  readonly place: string
  /** Names of map regions, each with its sources. */
  readonly imports: readonly string[]
}

/** A process with other map regions than this one. */
export interface OtherImports {
  readonly place: string
  readonly lacks: readonly string[]
  readonly hasBesides: readonly string[]
}

export interface ComparedImportsParts {
  readonly calls: Calls
  readonly time: Time
  readonly process: string
  readonly place: string
  readonly imports: () => readonly string[]
  /** Called when the differences have changed; empty if there are none any more. */
  readonly differ: (others: readonly OtherImports[]) => void
}

export class ComparedImports implements Service {
  readonly name = 'imports'
  readonly #parts: ComparedImportsParts
  #served: Served | undefined
  #round: OpenCall | undefined
  #heard = new Map<string, Statement>()
  /** The statements of the last complete round. */
  #others: readonly Statement[] = []
  #told = '[]'
  #callOff = (): void => {}

  constructor(parts: ComparedImportsParts) {
    this.#parts = parts
  }

  start(): void {
    const { calls } = this.#parts
    this.#served = calls.serve(importsSubject, (_, answer) =>
      answer(Buffer.from(JSON.stringify(this.#statement()))),
    )
    this.#ask()
  }

  async stop(): Promise<void> {
    this.#callOff()
    this.#round?.end()
    await this.#served?.stop()
  }

  /** A text for everybody: what this process has imported, and whether others have the same. */
  get condition(): string {
    const own = this.#parts.imports().join(', ') || 'none'
    const uneven = [
      ...new Set(this.#differences().flatMap(({ lacks, hasBesides }) => [...lacks, ...hasBesides])),
    ]
    if (uneven.length > 0)
      return `${own}; warning: not the same in all processes: ${uneven.sort().join(', ')}; the log says in which`
    const count = this.#others.length
    return count === 0 ? own : `${own}; the same in ${count} other ${count === 1 ? 'process' : 'processes'}`
  }

  #ask(): void {
    const { calls, time } = this.#parts
    const heard = new Map<string, Statement>()
    this.#heard = heard
    this.#round = calls.askAll(importsSubject, (bytes) => {
      const statement = statementOf(bytes)
      if (statement !== undefined && heard.size < MOST_PROCESSES) heard.set(statement.process, statement)
    })
    this.#round.send(QUESTION)
    this.#callOff = time.after(ROUND_MS, () => {
      this.#round?.end()
      this.#compare()
      this.#ask()
    })
  }

  #compare(): void {
    this.#others = [...this.#heard.values()].filter(({ process }) => process !== this.#parts.process)
    const differences = this.#differences()
    const text = JSON.stringify(differences)
    if (text === this.#told) return
    this.#told = text
    this.#parts.differ(differences)
  }

  #differences(): OtherImports[] {
    const own = this.#parts.imports()
    return this.#others
      .map(({ place, imports }) => ({
        place,
        lacks: own.filter((one) => !imports.includes(one)),
        hasBesides: imports.filter((one) => !own.includes(one)),
      }))
      .filter(({ lacks, hasBesides }) => lacks.length + hasBesides.length > 0)
      .sort((a, b) => (a.place < b.place ? -1 : 1))
  }

  #statement(): Statement {
    const { process, place, imports } = this.#parts
    return { process, place, imports: imports() }
  }
}

/** Reads a statement. Undefined if it is not one, because another version may send something else. */
function statementOf(bytes: Uint8Array): Statement | undefined {
  let value: Partial<Statement> | null
  try {
    value = JSON.parse(Buffer.from(bytes).toString()) as Partial<Statement> | null
  } catch {
    return undefined
  }
  const { process, place, imports } = value ?? {}
  if (typeof process !== 'string' || typeof place !== 'string' || !Array.isArray(imports)) return undefined
  return { process, place, imports: imports.filter((one) => typeof one === 'string') }
}
