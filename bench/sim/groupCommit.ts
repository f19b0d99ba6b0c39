/**
 * Writers that share a server, each with one write in flight: what arrives meanwhile is in its next. The server does one
 * thing at a time, in the order in which it is asked. So the more it has to do, the longer a write waits, the more is in the
 * next, and the less each item costs: until writes are as large as they may be.
 */

export interface GroupCommitLoad {
  /** Items per second, over all writers. */
  readonly rate: number
  readonly writers: number
  /** From the end of a write that held more than one item until the next goes out. */
  readonly gatherMs: number
  /** Items of one write. */
  readonly most: number
  /** How long the server is busy with a write of so many items. */
  readonly busyMs: (items: number) => number
  /** From the server's being done until the writer knows, and from the writer to the server. */
  readonly roundTripMs: number
  readonly seconds: number
  readonly random: () => number
}

export interface GroupCommitOutcome {
  readonly itemsPerWrite: number
  readonly writesPerSecond: number
  /** Share of its time in which the server has work. */
  readonly busy: number
  /** From an item's arrival until its write is known to be done; NaN where ever more items wait. */
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Not counted: the first writes are small. */
const WARM_UP_MS = 3_000
/** Latencies taken of each write. */
const SAMPLES = 8
/** Items that have waited so long at the end wait ever longer. */
const HOPELESS_MS = 2_000

interface Writer {
  /** What arrived before is written. */
  writtenUntil: number
  /** When its next write goes out. */
  asksAt: number
}

export function simulateGroupCommit(load: GroupCommitLoad): GroupCommitOutcome {
  const { random } = load
  const perMs = load.rate / load.writers / 1000
  const waitMs = () => -Math.log(1 - random()) / perMs
  const writers = Array.from({ length: load.writers }, (): Writer => {
    const arrival = waitMs()
    return { writtenUntil: arrival, asksAt: arrival }
  })
  const samples: { readonly ms: number; readonly weight: number }[] = []
  const endMs = WARM_UP_MS + load.seconds * 1000
  let freeAt = 0
  let busyMs = 0
  let writes = 0
  let items = 0
  for (;;) {
    const writer = writers.reduce((first, other) => (other.asksAt < first.asksAt ? other : first))
    const { asksAt, writtenUntil } = writer
    if (asksAt > endMs) break
    // The one whose arrival is where the last write ended, and those that came since.
    const waiting = 1 + poisson((asksAt - writtenUntil) * perMs, random)
    const count = Math.min(waiting, load.most)
    const span = ((asksAt - writtenUntil) * count) / waiting
    const serviceMs = load.busyMs(count)
    freeAt = Math.max(asksAt, freeAt) + serviceMs
    const knownAt = freeAt + load.roundTripMs
    if (asksAt >= WARM_UP_MS) {
      writes++
      items += count
      busyMs += serviceMs
      for (let i = 0; i < SAMPLES; i++)
        samples.push({ ms: knownAt - (writtenUntil + random() * span), weight: count })
    }
    writer.writtenUntil = count < waiting ? writtenUntil + span : asksAt + waitMs()
    const isFull = count === load.most
    writer.asksAt = Math.max(knownAt + (count > 1 && !isFull ? load.gatherMs : 0), writer.writtenUntil)
  }
  const isHopeless = writers.some(({ writtenUntil }) => endMs - writtenUntil > HOPELESS_MS)
  const at = weightedQuantiles(samples)
  return {
    itemsPerWrite: items / writes,
    writesPerSecond: writes / load.seconds,
    busy: Math.min(1, busyMs / (load.seconds * 1000)),
    p50Ms: isHopeless ? NaN : at(0.5),
    p99Ms: isHopeless ? NaN : at(0.99),
  }
}

/** Exact for few, the normal approximation for many. */
function poisson(mean: number, random: () => number): number {
  if (mean > 50) {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal))
  }
  let count = -1
  for (let left = mean; left >= 0; count++) left += Math.log(1 - random())
  return count
}

function weightedQuantiles(
  samples: readonly { readonly ms: number; readonly weight: number }[],
): (share: number) => number {
  const sorted = samples.toSorted((a, b) => a.ms - b.ms)
  const total = sorted.reduce((sum, { weight }) => sum + weight, 0)
  return (share) => {
    let sum = 0
    return sorted.find(({ weight }) => (sum += weight) >= share * total)?.ms ?? NaN
  }
}
