import type { Metrics } from './metrics.ts'

/** Metrics of a process of the distributed engine, besides those that it shares with the embedded one. */
export function registerDistributedMetrics(
  metrics: Metrics,
  parts: {
    readonly nats: { readonly status: { readonly ok: boolean } }
    readonly registry: { readonly unreadable: ReadonlyMap<string, string> }
    /** How many partitions the store has. */
    readonly partitions: number
    /** For a process with the role `actors`. */
    readonly owned: { readonly hosts: readonly unknown[]; readonly backlogBytes: number } | undefined
  },
): void {
  const { nats, registry, partitions, owned } = parts
  metrics.gauge('nats_connected', '1 while there is a connection to NATS, else 0.', () =>
    nats.status.ok ? 1 : 0,
  )
  metrics.gauge(
    'registry_unreadable_entries',
    'Entries of the shared registry that cannot be read; the log names them.',
    () => registry.unreadable.size,
  )
  metrics.gauge('partitions', 'Partitions of the store.', () => partitions)
  if (owned === undefined) return
  metrics.gauge('owned_partitions', 'Partitions that this process evaluates.', () => owned.hosts.length)
  metrics.gauge(
    'event_backlog_bytes',
    'Bytes of committed events that are not published yet.',
    () => owned.backlogBytes,
  )
}
