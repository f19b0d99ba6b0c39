/** A stream of the client with the addresses of two gateways: when the one in use is killed, it goes on at the other. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { WebSocket } from 'ws'
import { Cluster } from '../../cluster/cluster.ts'
import { Ringfence } from '../../sdk/src/index.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { KEYS } from '../kit/server.ts'

const skip = await skipWithout(NATS_SERVER)
const CENTER = [13.4, 52.5] as const
const DEVICES = 10
const UPDATES = 10

t.test(
  'each gateway is killed once: every update is applied once, and no event missed',
  { skip },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'ringfence-moves-'))
    const env = {
      RINGFENCE_KEYS: Object.values(KEYS).join(','),
      RINGFENCE_RATE_LIMITS: 'off',
      RINGFENCE_PARTITIONS: '8',
    }
    const cluster = await Cluster.start({ folder, nats: 1, gateways: 2, actors: 1, deliveries: 0, env })
    const ended = new AbortController()
    t.teardown(async () => {
      ended.abort()
      await cluster.kill()
      rmSync(folder, { recursive: true, force: true })
    })
    const url = cluster.gateways.map(({ options }) => options.url)
    const client = new Ringfence({ url, key: KEYS.testSecret, WebSocket })
    const circle = { description: 'Here', type: 'circle', coordinates: [...CENTER], radius: 100 }
    await client.putGeofence('t', '1', circle)
    const stream = client.stream({ signal: ended.signal })
    const events = stream.events()
    await events.ready

    let round = 0
    const send = async () => {
      const n = round++
      const update = { latitude: CENTER[1] + (n % 2), longitude: CENTER[0], accuracy: 5 }
      await Promise.all(
        Array.from({ length: DEVICES }, (_, i) => stream.track({ deviceId: `d${i}`, ...update })),
      )
    }
    for (const gateway of cluster.gateways) {
      const sent = [send(), send(), send()]
      await gateway.end('SIGKILL')
      sent.push(send(), send())
      await Promise.all(sent)
      gateway.start()
      await gateway.ready()
    }
    const seen: string[] = []
    while (seen.length < DEVICES * UPDATES) seen.push(textOf((await events.next()).value!))
    for (let device = 0; device < DEVICES; device++) {
      const name = `d${device} `
      const types = seen.filter((text) => text.startsWith(name))
      const wanted = Array.from(
        { length: UPDATES },
        (_, n) => `${name}user.${n % 2 === 0 ? 'entered' : 'exited'}_geofence`,
      )
      t.strictSame(types, wanted)
    }
    await stream.close()
    t.strictSame(await events.next(), { done: true, value: undefined }, 'and not one more')
  },
)

function textOf({
  user,
  type,
}: {
  readonly user?: { readonly deviceId?: string }
  readonly type: string
}): string {
  return `${user?.deviceId} ${type}`
}
