import type { RequestObserver } from '../http/endpoint.ts'
import type { Route } from '../http/route.ts'
import { Slice } from '../runtime/slices.ts'

/** The upper bounds of the latency buckets in milliseconds. */
const BUCKETS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 5000]

/** One line of a metric. */
interface Sample {
  readonly name: string
  /** As the text format has them between braces; `''` if there are none. */
  readonly labels: string
  readonly value: number
}

/** Times as plain numbers, so that a request costs no more than a few additions. */
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

  samples(name: string, labels: string): Sample[] {
    const samples: Sample[] = []
    const before = labels === '' ? '' : `${labels},`
    let count = 0
    for (let i = 0; i <= BUCKETS_MS.length; i++) {
      count += this.#buckets[i]!
      const le = i < BUCKETS_MS.length ? BUCKETS_MS[i]! / 1000 : '+Inf'
      samples.push({ name: `${name}_bucket`, labels: `${before}le="${le}"`, value: count })
    }
    samples.push({ name: `${name}_sum`, labels, value: this.#totalMs / 1000 })
    samples.push({ name: `${name}_count`, labels, value: count })
    return samples
  }
}

interface Metric {
  /** What the text has before the values of the metric. */
  readonly head: string
  /** The present values, in groups that belong together. */
  read(): Iterable<readonly Sample[]>
}

/** The results of the requests of one route. */
interface RouteCounts {
  /** The method and the path, as the text format has them. */
  readonly labels: string
  readonly byStatus: Map<number, number>
  readonly times: Times
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/**
 * The process's metrics. Names begin with `ringfence_`; times are in seconds, as usual in Prometheus. Requests are
 * labelled by route, never by raw path, so the number of series is bounded.
 */
export class Metrics {
  readonly #metrics = new Map<string, Metric>()
  readonly #routes: RouteCounts[] = []

  constructor() {
    this.#register('ringfence_http_requests_total', 'counter', 'Requests by route and status.', (name) =>
      this.#requests(name),
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
    const { method = 'any', path = 'unknown' } = route ?? {}
    const labels = `${labelText('method', method)},${labelText('route', path)}`
    const counts: RouteCounts = { labels, byStatus: new Map(), times: new Times() }
    this.#routes.push(counts)
    const { byStatus, times } = counts
    return (status, milliseconds) => {
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
      times.add(milliseconds)
    }
  }

  /** A value that is read on request, e.g. `('mailbox_bytes', 'Bytes waiting.', () => …)`. */
  gauge(name: string, help: string, read: () => number): void {
    this.#register(`ringfence_${name}`, 'gauge', help, (metric) => [
      [{ name: metric, labels: '', value: read() }],
    ])
  }

  /** A number that only increases and is read on request; the name ends in `_total`. */
  total(name: string, help: string, read: () => number): void {
    this.#register(`ringfence_${name}`, 'counter', help, (metric) => [
      [{ name: metric, labels: '', value: read() }],
    ])
  }

  /** Like {@link total}, with a number for each value of a label. */
  labelled(
    name: string,
    help: string,
    label: string,
    read: () => ReadonlyMap<string | number, number>,
  ): void {
    this.#register(`ringfence_${name}`, 'counter', help, (metric) => [
      Array.from(read(), ([key, value]) => ({ name: metric, labels: labelText(label, key), value })),
    ])
  }

  /**
   * Times of something, in the buckets of requests; the name ends in `_seconds`.
   * @returns to be called each time, with milliseconds
   */
  times(name: string, help: string): (milliseconds: number) => void {
    const times = new Times()
    this.#register(`ringfence_${name}`, 'histogram', help, (metric) => [times.samples(metric, '')])
    return (milliseconds) => times.add(milliseconds)
  }

  /** All metrics in the Prometheus text format. They are thousands of lines, so they are written in slices. */
  async text(): Promise<{ readonly contentType: string; readonly content: string }> {
    const slice = new Slice()
    const blocks: string[] = []
    for (const { head, read } of this.#metrics.values()) {
      let block = head
      for (const samples of read()) {
        if (slice.isOver) await slice.next()
        for (const { name, labels, value } of samples)
          block += `\n${name}${labels === '' ? '' : `{${labels}}`} ${numberText(value)}`
      }
      blocks.push(block)
    }
    return { contentType: CONTENT_TYPE, content: `${blocks.join('\n\n')}\n` }
  }

  /** The values of the metrics without labels, by name. */
  plain(): Readonly<Record<string, number>> {
    const plain: Record<string, number> = {}
    for (const { read } of this.#metrics.values())
      for (const samples of read())
        for (const { name, labels, value } of samples) if (labels === '') plain[name] = value
    return plain
  }

  /**
   * Registers a metric whose values are made on request.
   * @throws Error if there is one of the same name
   */
  #register(
    name: string,
    type: 'counter' | 'gauge' | 'histogram',
    help: string,
    read: (name: string) => Iterable<readonly Sample[]>,
  ): void {
    if (this.#metrics.has(name))
      throw new Error(`A metric with the name ${name} has already been registered.`)
    const head = `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}`
    this.#metrics.set(name, { head, read: () => read(name) })
  }

  *#requests(name: string): Generator<Sample[]> {
    for (const { labels, byStatus } of this.#routes)
      yield Array.from(byStatus, ([status, value]) => ({
        name,
        labels: `${labels},${labelText('status', status)}`,
        value,
      }))
  }

  *#durations(name: string): Generator<Sample[]> {
    for (const { labels, times } of this.#routes) yield times.samples(name, labels)
  }
}

function labelText(label: string, value: string | number): string {
  return `${label}="${escaped(String(value)).replaceAll('"', String.raw`\"`)}"`
}

function escaped(text: string): string {
  return text.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`)
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}
