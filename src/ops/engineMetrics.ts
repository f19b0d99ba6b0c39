import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { ActorHost } from '../actor/host.ts'
import type { EventIndex } from '../events/port.ts'
import type { CommitLog } from '../log/port.ts'
import type { RegistryView } from '../registry/port.ts'
import type { ByteBound } from '../runtime/byteBound.ts'
import type { Metrics } from './metrics.ts'

/** What an operator watches of the engine. */
export function registerEngineMetrics(
  metrics: Metrics,
  parts: {
    readonly host: ActorHost
    readonly log: CommitLog
    readonly registry: RegistryView
    readonly mailbox: ByteBound
    readonly events: EventIndex
    readonly server: {
      readonly inFlight: number
      readonly heldBytes: number
      readonly unreadBytes: number
      readonly connections: number
      readonly refusedConnections: number
    }
    readonly streams: {
      readonly connections: number
      readonly counters: {
        readonly frames: number
        readonly updates: number
        readonly refused: number
        readonly busy: number
        readonly inFlight: number
      }
      readonly closedByCode: ReadonlyMap<number, number>
    }
    /** Of server-sent events. */
    readonly eventReaders: { readonly readers: number }
    readonly subscriptions: { readonly count: number }
    readonly watches: { readonly count: number }
    readonly measurer: { readonly counters: { readonly measured: number; readonly refused: number } }
  },
): void {
  const { host, log, registry, mailbox, events, server, streams } = parts
  const { eventReaders, subscriptions, watches, measurer } = parts
  const { counters } = host
  const loop = monitorEventLoopDelay({ resolution: 10 })
  loop.enable()

  metrics.total('updates_total', 'Location updates applied.', () => counters.updates)
  metrics.total('repeated_updates_total', 'Resends, acknowledged and not applied.', () => counters.repeats)
  metrics.total(
    'limited_updates_total',
    'Updates refused by the limit per device.',
    () => counters.rateLimited,
  )
  metrics.total('zone_hits_total', 'Updates within the safe zone of their device.', () => host.zoneHits)
  metrics.total('events_total', 'Events made.', () => counters.events)
  metrics.total('frames_total', 'Frames appended to the commit log, one flush each.', () => counters.frames)
  metrics.total('frame_bytes_total', 'Bytes of those frames.', () => counters.frameBytes)
  metrics.gauge('users', 'User records.', () => host.users)
  metrics.gauge('mailbox_bytes', 'Bytes of updates that wait.', () => mailbox.used)
  metrics.gauge('mailbox_limit_bytes', 'Bytes past which updates are refused.', () => mailbox.limit)
  metrics.gauge('log_position', 'Position of the last durable frame.', () => log.position)
  metrics.gauge('log_bytes', 'Bytes of the commit log on disk.', () => log.bytes)
  metrics.gauge(
    'event_index_position',
    'Log position up to which events are indexed.',
    () => events.durablePosition,
  )
  metrics.gauge(
    'event_index_pending_bytes',
    'Bytes of events that wait to be indexed.',
    () => events.pendingBytes,
  )
  metrics.gauge('registry_revision', 'Revision of geofences, settings and keys.', () => registry.revision)
  metrics.gauge('http_in_flight', 'Requests without an answer yet.', () => server.inFlight)
  metrics.gauge('http_held_bytes', 'Bytes of bodies that are still arriving.', () => server.heldBytes)
  metrics.gauge(
    'http_unread_bytes',
    'Bytes of answers that clients are slow to read.',
    () => server.unreadBytes,
  )
  metrics.gauge('http_connections', 'Open connections.', () => server.connections)
  metrics.total(
    'http_refused_connections_total',
    'Connections closed at once because there were too many.',
    () => server.refusedConnections,
  )
  metrics.gauge('stream_connections', 'Open streams.', () => streams.connections)
  metrics.total('stream_frames_total', 'Frames of updates taken in.', () => streams.counters.frames)
  metrics.total('stream_updates_total', 'Updates in those frames.', () => streams.counters.updates)
  metrics.total(
    'stream_errors_total',
    'Updates, frames and messages refused.',
    () => streams.counters.refused,
  )
  metrics.total('stream_busy_total', 'Frames answered busy.', () => streams.counters.busy)
  metrics.gauge(
    'stream_frames_in_flight',
    'Frames without an acknowledgement yet.',
    () => streams.counters.inFlight,
  )
  metrics.labelled('stream_closed_total', 'Streams closed, by code.', 'code', () => streams.closedByCode)
  metrics.gauge('stream_subscriptions', 'Subscriptions to events.', () => subscriptions.count)
  metrics.gauge('stream_watches', 'Watched areas.', () => watches.count)
  metrics.total(
    'measured_elsewhere_total',
    'Updates amid so many large geofences that another thread measured them.',
    () => measurer.counters.measured,
  )
  metrics.total(
    'measured_elsewhere_refused_total',
    'Such updates that found no room there, or whose thread died: measured in the main thread.',
    () => measurer.counters.refused,
  )
  metrics.gauge('event_readers', 'Readers of server-sent events.', () => eventReaders.readers)
  metrics.gauge('event_loop_delay_p99_seconds', 'Delay of the event loop, 99th percentile.', () => {
    const seconds = loop.percentile(99) / 1e9
    loop.reset()
    return seconds
  })
  metrics.gauge('resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss())
  metrics.gauge(
    'heap_used_bytes',
    'Live and dead objects of the main thread.',
    () => process.memoryUsage().heapUsed,
  )
  metrics.gauge(
    'external_memory_bytes',
    'Memory that objects hold outside of the heap, buffers included.',
    () => process.memoryUsage().external,
  )
}
