import type { Metrics } from './metrics.ts'

/** Metrics of the copies in Tile38. */
export function registerTile38Metrics(
  metrics: Metrics,
  copies: { readonly status: { readonly connected: boolean; readonly waiting: number } },
): void {
  metrics.gauge('tile38_connected', '1 while there is a connection to Tile38, else 0.', () =>
    copies.status.connected ? 1 : 0,
  )
  metrics.gauge(
    'tile38_waiting',
    'Devices of this process that are not up to date in Tile38; infinite while everything is written.',
    () => copies.status.waiting,
  )
}
