/**
 * Faults of Tile38. Senders must not notice them, searches must be answered with an error, and everything must
 * recover by itself.
 */
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { GATE } from './movers.ts'
import type { Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'

const setting = {
  cluster: {
    /** The real one if it is found or can be built, otherwise the stand-in, which says so. */
    tile38: async (port: number, data: string) =>
      (await import('../kit/tile38.ts')).tile38Command(port, data),
  },
} as const

/** Commuters are never farther away from the gate than this. */
const ABOUT_THE_GATE = `search/users?near=${GATE.latitude},${GATE.longitude}&radius=2000&limit=100`
/** Longest time for a search, whatever Tile38 does; the server gives up after 5 s. */
const LONGEST_SEARCH_MS = 15_000
const LOOK_AGAIN_MS = 100
const GIVE_UP_MS = 60_000

export const tile38Killed: Scenario = {
  ...setting,
  name: 'tile38-killed',
  story: 'Tile38 is killed, stays away for a while, and comes back with what it had on its disk.',
  isDrawn: true,
  async play(stage) {
    await findsAll(stage)
    await stage.happens('Tile38 is killed', () => stage.kills(tile38(stage)))
    await isRefused(stage)
    // An owner is killed and returns in between, so another owner must write the positions of its devices to Tile38.
    await stage.happens('actors-1 is killed', () => stage.kills(stage.actors[0]!))
    await stage.returns(stage.actors[0]!)
    await isRefused(stage)
    await stage.happens('Tile38 is back', () => stage.returns(tile38(stage)))
    await findsAll(stage)
  },
}

export const tile38Wiped: Scenario = {
  ...setting,
  name: 'tile38-wiped',
  story: 'Tile38 is killed, loses everything that it had, and comes back empty.',
  isDrawn: true,
  async play(stage) {
    await findsAll(stage)
    const member = tile38(stage)
    await stage.happens('Tile38 is killed and wiped', async () => {
      await stage.kills(member)
      for (const file of ['appendonly.aof', 'queue.db'])
        rmSync(join(dirname(member.options.logFile), member.options.name, file), { force: true })
      await stage.returns(member)
    })
    await findsAll(stage)
  },
}

export const tile38Slow: Scenario = {
  ...setting,
  name: 'tile38-slow',
  story: 'Tile38 is suspended for four fifths of the time, then for 8 s without a pause.',
  isDrawn: true,
  async play(stage) {
    await findsAll(stage)
    const member = tile38(stage)
    await stage.happens('Tile38 is slow', async () => {
      for (let i = 0; i < 16; i++) {
        member.signal('SIGSTOP')
        await sleep(400)
        member.signal('SIGCONT')
        await sleep(100)
        if (i % 4 === 0) await search(stage)
      }
    })
    member.signal('SIGSTOP')
    await stage.happens('Tile38 stands still', () => sleep(8000))
    await isRefused(stage)
    member.signal('SIGCONT')
    await findsAll(stage)
  },
}

function tile38({ cluster }: Stage) {
  return cluster.tile38[0]!
}

/** A search must be answered in time, with the devices or with an error. */
async function search(stage: Stage): Promise<readonly string[] | undefined> {
  const from = performance.now()
  const { status, body, headers } = await stage.ask(ABOUT_THE_GATE)
  const ms = performance.now() - from
  if (ms > LONGEST_SEARCH_MS) stage.fault(`a search took ${(ms / 1000).toFixed(1)} s`)
  if (status === 200) return body.users.map((user: { deviceId: string }) => user.deviceId)
  if (status !== 503 || !/Tile38/.test(body.meta.message) || headers.get('Retry-After') === null)
    stage.fault(`a search was answered ${status} ${JSON.stringify(body)}`)
  return undefined
}

async function isRefused(stage: Stage): Promise<void> {
  if ((await search(stage)) !== undefined) stage.fault('a search was answered without Tile38')
}

/** Resolves once searches return the right devices. */
async function findsAll(stage: Stage): Promise<void> {
  const wanted = stage.load.movers
    .map(({ deviceId }) => deviceId)
    .filter((deviceId) => deviceId.startsWith('commuter-'))
    .toSorted()
  const from = performance.now()
  for (;;) {
    const found = (await search(stage))?.toSorted()
    if (found?.join() === wanted.join()) break
    // A search that succeeds is complete, except for devices that were added in the last second.
    if (performance.now() - from > GIVE_UP_MS) {
      stage.fault(`a search finds ${found?.join() ?? 'nobody'}, not ${wanted.join()}`)
      return
    }
    await sleep(LOOK_AGAIN_MS)
  }
  stage.say(`searches are right after ${((performance.now() - from) / 1000).toFixed(1)} s`)
}
