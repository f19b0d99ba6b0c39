import { failureFields } from '../runtime/errors.ts'
import type { EventIndex } from '../events/port.ts'
import type { CommitLog, SnapshotStore } from '../log/port.ts'
import type { RegistryView } from '../rules/port.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { ActorHost } from './host.ts'
import { snapshotOf } from './recovery.ts'

interface CheckpointParts {
  readonly host: ActorHost
  readonly log: CommitLog
  readonly snapshots: SnapshotStore
  readonly events: EventIndex
  readonly registry: RegistryView
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * Keeps the log short: after enough was written, it takes a snapshot of each partition in turn, and trims the log to
 * what the older snapshots and the event index still need.
 */
export class Checkpointer {
  readonly #parts: CheckpointParts
  readonly #everyBytes: number
  #lastBytes: number
  #running: Promise<void> | undefined
  /** The number of users that need the log and the snapshots to stay unchanged. */
  #holds = 0

  /**
   * Creates a checkpointer that has nothing to do yet.
   * @param everyBytes how many bytes of commits lie between two rounds
   */
  constructor(parts: CheckpointParts, everyBytes: number) {
    this.#parts = parts
    this.#everyBytes = everyBytes
    this.#lastBytes = parts.host.counters.frameBytes
  }

  /** Starts a round if one is due; to be called every few seconds. */
  tick(): void {
    const { frameBytes } = this.#parts.host.counters
    if (this.#running !== undefined || this.#holds > 0 || frameBytes - this.#lastBytes < this.#everyBytes)
      return
    this.#lastBytes = frameBytes
    this.#running = this.round()
      .catch((error) =>
        this.#parts.logger.error(failureFields(error), 'snapshot failed; the log still has everything'),
      )
      .finally(() => (this.#running = undefined))
  }

  /** Snapshots every partition and trims the log. */
  async round(): Promise<void> {
    const { host, log, snapshots, events, registry, clock, logger } = this.#parts
    const started = clock.now()
    let bytes = 0
    // Frames without events are never added to the index. The index must learn the offset anyway, or it would keep the
    // log from being trimmed.
    await host.read(() => events.add(log.offset, []))
    for (const partition of host.partitions) {
      const snapshot = await host.read(() => ({
        offset: log.offset,
        bytes: snapshotOf(partition, registry.revision, clock.now()),
      }))
      bytes += snapshot.bytes.length
      await snapshots.write(partition.number, snapshot)
    }
    const needed = host.partitions.map((partition) => snapshots.trimOffset(partition.number))
    log.trim(Math.min(events.durableLogOffset + 1, ...needed))
    logger.info({ bytes, milliseconds: clock.now() - started }, 'snapshots written')
  }

  /**
   * Waits for a running round; none begins until the returned function is called. Until then no snapshot is added or
   * removed, and the log only grows, so that their files can be copied.
   */
  async hold(): Promise<() => void> {
    this.#holds++
    await this.#running
    return () => void this.#holds--
  }

  /** Waits for a running round. */
  async stop(): Promise<void> {
    await this.#running
  }
}
