import type { Metrics } from './metrics.ts'

/** Receives what happens in the routing engines. */
export interface RoutingWatch {
  /** An engine answered a request. `outcome`: `ok` or the name of the error's class. */
  asked(action: string, outcome: string, milliseconds: number): void
  /** A process with an engine ended, for this reason. */
  ended(reason: string): void
}

/** Counts what happens in the routing engines. */
export function watchRouting(metrics: Metrics): RoutingWatch {
  const requests = new Map<string, number>()
  const failures = new Map<string, number>()
  const ends = new Map<string, number>()
  const add = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)
  metrics.labelled(
    'routing_requests_total',
    'Requests to routing engines, those that the cache answered not counted, by action.',
    'action',
    () => requests,
  )
  metrics.labelled(
    'routing_failures_total',
    'Routing requests without an answer, by cause.',
    'cause',
    () => failures,
  )
  metrics.labelled(
    'routing_process_ends_total',
    'Routing processes that ended, by reason: crashed, hung and silent are failures.',
    'reason',
    () => ends,
  )
  const took = metrics.times(
    'routing_request_seconds',
    'Time until a routing engine answers, including waiting.',
  )
  return {
    asked(action, outcome, milliseconds) {
      add(requests, action)
      if (outcome !== 'ok') add(failures, outcome)
      took(milliseconds)
    },
    ended: (reason) => add(ends, reason),
  }
}

/** Metrics of the routing engines and of the cached answers. */
export function registerRoutingMetrics(
  metrics: Metrics,
  parts: {
    readonly cache: { readonly hits: number; readonly misses: number; readonly bytes: number }
    /** The present engines. */
    readonly engines: () => readonly { readonly waiting: number; readonly residentBytes: number }[]
  },
): void {
  const { cache, engines } = parts
  metrics.gauge('routing_waiting', 'Waiting routing requests.', () =>
    engines().reduce((sum, { waiting }) => sum + waiting, 0),
  )
  metrics.gauge('routing_resident_bytes', 'Memory of the routing processes.', () =>
    engines().reduce((sum, { residentBytes }) => sum + residentBytes, 0),
  )
  metrics.total('routing_cache_hits_total', 'Routing requests answered without an engine.', () => cache.hits)
  metrics.total(
    'routing_cache_misses_total',
    'Routing requests that an engine was asked.',
    () => cache.misses,
  )
  metrics.gauge('routing_cache_bytes', 'Bytes of cached routing answers.', () => cache.bytes)
}

/** How the ways of trips to their destinations were measured. */
export function registerWayMetrics(
  metrics: Metrics,
  { counters }: { readonly counters: { readonly measured: number; readonly unknown: number } },
): void {
  metrics.labelled(
    'trip_ways_total',
    'ETAs of trips that were computed, by source: straight where the roads do not say, or not in time.',
    'source',
    () =>
      new Map([
        ['road', counters.measured],
        ['straight', counters.unknown],
      ]),
  )
}

/** How many isochrones wait for their area. */
export function registerIsochroneMetrics(metrics: Metrics, isochrones: { readonly pending: number }): void {
  metrics.gauge(
    'isochrones_pending',
    'Isochrone geofences whose area is not up to date with the road network.',
    () => isochrones.pending,
  )
}
