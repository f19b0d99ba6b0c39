/** Trips on a road network in the distributed engine, as separate processes over a real NATS server. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Cluster } from '../../cluster/cluster.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { addSample } from '../kit/sampleRegion.ts'
import { KEYS } from '../kit/server.ts'
import { driveAlongStreets, furnishDrive, goodCalls, openTiles } from '../trips/roadDrive.ts'
import { tripApi } from '../trips/story.ts'

const skip = await skipWithout(NATS_SERVER)
const ENV = {
  RINGFENCE_KEYS: Object.values(KEYS).join(','),
  RINGFENCE_RATE_LIMITS: 'off',
  RINGFENCE_PARTITIONS: '8',
}

t.test(
  'a drive along streets: started, approaching, arrived, with the ETA of the road engine',
  { skip },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'ringfence-trip-roads-'))
    // Owners measure ways for ETAs, gateways the way that was driven.
    for (const name of ['gateway-1', 'actors-1', 'actors-2']) await addSample(join(folder, name))
    const cluster = await Cluster.start({ folder, nats: 1, gateways: 1, actors: 2, deliveries: 0, env: ENV })
    t.teardown(async () => {
      if (!t.passing()) for (const { options, output } of cluster.members) console.error(options.name, output)
      await cluster.kill()
      rmSync(folder, { recursive: true, force: true })
    })
    const api = tripApi(cluster.gateways[0]!.options.url)
    const good = goodCalls(api)
    await furnishDrive(good)
    await openTiles(good, 8)
    await driveAlongStreets(t, api)
  },
)
