import { Session, type Profiler } from 'node:inspector'

/** How often the profiler looks, in microseconds. */
const INTERVAL = 200
/** How many functions are named. */
const NAMED = 12

/** The CPU profile of the main thread since the last {@link take}, to find what a long turn of the loop consists of. */
export class LoopProfile {
  readonly #session = new Session()

  constructor() {
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.setSamplingInterval', { interval: INTERVAL })
    this.#session.post('Profiler.start')
  }

  /**
   * The functions that took most of the time between two times of `performance.now()`: the milliseconds of each by
   * itself, and with everything that it calls.
   */
  take(from: number, to: number): readonly string[] {
    let taken: Profiler.Profile | undefined
    this.#session.post('Profiler.stop', (_, result) => (taken = result?.profile))
    this.#session.post('Profiler.start')
    if (taken === undefined) return []
    // Times of a profile are those of the system's monotonic clock, in microseconds.
    const origin = Number(process.hrtime.bigint()) / 1000 - performance.now() * 1000
    return functionsBetween(taken, origin + from * 1000, origin + to * 1000)
  }
}

function functionsBetween(profile: Profiler.Profile, from: number, to: number): readonly string[] {
  const { nodes, samples = [], timeDeltas = [], startTime } = profile
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map<number, number>()
  for (const { id, children = [] } of nodes) for (const child of children) parents.set(child, id)
  const own = new Map<string, number>()
  const all = new Map<string, number>()
  let at = startTime
  samples.forEach((sample, i) => {
    at += timeDeltas[i]!
    const until = at + (timeDeltas[i + 1] ?? 0)
    const spent = (Math.min(until, to) - Math.max(at, from)) / 1000
    if (spent <= 0) return
    add(own, nameOf(byId.get(sample)!), spent)
    const names = new Set<string>()
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id))
      names.add(nameOf(byId.get(id)!))
    for (const name of names) add(all, name, spent)
  })
  return [...most(own, 'itself'), ...most(all, 'in all')]
}

function add(sums: Map<string, number>, name: string, milliseconds: number): void {
  sums.set(name, (sums.get(name) ?? 0) + milliseconds)
}

function most(sums: ReadonlyMap<string, number>, what: string): string[] {
  const sorted = [...sums].sort(([, a], [, b]) => b - a).slice(0, NAMED)
  return sorted.map(([name, milliseconds]) => `${milliseconds.toFixed(1)} ms ${what}: ${name}`)
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: Profiler.ProfileNode): string {
  const file = url.slice(url.lastIndexOf('/src/') + 1)
  return `${functionName || '(anonymous)'} ${file}${file === '' ? '' : `:${lineNumber + 1}`}`
}
