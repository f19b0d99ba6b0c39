import { projectOf, type ScopeId } from '../../model/scope.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ApiError } from '../../runtime/errors.ts'
import type { RegistryDatabase } from '../store/database.ts'
import type { EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import { SharedUsage, type UsageSums } from './sharedUsage.ts'

/** How often counts are stored. A crash can lose the counts of this time. */
const FLUSH_MS = 5000

/** A project as the operator sees it. */
export interface ProjectStatus {
  readonly id: number
  readonly name: string
  /** In epoch milliseconds. */
  readonly createdAt: number
  readonly disabled: boolean
  /** How many requests a month may have; null means no limit. */
  readonly quota: number | null
  /** The requests of the current UTC month in both environments together. */
  readonly requests: number
}

/** The requests of one project in one UTC month. */
export interface MonthlyUsage {
  /** The month, such as `2026-11`. */
  readonly month: string
  readonly requests: number
}

interface ProjectRow {
  readonly id: number
  readonly name: string
  readonly createdAt: number
  readonly disabled: number
  readonly quota: number | null
}

/**
 * Which projects may make requests, and how many they made: the operator disables a project or gives it a monthly
 * quota. A project that is disabled or over its quota is answered 402.
 *
 * Owns: the columns `disabled` and `quota` of projects, the table `usage`. Does not own: who is counted, and when.
 *
 * Invariants
 * - PROJECTS-1: {@link Projects.take} reads and writes two numbers in memory. Counts are written to disk every five
 *   seconds and at the end. A process that is killed loses the latest counts, and a loss of power loses what the system
 *   had not written yet, in the project's favour.
 * - PROJECTS-2: Where several processes count, a quota is held to the sum of all counts of the last five seconds'
 *   exchange.
 * - PROJECTS-3: What the operator sets is durable when the call returns and holds from the next request on.
 */
export class Projects {
  readonly #database: RegistryDatabase
  readonly #edits: EditLog
  readonly #clock: Clock
  readonly #onFailure: (error: unknown) => void
  /** How many requests a month may have, by project; -1 for a disabled project, undefined for one without a limit. */
  readonly #bounds: (number | undefined)[] = []
  /** The requests of this month, by project. */
  #requests: number[] = []
  /** Projects whose count has changed since it was stored. */
  readonly #changed = new Set<number>()
  /** The current month, as epoch milliseconds of its beginning and its end. */
  #monthStart = 0
  #monthEnd = 0
  readonly #timer: NodeJS.Timeout
  readonly #shared: SharedUsage | undefined

  /**
   * Starts with the stored counts.
   * @param onFailure called when counts could not be stored; another attempt follows
   * @param sums present if other processes count, too
   */
  constructor(
    replica: RegistryReplica,
    edits: EditLog,
    clock: Clock,
    onFailure: (error: unknown) => void,
    sums?: UsageSums,
  ) {
    this.#shared = sums && new SharedUsage(sums)
    this.#database = replica.database
    this.#edits = edits
    this.#clock = clock
    this.#onFailure = onFailure
    for (const row of this.#rows()) this.#bound(row)
    replica.keep<ProjectRow, ProjectRow>('projects', {
      recordOf: (row) => row,
      put: (row) => this.#bound(row),
      remove: (key) => void (this.#bounds[Number(key)] = undefined),
    })
    this.#turnMonth(clock.now())
    this.#timer = setInterval(() => void this.exchange(), FLUSH_MS)
    void this.exchange()
    this.#timer.unref()
  }

  /**
   * Counts one request of a scope's project.
   * @param now epoch milliseconds
   * @throws ApiError 402 if the project is disabled or has used up its quota; it is not counted then
   */
  take(scope: ScopeId, now: number): void {
    if (now >= this.#monthEnd || now < this.#monthStart) this.#turnMonth(now)
    const project = projectOf(scope)
    const requests = this.#requests[project] ?? 0
    const bound = this.#bounds[project]
    if (bound !== undefined && requests >= bound) throw this.#refusal(bound)
    this.#requests[project] = requests + 1
    this.#changed.add(project)
  }

  /** Takes back a request that was counted and then refused for another reason. */
  giveBack(scope: ScopeId): void {
    const project = projectOf(scope)
    const requests = this.#requests[project] ?? 0
    // A new month may have begun in between.
    if (requests === 0) return
    this.#requests[project] = requests - 1
    this.#changed.add(project)
  }

  list(): ProjectStatus[] {
    if (this.#clock.now() >= this.#monthEnd) this.#turnMonth(this.#clock.now())
    return this.#rows().map(({ id, name, createdAt, disabled, quota }) => ({
      id,
      name,
      createdAt,
      disabled: disabled !== 0,
      quota,
      requests: this.#requests[id] ?? 0,
    }))
  }

  /** Returns whether there is such a project. */
  setDisabled(project: number, disabled: boolean): boolean {
    return this.#change(project, { disabled: disabled ? 1 : 0 })
  }

  /**
   * Sets a quota.
   * @param quota requests per month, a whole number ≥ 0; null means no limit
   * @returns whether there is such a project
   */
  setQuota(project: number, quota: number | null): boolean {
    if (quota !== null && !(Number.isSafeInteger(quota) && quota >= 0)) {
      throw new RangeError(`A quota is a whole number of requests, not ${quota}.`)
    }
    return this.#change(project, { quota })
  }

  /** The months in which a project made requests, newest first. */
  usage(project: number): MonthlyUsage[] {
    this.flush()
    return this.#database
      .prepare('SELECT month, requests FROM usage WHERE project = ? ORDER BY month DESC')
      .all(project) as MonthlyUsage[]
  }

  /** Stores the counts. */
  flush(): void {
    if (this.#changed.size === 0) return
    const counts = [...this.#changed].map((project) => [project, this.#requests[project] ?? 0])
    // The write is not flushed to the disk, because that would delay all requests for a number.
    const synchronous = this.#database.prepare('PRAGMA synchronous').pluck().get() as number
    this.#database.prepare('PRAGMA synchronous = NORMAL').run()
    try {
      this.#database
        .prepare(
          `INSERT INTO usage (project, month, requests)
           SELECT value ->> 0, ?, value ->> 1 FROM json_each(?) WHERE true
           ON CONFLICT (project, month) DO UPDATE SET requests = excluded.requests`,
        )
        .run(monthName(this.#monthStart), JSON.stringify(counts))
    } finally {
      this.#database.prepare(`PRAGMA synchronous = ${synchronous}`).run()
    }
    this.#changed.clear()
  }

  /** Stores the counts. If other processes count too, adds them to theirs and theirs to these. Never rejects. */
  async exchange(): Promise<void> {
    if (this.#clock.now() >= this.#monthEnd) this.#turnMonth(this.#clock.now())
    this.#tryFlush()
    if (this.#shared === undefined) return
    try {
      for (const project of await this.#shared.exchange(this.#requests)) this.#changed.add(project)
    } catch (error) {
      this.#onFailure(error)
    }
  }

  /** Stores the counts, and stops counting. */
  close(): void {
    clearInterval(this.#timer)
    this.#tryFlush()
  }

  #change(project: number, change: Partial<ProjectRow>): boolean {
    const before = this.#rows().find(({ id }) => id === project)
    if (before === undefined) return false
    const row = { ...before, ...change }
    this.#edits.commit([{ kind: 'projects', key: `${project}`, row, record: row }])
    return true
  }

  #rows(): ProjectRow[] {
    return this.#database.read(() =>
      this.#database.prepare('SELECT id, name, createdAt, disabled, quota FROM projects ORDER BY id').all(),
    ) as ProjectRow[]
  }

  #bound({ id, disabled, quota }: ProjectRow): void {
    this.#bounds[id] = disabled !== 0 ? -1 : (quota ?? undefined)
  }

  #refusal(bound: number): ApiError {
    if (bound < 0) return new ApiError(402, 'Payment required: the project is disabled.')
    const day = new Date(this.#monthEnd).toISOString().slice(0, 10)
    return new ApiError(
      402,
      `Payment required: the monthly quota of ${bound} requests is used up; it starts again on ${day}.`,
    )
  }

  /** Switches the count to the month of `now`. If a clock is set back, it finds the old month again. */
  #turnMonth(now: number): void {
    this.#tryFlush()
    this.#changed.clear()
    const date = new Date(now)
    this.#monthStart = Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
    this.#monthEnd = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
    const rows = this.#database
      .prepare('SELECT project, requests FROM usage WHERE month = ?')
      .all(monthName(this.#monthStart)) as { project: number; requests: number }[]
    const before = this.#requests
    this.#requests = []
    for (const { project, requests } of rows) this.#requests[project] = requests
    this.#shared?.begin(monthName(this.#monthStart), this.#requests, before)
  }

  #tryFlush(): void {
    try {
      this.flush()
    } catch (error) {
      this.#onFailure(error)
    }
  }
}

function monthName(start: number): string {
  return new Date(start).toISOString().slice(0, 7)
}
