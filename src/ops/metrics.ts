import type { MetricObjectWithValues, MetricValueWithName, Registry } from 'prom-client'
import type { RequestObserver } from '../http/endpoint.ts'
import type { Route } from '../http/route.ts'

/** The upper bounds of the latency buckets in milliseconds. */
const BUCKETS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 5000]

type Values = MetricValueWithName<string>[]

/** Times as plain numbers, because a labelled counter of the library costs more than a request may. */
class Times {
  /** A count for each bucket and one for slower requests. They are not cumulative. */
  readonly #buckets = new Float64Array(BUCKETS_MS.length + 1)
  #totalMs = 0

  add(milliseconds: number): void {
    let bucket = 0
    while (bucket < BUCKETS_MS.length && milliseconds > BUCKETS_MS[bucket]!) bucket++
    this.#buckets[bucket]! += 1
    this.#totalMs += milliseconds
  }

  values(name: string, labels: Readonly<Record<string, string>>): Values {
    const values: Values = []
    let count = 0
    for (let i = 0; i <= BUCKETS_MS.length; i++) {
      count += this.#buckets[i]!
      const le = i < BUCKETS_MS.length ? String(BUCKETS_MS[i]! / 1000) : '+Inf'
      values.push({ metricName: `${name}_bucket`, labels: { ...labels, le }, value: count })
    }
    values.push({ metricName: `${name}_sum`, labels, value: this.#totalMs / 1000 })
    values.push({ metricName: `${name}_count`, labels, value: count })
    return values
  }
}

interface ReadMetric {
  readonly name: string
  readonly get: () => Promise<MetricObjectWithValues<MetricValueWithName<string>>>
}

/** The results of the requests of one route. */
interface RouteCounts {
  readonly method: string
  readonly path: string
  readonly byStatus: Map<number, number>
  readonly times: Times
}

/**
 * The process's metrics in a separate registry. Names begin with `ringfence_`; times are in seconds, as usual in
 * Prometheus. Requests are labelled by route, never by raw path, so the number of series is bounded.
 */
export class Metrics {
  readonly #metrics = new Map<string, ReadMetric>()
  /** The library is loaded when metrics are first read, because many processes end before anybody does. */
  #registry: Promise<Registry> | undefined
  readonly #routes: RouteCounts[] = []

  constructor() {
    this.#register('ringfence_http_requests_total', 'counter', 'Requests by route and status.', () =>
      this.#requests(),
    )
    this.#register(
      'ringfence_http_request_duration_seconds',
      'histogram',
      'Time to the answer, by route.',
      (name) => this.#durations(name),
    )
  }

  /** The observer of a route's requests; requests to unknown paths count under `unknown`. */
  observe(route: Route | undefined): RequestObserver {
    const counts: RouteCounts = {
      method: route?.method ?? 'any',
      path: route?.path ?? 'unknown',
      byStatus: new Map(),
      times: new Times(),
    }
    this.#routes.push(counts)
    const { byStatus, times } = counts
    return (status, milliseconds) => {
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
      times.add(milliseconds)
    }
  }

  /** A value that is read on request, e.g. `('mailbox_bytes', 'Bytes waiting.', () => …)`. */
  gauge(name: string, help: string, read: () => number): void {
    this.#register(`ringfence_${name}`, 'gauge', help, (metricName) => [
      { metricName, labels: {}, value: read() },
    ])
  }

  /** A number that only increases and is read on request; the name ends in `_total`. */
  total(name: string, help: string, read: () => number): void {
    this.#register(`ringfence_${name}`, 'counter', help, (metricName) => [
      { metricName, labels: {}, value: read() },
    ])
  }

  /** Like {@link total}, with a number for each value of a label. */
  labelled(
    name: string,
    help: string,
    label: string,
    read: () => ReadonlyMap<string | number, number>,
  ): void {
    this.#register(`ringfence_${name}`, 'counter', help, (metricName) =>
      [...read()].map(([key, value]) => ({ metricName, labels: { [label]: key }, value })),
    )
  }

  /**
   * Times of something, in the buckets of requests; the name ends in `_seconds`.
   * @returns to be called each time, with milliseconds
   */
  times(name: string, help: string): (milliseconds: number) => void {
    const times = new Times()
    this.#register(`ringfence_${name}`, 'histogram', help, (metricName) => times.values(metricName, {}))
    return (milliseconds) => times.add(milliseconds)
  }

  /** All metrics in the Prometheus text format. */
  async text(): Promise<{ readonly contentType: string; readonly content: string }> {
    const registry = await this.#opened()
    return { contentType: registry.contentType, content: await registry.metrics() }
  }

  /** The values of the metrics without labels, by name. */
  async plain(): Promise<Readonly<Record<string, number>>> {
    const plain: Record<string, number> = {}
    for (const { values } of await (await this.#opened()).getMetricsAsJSON()) {
      for (const { metricName, labels, value } of values as Values)
        if (metricName !== undefined && Object.keys(labels).length === 0) plain[metricName] = value
    }
    return plain
  }

  #opened(): Promise<Registry> {
    return (this.#registry ??= this.#open())
  }

  async #open(): Promise<Registry> {
    const { Registry } = await import('prom-client')
    const registry = new Registry()
    for (const metric of this.#metrics.values()) registry.registerMetric(metric as never)
    return registry
  }

  /**
   * Registers a metric whose values are made on request, unlike the library's own.
   * @throws Error if there is one of the same name
   */
  #register(
    name: string,
    type: 'counter' | 'gauge' | 'histogram',
    help: string,
    read: (name: string) => Values,
  ): void {
    if (this.#metrics.has(name))
      throw new Error(`A metric with the name ${name} has already been registered.`)
    const metric: ReadMetric = {
      name,
      get: (): Promise<MetricObjectWithValues<MetricValueWithName<string>>> =>
        Promise.resolve({ name, help, type, aggregator: 'sum', values: read(name) } as never),
    }
    this.#metrics.set(name, metric)
    void this.#registry?.then((registry) => registry.registerMetric(metric as never))
  }

  #requests(): Values {
    const values: Values = []
    for (const { method, path, byStatus } of this.#routes) {
      for (const [status, value] of byStatus) {
        values.push({
          metricName: 'ringfence_http_requests_total',
          labels: { method, route: path, status },
          value,
        })
      }
    }
    return values
  }

  #durations(name: string): Values {
    return this.#routes.flatMap(({ method, path, times }) => times.values(name, { method, route: path }))
  }
}
