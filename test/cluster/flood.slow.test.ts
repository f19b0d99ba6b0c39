/**
 * Fairness beyond capacity in the distributed engine (issue 12, item 7), with real processes: a normal track does not
 * wait behind six streams that send as fast as they can, at the gateway or at the owner.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { Cluster } from '../../cluster/cluster.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { KEYS } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'

const FLOOD = new URL('../../bench/load/floodThread.ts', import.meta.url)
const TRACKS = 20
/** The owner commits some thousands of them a second. Before, 40,000 or more came before a normal track. */
const MOST_BETWEEN = 20_000
const CROSSING = [-60, -60] as const

const skip = await skipWithout(NATS_SERVER)

t.test(
  'during six floods, whose updates all make events, a normal track is answered',
  { skip },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'ringfence-flood-'))
    const env = { RINGFENCE_KEYS: Object.values(KEYS).join(','), RINGFENCE_RATE_LIMITS: 'off' }
    const cluster = await Cluster.start({ folder, nats: 1, gateways: 1, actors: 1, deliveries: 0, env })
    t.teardown(async () => {
      await cluster.kill()
      rmSync(folder, { recursive: true, force: true })
    })
    const { url } = cluster.gateways[0]!.options
    const call = async (method: string, path: string, body?: object, key: string = KEYS.testSecret) => {
      const answer = await fetch(`${url}/v1/${path}`, {
        method,
        headers: { authorization: key, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      return { status: answer.status, body: await answer.json() }
    }
    const applied = async () => {
      const text = await (await fetch(`${cluster.actors[0]!.options.url}/metrics`)).text()
      return Number(/^ringfence_updates_total (\d+)$/m.exec(text)![1])
    }
    const circle = { type: 'circle', description: 'Crossed', coordinates: CROSSING, radius: 100 }
    t.equal((await call('PUT', 'geofences/flood/crossed', circle)).status, 200)

    const flood = new Worker(FLOOD, {
      workerData: {
        port: Number(new URL(url).port),
        streams: 6,
        key: KEYS.testPublishable,
        crossing: CROSSING,
      },
    })
    t.teardown(() => flood.terminate())
    await once(flood, 'message')
    await until(async () => (await applied()) > 10_000)
    const began = await applied()
    for (let i = 0; i < TRACKS; i++) {
      const update = { deviceId: 'normal', latitude: 50, longitude: 7 + i / 1000, accuracy: 5 }
      t.match(await call('POST', 'track', update, KEYS.testPublishable), {
        status: 200,
        body: { user: { location: { coordinates: [7 + i / 1000, 50] } } },
      })
    }
    const between = (await applied()) - began - TRACKS
    t.ok(between > 0, 'the floods go on meanwhile')
    t.ok(
      between < TRACKS * MOST_BETWEEN,
      `${between} updates of the floods for ${TRACKS} tracks, one after the other`,
    )
    t.comment(`${Math.round(between / TRACKS)} updates of the floods before each track`)
  },
)
