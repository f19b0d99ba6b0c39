import type { Metrics } from './metrics.ts'

/** Metrics of the NATS bridge. */
export function registerNatsMetrics(
  metrics: Metrics,
  bridge: {
    readonly status: {
      readonly connected: boolean
      readonly lag: number
      readonly published: number
      readonly omitted: number
    }
  },
): void {
  metrics.gauge('nats_connected', '1 while events are published to NATS, else 0.', () =>
    bridge.status.connected ? 1 : 0,
  )
  metrics.gauge('nats_lag_events', 'Events that NATS does not have yet.', () => bridge.status.lag)
  metrics.total('nats_published_total', 'Events that NATS has stored.', () => bridge.status.published)
  metrics.total(
    'nats_omitted_total',
    'Events left out because they are larger than NATS allows.',
    () => bridge.status.omitted,
  )
}
