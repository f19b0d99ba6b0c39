import { every, type Job } from '../jobs/port.ts'
import type { EventIndex } from '../events/port.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { Slice } from '../runtime/slices.ts'
import type { ActorHost } from './host.ts'
import { REMOVAL, type Removal } from './removal.ts'

const CHECKPOINT_EVERY_MS = 5000
const PACK_EVERY_MS = 60_000
const RETENTION_EVERY_MS = 3_600_000
const DAY_MS = 86_400_000
/**
 * How many users are removed without a pause. A year's worth of old users must not delay today's updates, and a removal takes
 * some ten microseconds, without its reports to trips.
 */
const REMOVALS_AT_ONCE = 100
/** How many rows are looked at before others may have their turn. Each may have to be packed, in some five microseconds. */
const ROWS_A_LOOK = 64

export interface HousekeepingParts {
  /** Returns the present hosts. */
  readonly hosts: () => readonly ActorHost[]
  /** The event index. Undefined if another process removes old events. */
  readonly events: Pick<EventIndex, 'prune'> | undefined
  /** Takes the snapshots that are due. */
  readonly checkpoint: () => void
  readonly clock: Clock
  readonly logger: Pick<Logger, 'info'>
  /** Devices that were silent for this long are packed. */
  readonly idleMinutes: number
  /** Days since the server received the last update of a user, after which the record is removed. */
  readonly usersDays: number
  /** Days since the server made an event, after which it is removed. */
  readonly eventsDays: number
}

/** The jobs of each process with partitions or events: snapshots, packing of idle devices, retention. */
export function housekeepingJobs(parts: HousekeepingParts): Job[] {
  const own = { isShared: false } as const
  return [
    {
      ...own,
      name: 'snapshots',
      dueAt: every(CHECKPOINT_EVERY_MS),
      run: async () => parts.checkpoint(),
    },
    {
      ...own,
      name: 'packing',
      dueAt: every(PACK_EVERY_MS),
      run: (signal) => packIdle(parts, signal),
    },
    {
      ...own,
      name: 'retention',
      dueAt: every(RETENTION_EVERY_MS),
      run: (signal) => enforceRetention(parts, signal),
    },
  ]
}

/** Packs idle devices in slices, so that updates come in between. */
async function packIdle(
  { hosts, clock, idleMinutes }: HousekeepingParts,
  signal: AbortSignal,
): Promise<void> {
  const before = clock.now() - idleMinutes * 60_000
  const slice = new Slice()
  for (const { table } of hosts().flatMap((host) => host.partitions)) {
    for (let from = 0; from < table.length; from += ROWS_A_LOOK) {
      if (signal.aborted) return
      table.packIdle(before, from, from + ROWS_A_LOOK)
      if (slice.isOver) await slice.next()
    }
  }
}

/** Removes users and events after their retention. */
async function enforceRetention(parts: HousekeepingParts, signal: AbortSignal): Promise<void> {
  const { events, clock, logger, usersDays, eventsDays } = parts
  const prunedEvents =
    events === undefined ? 0 : await pruneEvents(events, clock.now() - eventsDays * DAY_MS, signal)
  let prunedUsers = 0
  for (const host of parts.hosts())
    prunedUsers += await pruneUsers(host, clock.now() - usersDays * DAY_MS, signal)
  if (prunedEvents + prunedUsers > 0)
    logger.info({ events: prunedEvents, users: prunedUsers }, 'retention: removed old events and users')
}

async function pruneEvents(
  events: Pick<EventIndex, 'prune'>,
  before: number,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0
  while (!signal.aborted) {
    const some = await events.prune(before)
    if (some === 0) break
    removed += some
  }
  return removed
}

async function pruneUsers(host: ActorHost, before: number, signal: AbortSignal): Promise<number> {
  let removed = 0
  const slice = new Slice()
  for (const partition of host.partitions) {
    const { table } = partition
    const old: Removal[] = []
    const remove = async (): Promise<void> => {
      const work = old.splice(0).map((removal) => host.executeIn(partition, REMOVAL, removal, 0))
      removed += (await Promise.all(work)).filter(Boolean).length
    }
    for (let row = 0; row < table.length && !signal.aborted; row++) {
      if (row % ROWS_A_LOOK === 0 && slice.isOver) {
        // An update may come in the next turn, and its user is not old then.
        await remove()
        await slice.next()
      }
      if (!table.exists(row) || table.receivedAt(row) >= before) continue
      old.push({ scope: table.scope(row), recordId: table.peek(row).id })
      if (old.length === REMOVALS_AT_ONCE) await remove()
    }
    await remove()
  }
  return removed
}
