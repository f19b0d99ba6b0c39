/** How long a newcomer waits, after "Simulate a city", for a map full of life: devices that move, over the map of a city. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Ringfence } from '../../sdk/src/client.ts'
import { rounded } from '../figures.ts'
import { BENCH_KEYS } from '../load/servers.ts'
import { withNewBrowser } from './opening.ts'

/** So many devices must have moved and been painted. The city has 200. */
export const LIVELY = 100
/** A city that is not there by then is not going to be. */
const LONGEST_MS = 120_000

/** Seconds since the click. */
export interface Liveliness {
  /** The first device is in the page. */
  readonly first: number
  /** {@link LIVELY} devices have moved and were painted there. */
  readonly lively: number
  /** The first event is beside the map. */
  readonly event: number
  /** All tiles in view are painted. */
  readonly background: number
}

/** Notes when what is seen, by the clock of the page, from the click on. */
const LOOKER = `{
  const seen = (window.benchSeen = {})
  const mark = (name) => (seen[name] ??= performance.now())
  const first = new Map()
  const moved = new Set()
  let paintedBefore
  let clicked = false
  document.addEventListener('click', (event) => {
    if (clicked || !event.target.closest?.('button')?.textContent.includes('Simulate a city')) return
    clicked = true
    mark('click')
  }, true)
  const look = () => {
    const { points, fleet, opened } = window.ringfenceMap ?? {}
    if (clicked && points !== undefined) {
      if (fleet.size > 0) mark('first')
      for (let slot = 0; slot < fleet.size; slot++) {
        const { deviceId } = fleet.positions[slot].user
        const place = fleet.toX[slot] + ' ' + fleet.toY[slot]
        if (!first.has(deviceId)) first.set(deviceId, place)
        else if (first.get(deviceId) !== place) moved.add(deviceId)
      }
      if (moved.size >= ${LIVELY}) {
        paintedBefore ??= points.painted
        if (points.painted > paintedBefore) mark('lively')
      }
      if (document.querySelector('.event-line') !== null) mark('event')
      if ('first' in seen && opened.map.isStyleLoaded() && opened.map.areTilesLoaded()) mark('background')
    }
    setTimeout(look, 20)
  }
  look()
}`

const SEEN = ['click', 'first', 'lively', 'event', 'background'] as const

/**
 * Lets newcomers simulate a city, one after the other, each with a new browser and without the city of the one before.
 * @param folder for what browsers keep
 */
export async function measureSimulation(
  executablePath: string,
  { url, folder, rounds }: { readonly url: string; readonly folder: string; readonly rounds: number },
): Promise<Liveliness[]> {
  const server = new Ringfence({ url, key: BENCH_KEYS.testSecret })
  const results: Liveliness[] = []
  for (let round = 0; round < rounds; round++) {
    const result = await withNewBrowser(executablePath, folder, url, async (context) => {
      const page = await context.newPage()
      await page.addInitScript(LOOKER)
      await page.goto(`${url}/test/map`)
      await page.getByRole('button', { name: 'Simulate a city' }).click({ timeout: LONGEST_MS })
      const until = performance.now() + LONGEST_MS
      for (;;) {
        const seen = (await page.evaluate('window.benchSeen')) as Partial<
          Record<(typeof SEEN)[number], number>
        >
        if (SEEN.every((name) => name in seen)) {
          const after = (name: (typeof SEEN)[number]) => rounded((seen[name]! - seen.click!) / 1000, 2)
          return {
            first: after('first'),
            lively: after('lively'),
            event: after('event'),
            background: after('background'),
          }
        }
        if (performance.now() > until) throw new Error(`the city does not live: ${JSON.stringify(seen)}`)
        await sleep(100)
      }
    })
    results.push(result)
    if (round < rounds - 1) await server.delete('/v1/simulations')
  }
  return results
}
