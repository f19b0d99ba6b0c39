import type { Metrics } from './metrics.ts'

/** Metrics of the copies in Tile38. */
export function registerTile38Metrics(
  metrics: Metrics,
  copies: {
    readonly status: {
      readonly connected: boolean
      readonly writesGeofences: boolean
      readonly waiting: number
      readonly looks: { readonly cells: number; readonly memory: number }
    }
  },
): void {
  metrics.gauge('tile38_connected', '1 while there is a connection to Tile38, else 0.', () =>
    copies.status.connected ? 1 : 0,
  )
  metrics.gauge('tile38_writes_geofences', '1 in the process that writes the geofences, else 0.', () =>
    copies.status.writesGeofences ? 1 : 0,
  )
  metrics.gauge(
    'tile38_waiting',
    'Geofences and devices of this process that are not up to date in Tile38; infinite while everything is written.',
    () => copies.status.waiting,
  )
  metrics.total(
    'tile38_candidates_total',
    'Searches for candidates that Tile38 answered.',
    () => copies.status.looks.cells,
  )
  metrics.total(
    'tile38_candidates_from_memory_total',
    'Searches for candidates that the index in memory answered.',
    () => copies.status.looks.memory,
  )
}
