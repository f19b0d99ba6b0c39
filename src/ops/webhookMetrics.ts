import type { Metrics } from './metrics.ts'

/** What sends messages to endpoints, in numbers. */
interface Deliveries {
  readonly counters: {
    readonly delivered: number
    readonly failedAttempts: number
    readonly givenUp: number
  }
  readonly pending: number
  readonly failing: number
  readonly paused: number
  readonly lag: number
}

/** Metrics of webhooks, or of hooks. */
export function registerWebhookMetrics(
  metrics: Metrics,
  deliveries: Deliveries,
  singular: 'webhook' | 'hook' = 'webhook',
): void {
  const { counters } = deliveries
  const name = singular === 'webhook' ? 'Webhook' : 'Hook'
  const answered = singular === 'webhook' ? 'answered 2xx' : 'that the endpoint accepted'
  metrics.total(`${singular}_deliveries_total`, `${name} deliveries ${answered}.`, () => counters.delivered)
  metrics.total(
    `${singular}_failed_attempts_total`,
    `${name} requests that failed and are retried.`,
    () => counters.failedAttempts,
  )
  metrics.total(
    `${singular}_given_up_total`,
    `${name} deliveries given up after all retries.`,
    () => counters.givenUp,
  )
  metrics.gauge(`${singular}_pending`, `Waiting ${singular} deliveries.`, () => deliveries.pending)
  metrics.gauge(`${singular}s_failing`, `${name}s whose last attempts failed.`, () => deliveries.failing)
  metrics.gauge(
    `${singular}s_paused`,
    `${name}s that are paused until ${singular === 'webhook' ? 'enabled' : 'put'} again.`,
    () => deliveries.paused,
  )
  metrics.gauge(
    `${singular}_lag_events`,
    `Events that the slowest ${singular} has not processed yet; paused ${singular}s are not counted.`,
    () => deliveries.lag,
  )
}
