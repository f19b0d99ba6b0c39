import { failureFields } from '../runtime/errors.ts'
import type { EventIndex } from '../events/port.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Service } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import type { ActorHost } from './host.ts'
import { REMOVAL } from './removal.ts'

const CHECKPOINT_EVERY_MS = 5000
const PACK_EVERY_MS = 60_000
const RETENTION_EVERY_MS = 3_600_000
const DAY_MS = 86_400_000
/** Removals without a pause: a year's worth of old users must not delay today's. */
const REMOVALS_AT_ONCE = 1000

export interface HousekeepingParts {
  /** The present hosts. */
  readonly hosts: () => readonly ActorHost[]
  /** Undefined if another process removes them. */
  readonly events: Pick<EventIndex, 'prune'> | undefined
  readonly checkpointer: {
    /** Takes the snapshots that are due. */
    tick(): void
    /** Waits for running ones. */
    stop(): Promise<void>
  }
  readonly clock: Clock
  readonly logger: Logger
  /** Devices that were silent for this long are packed. */
  readonly idleMinutes: number
  /** Days since the server received the last update of a user, after which the record is removed. */
  readonly usersDays: number
  /** Days since the server made an event, after which it is removed. */
  readonly eventsDays: number
}

/** Regular work: snapshots, packing of idle devices, retention. */
export class Housekeeping implements Service {
  readonly name = 'housekeeping'
  private readonly parts: HousekeepingParts
  private readonly timers: NodeJS.Timeout[] = []
  private stopped = false

  constructor(parts: HousekeepingParts) {
    this.parts = parts
  }

  start(): void {
    this.timers.push(
      setInterval(() => this.parts.checkpointer.tick(), CHECKPOINT_EVERY_MS),
      setInterval(() => this.packIdle(), PACK_EVERY_MS),
      setInterval(() => void this.enforceRetention(), RETENTION_EVERY_MS),
    )
    void this.enforceRetention()
  }

  async stop(): Promise<void> {
    this.stopped = true
    for (const timer of this.timers) clearInterval(timer)
    await this.parts.checkpointer.stop()
  }

  /** Packs one partition after another, so that updates come in between. */
  private packIdle(): void {
    const { hosts, clock, idleMinutes } = this.parts
    const before = clock.now() - idleMinutes * 60_000
    const partitions = hosts().flatMap((host) => host.partitions)
    let next = 0
    const packOne = () => {
      if (this.stopped || next === partitions.length) return
      partitions[next++]!.table.packIdle(before)
      setImmediate(packOne)
    }
    packOne()
  }

  /** Removes users and events after their retention. */
  async enforceRetention(): Promise<void> {
    const { events, clock, logger, usersDays, eventsDays } = this.parts
    try {
      const prunedEvents = (await events?.prune(clock.now() - eventsDays * DAY_MS)) ?? 0
      let prunedUsers = 0
      for (const host of this.parts.hosts())
        prunedUsers += await this.pruneUsers(host, clock.now() - usersDays * DAY_MS)
      if (prunedEvents + prunedUsers > 0)
        logger.info({ events: prunedEvents, users: prunedUsers }, 'retention: removed old events and users')
    } catch (error) {
      if (!this.stopped) logger.error(failureFields(error), 'retention failed; retrying')
    }
  }

  private async pruneUsers(host: ActorHost, before: number): Promise<number> {
    let removed = 0
    for (const partition of host.partitions) {
      const { table } = partition
      let removals: Promise<boolean>[] = []
      for (let row = 0; row < table.length && !this.stopped; row++) {
        if (!table.exists(row) || table.receivedAt(row) >= before) continue
        const removal = { scope: table.scope(row), recordId: table.peek(row).id }
        removals.push(host.executeIn(partition, REMOVAL, removal, 0))
        if (removals.length < REMOVALS_AT_ONCE) continue
        removed += (await Promise.all(removals)).filter(Boolean).length
        removals = []
      }
      removed += (await Promise.all(removals)).filter(Boolean).length
    }
    return removed
  }
}
