/**
 * Preloaded into a process (`--import`). Ends it as `kill -9` does when an update on its way to its trips comes to a
 * point for the END_AFTER-th time: END_AT is the name of the point, see {@link POINTS}.
 */
import { FEED_ACK } from '../../src/actor/feedAck.ts'
import { FeedTable } from '../../src/actor/feedTable.ts'
import { ActorHost } from '../../src/actor/host.ts'
import type { CommandKind } from '../../src/actor/command.ts'
import { RoadWays } from '../../src/geo/routing/roadWays.ts'
import { TripDirectory } from '../../src/registry/trips/tripDirectory.ts'
import { TripDispatcher } from '../../src/trips/tripDispatcher.ts'
import { TripService } from '../../src/trips/tripService.ts'
import { TRIP_MOVE } from '../../src/trips/tripMove.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- methods of every shape
type Method = (...args: any[]) => any

let left = Number(process.env['END_AFTER'] ?? 1)

function end(): void {
  if (--left === 0) process.kill(process.pid, 'SIGKILL')
}

/** Replaces a method by one that calls it. */
function wrap<Name extends string>(
  of: { [name in Name]: Method },
  name: Name,
  around: (call: () => unknown, args: readonly unknown[]) => unknown,
): void {
  const method = of[name] as Method
  Object.defineProperty(of, name, {
    value(this: unknown, ...args: unknown[]) {
      return around(() => method.apply(this, args), args)
    },
  })
}

const before = (call: () => unknown): unknown => {
  end()
  return call()
}
const after = async (call: () => unknown): Promise<unknown> => {
  const result = await call()
  end()
  return result
}
const afterCommand = (name: string) =>
  wrap(ActorHost.prototype, 'executeIn', (call, [, kind]) =>
    (kind as CommandKind).name === name ? after(call) : call(),
  )
/** It is applied, and its commit is not written yet. */
const applied = (kind: { apply: Method }) =>
  wrap(kind, 'apply', (call) => {
    const result = call()
    end()
    return result
  })

/** The points of the table in the page on trips, in the order in which an update comes to them. */
const POINTS: Readonly<Record<string, () => void>> = {
  'the update is not committed': () => wrap(FeedTable.prototype, 'put', before),
  'the row is not sent': () =>
    wrap(TripDispatcher.prototype, 'committed', (call, [partitions]) => {
      const hasRows = (partitions as readonly { feed: FeedTable }[]).some(({ feed }) => feed.hasFresh)
      return hasRows ? before(call) : call()
    }),
  'the way is asked for': () => wrap(RoadWays.prototype, 'measure', before),
  'the way is measured': () => wrap(RoadWays.prototype, 'measure', after),
  'the trip is not committed': () => applied(TRIP_MOVE),
  'the trip is committed, and the answer lost': () => afterCommand('trip.move'),
  'the device has not noted it': () => applied(FEED_ACK),
  'the device has noted it': () => afterCommand('feed.ack'),
  'the name is reserved, and the trip not made': () => {
    let isReserving = false
    wrap(TripDirectory.prototype, 'reserve', (call) => {
      isReserving = true
      return call()
    })
    wrap(TripDirectory.prototype, 'edit', (call) => {
      const edited = call() as Promise<unknown>
      return edited.then((result) => {
        if (isReserving) end()
        return result
      })
    })
  },
  'PATCH is committed, and the answer lost': () => wrap(TripService.prototype, 'patch', after),
}

const point = POINTS[process.env['END_AT'] ?? '']
if (point === undefined) throw new Error(`END_AT: one of ${Object.keys(POINTS).join('; ')}`)
point()
