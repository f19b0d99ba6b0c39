/** What a live map has in memory that stays open, with all devices in view and events beside it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { City } from '../../src/simulation/streets.ts'
import { rounded } from '../figures.ts'
import { progress } from '../progress.ts'
import { LivePage, type PageMemory } from './livePage.ts'

const MINUTE_MS = 60_000
const MINUTES_AN_HOUR = 60

/** The memory of a page over time. */
export interface HeapCourse {
  /** At the beginning, and after each step. */
  readonly memories: readonly PageMemory[]
  readonly mostMegabytes: number
  /** By a straight line through the second half, when everything has come that comes once. */
  readonly megabytesAnHour: number
  /** What that line says of the end of an hour. */
  readonly afterAnHour: number
}

/**
 * Looks at the heap once a minute, after everything has been collected that nobody uses.
 * @param minutes how long the page stays open
 * @param parts.minuteMs how long a minute is; less in a short run
 */
export async function measureHeap(
  chromium: string,
  parts: {
    readonly url: string
    readonly city: City
    readonly devices: number
    readonly minutes: number
    readonly warmMs: number
    readonly minuteMs?: number
  },
): Promise<HeapCourse> {
  const { url, city, devices, minutes, warmMs, minuteMs = MINUTE_MS } = parts
  const page = await LivePage.open(chromium, url, { city, devices, composition: 'own' })
  try {
    await sleep(warmMs)
    const memories: PageMemory[] = []
    for (let minute = 0; minute <= minutes; minute++) {
      if (minute > 0) await sleep(minuteMs)
      const memory = await page.memory()
      memories.push(memory)
      progress(
        `minute ${minute}: heap ${memory.heapMegabytes} MB, process ${memory.residentMegabytes} MB, ${memory.events} events so far`,
      )
    }
    return courseOf(memories)
  } finally {
    await page.close()
  }
}

/** The course of memories that were looked at once a minute. */
function courseOf(memories: readonly PageMemory[]): HeapCourse {
  const half = Math.floor(memories.length / 2)
  const points = memories.slice(half).map(({ heapMegabytes }, i) => [half + i, heapMegabytes] as const)
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const middle = mean(points.map(([minute]) => minute))
  const level = mean(points.map(([, megabytes]) => megabytes))
  const spread = points.reduce((sum, [minute]) => sum + (minute - middle) ** 2, 0)
  const slope =
    spread === 0
      ? 0
      : points.reduce((sum, [minute, megabytes]) => sum + (minute - middle) * (megabytes - level), 0) / spread
  return {
    memories,
    mostMegabytes: Math.max(...memories.map(({ heapMegabytes }) => heapMegabytes)),
    megabytesAnHour: rounded(slope * MINUTES_AN_HOUR, 2),
    afterAnHour: rounded(level + slope * (MINUTES_AN_HOUR - middle), 1),
  }
}
