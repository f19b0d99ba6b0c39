import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { ActorHost } from '../actor/host.ts'
import type { EventIndex } from '../events/port.ts'
import type { CommitLog } from '../log/port.ts'
import type { RegistryView } from '../rules/port.ts'
import type { ByteBound } from '../runtime/byteBound.ts'
import type { KeyedBound } from '../runtime/keyedBound.ts'
import { HostTotals } from './hostTotals.ts'
import type { Metrics } from './metrics.ts'

/** Metrics of device actors. */
export function registerActorMetrics(
  metrics: Metrics,
  parts: {
    /** The present hosts. */
    readonly hosts: () => readonly ActorHost[]
    readonly measurer: { readonly counters: { readonly measured: number; readonly refused: number } }
    /** The memory of the users of all hosts. */
    readonly memory: { readonly bytes: number; readonly maxBytes: number }
  },
): void {
  const { hosts, measurer, memory } = parts
  const totals = new HostTotals(hosts)
  metrics.total('updates_total', 'Location updates applied.', () => totals.read('updates'))
  metrics.total('repeated_updates_total', 'Resends, acknowledged and not applied.', () =>
    totals.read('repeats'),
  )
  metrics.total('limited_updates_total', 'Updates refused by the limit per device.', () =>
    totals.read('rateLimited'),
  )
  metrics.total('zone_hits_total', 'Updates within the safe zone of their device.', () =>
    totals.read('zoneHits'),
  )
  metrics.total('events_total', 'Events created.', () => totals.read('events'))
  metrics.total('frames_total', 'Frames appended to the commit log, one flush each.', () =>
    totals.read('frames'),
  )
  metrics.total('frame_bytes_total', 'Bytes of those frames.', () => totals.read('frameBytes'))
  metrics.gauge('users', 'User records.', () => hosts().reduce((sum, { users }) => sum + users, 0))
  metrics.gauge('user_bytes', 'Approximate memory of users and their metadata.', () => memory.bytes)
  metrics.gauge(
    'user_limit_bytes',
    'Limit of that memory; beyond it, new users are refused.',
    () => memory.maxBytes,
  )
  metrics.total(
    'measured_elsewhere_total',
    'Updates near so many large geofences that a geometry thread evaluated them.',
    () => measurer.counters.measured,
  )
  metrics.total(
    'measured_elsewhere_refused_total',
    'Such updates that the main thread evaluated, because the geometry threads were full or failed.',
    () => measurer.counters.refused,
  )
}

/** Metrics of the log on this machine. */
export function registerLogMetrics(metrics: Metrics, log: CommitLog): void {
  metrics.gauge('log_position', 'Position of the last durable frame.', () => log.offset)
  metrics.gauge('log_bytes', 'Bytes of the commit log on disk.', () => log.bytes)
}

export function registerMailboxMetrics(metrics: Metrics, mailbox: ByteBound): void {
  metrics.gauge('mailbox_bytes', 'Bytes of waiting updates.', () => mailbox.used)
  metrics.gauge(
    'mailbox_limit_bytes',
    'Limit of the bytes of waiting updates; beyond it, updates are refused.',
    () => mailbox.limit,
  )
}

export function registerEventMetrics(metrics: Metrics, events: EventIndex): void {
  metrics.gauge(
    'event_index_position',
    'Log position up to which events are indexed.',
    () => events.durableLogOffset,
  )
  metrics.gauge(
    'event_index_pending_bytes',
    'Bytes of events that wait to be indexed.',
    () => events.pendingBytes,
  )
}

/** Metrics of the HTTP server. */
export function registerServerMetrics(
  metrics: Metrics,
  server: {
    readonly inFlight: number
    readonly heldBytes: number
    readonly slowBodies: number
    readonly unreadBytes: number
    readonly connections: number
    readonly refusedConnections: number
  },
): void {
  metrics.gauge('http_in_flight', 'Requests without an answer yet.', () => server.inFlight)
  metrics.gauge(
    'http_held_bytes',
    'Bytes of bodies that are arriving or being handled.',
    () => server.heldBytes,
  )
  metrics.total(
    'http_slow_bodies_total',
    'Bodies refused because they arrived more slowly than others that needed their room.',
    () => server.slowBodies,
  )
  metrics.gauge(
    'http_unread_bytes',
    'Bytes of responses that clients have not read yet.',
    () => server.unreadBytes,
  )
  metrics.gauge('http_connections', 'Open connections.', () => server.connections)
  metrics.total(
    'http_refused_connections_total',
    'Connections closed at once because there were too many.',
    () => server.refusedConnections,
  )
}

/** Metrics of streams and other readers. */
export function registerReaderMetrics(
  metrics: Metrics,
  parts: {
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
      readonly unreadBytes: number
      readonly waitingBytes: number
      readonly arrivingBytes: number
    }
    /** The readers of server-sent events. */
    readonly eventReaders: { readonly readers: number }
    readonly subscriptions: { readonly count: number }
    readonly watches: { readonly count: number; readonly devicesBytes: number }
    /** The memory of subscriptions, watches and server-sent events. */
    readonly kept: KeyedBound
    /** The events of replays and frames that are not answered yet. */
    readonly waitingEvents: KeyedBound
  },
): void {
  const { streams, eventReaders, subscriptions, watches, kept, waitingEvents } = parts
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
  metrics.gauge('event_readers', 'Readers of server-sent events.', () => eventReaders.readers)
  metrics.gauge(
    'stream_unread_bytes',
    'Bytes of messages that clients of streams have not read yet.',
    () => streams.unreadBytes,
  )
  metrics.gauge(
    'stream_arriving_bytes',
    'Memory that messages of streams may take while they arrive, if each stream sends one of the largest size.',
    () => streams.arrivingBytes,
  )
  metrics.gauge(
    'stream_waiting_bytes',
    'Bytes of messages of streams that wait for their turn.',
    () => streams.waitingBytes,
  )
  metrics.gauge(
    'subscription_bytes',
    'Memory that the filters and areas of streams and server-sent events take, about.',
    () => kept.used,
  )
  metrics.gauge(
    'subscription_limit_bytes',
    'Limit of that memory; beyond it, subscriptions are refused.',
    () => kept.bounds.all,
  )
  metrics.gauge(
    'waiting_events_bytes',
    'Events of replays, and of frames that want them, that are kept until the answer is sent, in bytes, about.',
    () => waitingEvents.used,
  )
  metrics.gauge(
    'watched_devices_bytes',
    'Memory that the devices in watched areas take, about.',
    () => watches.devicesBytes,
  )
}

/** Metrics of any process. */
export function registerProcessMetrics(metrics: Metrics, registry: RegistryView): void {
  const loop = monitorEventLoopDelay({ resolution: 10 })
  loop.enable()
  metrics.gauge('registry_revision', 'Revision of geofences, settings and keys.', () => registry.revision)
  metrics.gauge('event_loop_delay_p99_seconds', 'Delay of the event loop, 99th percentile.', () => {
    const seconds = loop.percentile(99) / 1e9
    loop.reset()
    return seconds
  })
  metrics.total('cpu_seconds_total', 'Processor time of all threads.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
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
