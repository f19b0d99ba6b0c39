/** The live map in a browser, with every device in view: how often it paints, and what that costs. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { City } from '../../src/simulation/streets.ts'
import { thousands } from '../figures.ts'
import type { ServerProcess } from '../load/servers.ts'
import { progress } from '../progress.ts'
import type { Traffic } from './beside.ts'
import type { Composition } from './browser.ts'
import { LivePage, type PageFigures, type PageMemory } from './livePage.ts'

/**
 * When this time has passed after the last update, all devices have finished their glides and the page has shown the
 * news.
 */
const CALM_MS = 4000
/** By then a page has what it needs for all devices, and its code is compiled. */
export const WARM_MS = 3000

export interface PagesFigures {
  /** Beside the server and the generator. */
  readonly shared: PageFigures & { readonly updatesPerSecond: number }
  /** With a recorded source of a position of each device a second, by how the browser composes pages. */
  readonly alone: Readonly<Record<Composition, PageFigures>>
  readonly memory: PageMemory
  readonly idleFrames: number
}

/** What is on the map, and how it moves. */
interface Scene {
  readonly city: City
  readonly devices: number
  readonly rate: number
  /** How long a page is watched. */
  readonly seconds: number
  /** Resolves with what the use of a recorded source returns, which has an address of its own. */
  readonly withFeed: <T>(use: (url: string) => Promise<T>) => Promise<T>
}

/** The page is measured beside the server and the generator, and by itself. */
export async function measurePages(
  chromium: string,
  server: ServerProcess,
  traffic: Traffic,
  scene: Scene,
): Promise<PagesFigures> {
  const { city, devices, rate, seconds } = scene
  const page = await LivePage.open(chromium, `http://127.0.0.1:${server.port}`, {
    city,
    devices,
    composition: 'own',
  })
  let shared: PagesFigures['shared']
  let idleFrames: number
  try {
    progress(`a page beside the server, ${thousands(devices)} devices`)
    let updatesPerSecond = 0
    const figures = await page.during(async () => {
      updatesPerSecond = Math.round((await traffic.send(rate * seconds, rate)).perSecond)
    })
    shared = { ...figures, updatesPerSecond }
    await sleep(CALM_MS)
    idleFrames = await page.framesIn(CALM_MS / 2)
  } finally {
    await page.close()
  }
  const own = await measureAlone(chromium, scene, 'own')
  const emulated = await measureAlone(chromium, scene, 'emulated')
  return {
    shared,
    alone: { own: own.figures, emulated: emulated.figures },
    memory: own.memory,
    idleFrames,
  }
}

/** The same with a recorded source, so that the page has the processors for itself. */
async function measureAlone(
  chromium: string,
  { city, devices, seconds, withFeed }: Scene,
  composition: Composition,
) {
  return withFeed(async (url) => {
    progress(
      `a page by itself, composed by ${composition === 'own' ? 'the processor' : 'an emulated graphics card'}`,
    )
    const page = await LivePage.open(chromium, url, { city, devices, composition })
    try {
      await sleep(WARM_MS)
      const figures = await page.during(() => sleep(seconds * 1000))
      return { figures, memory: await page.memory() }
    } finally {
      await page.close()
    }
  })
}
