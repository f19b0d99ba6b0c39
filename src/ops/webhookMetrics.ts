import type { Metrics } from './metrics.ts'

/** Metrics of webhooks. */
export function registerWebhookMetrics(
  metrics: Metrics,
  webhooks: {
    readonly counters: {
      readonly delivered: number
      readonly failedAttempts: number
      readonly givenUp: number
    }
    readonly pending: number
    readonly failing: number
    readonly paused: number
    readonly lag: number
  },
): void {
  const { counters } = webhooks
  metrics.total('webhook_deliveries_total', 'Webhook deliveries answered 2xx.', () => counters.delivered)
  metrics.total(
    'webhook_failed_attempts_total',
    'Webhook requests that failed and are retried.',
    () => counters.failedAttempts,
  )
  metrics.total(
    'webhook_given_up_total',
    'Webhook deliveries given up after all retries.',
    () => counters.givenUp,
  )
  metrics.gauge('webhook_pending', 'Waiting webhook deliveries.', () => webhooks.pending)
  metrics.gauge('webhooks_failing', 'Webhooks whose last attempts failed.', () => webhooks.failing)
  metrics.gauge('webhooks_paused', 'Webhooks that are paused until enabled again.', () => webhooks.paused)
  metrics.gauge(
    'webhook_lag_events',
    'Events that the slowest webhook has not processed yet; paused webhooks are not counted.',
    () => webhooks.lag,
  )
}
