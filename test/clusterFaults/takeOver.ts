import { Ringfence } from '../../sdk/src/index.ts'
import { KEYS } from '../kit/server.ts'
import type { Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'

const DEVICES = 200_000
const SAMPLE = 200

/**
 * The load has a device in each partition, so when all are acknowledged, new owners have taken over every partition.
 */
export const takeOver: Scenario = {
  name: 'take-over',
  story: `An owner with some ${DEVICES / 2000},000 devices in 32 partitions is killed, with the default settings.`,
  isDrawn: false,
  env: { RINGFENCE_PARTITIONS: '64' },
  async play(stage) {
    await fill(stage)
    await stage.happens('actors-1 is killed (10 s are allowed)', () => stage.kills(stage.actors[0]!))
    await stage.returns(stage.actors[0]!)
    await stage.settled()
    for (let i = 0; i < SAMPLE; i++) await checkQuiet(stage, stage.random.integer(0, DEVICES - 1))
  },
}

/** Devices that stand in a grid, far from all geofences. */
function quiet(n: number) {
  return {
    deviceId: `quiet-${n}`,
    latitude: -1 - Math.floor(n / 1000) / 1000,
    longitude: -1 - (n % 1000) / 1000,
  }
}

async function fill(stage: Stage): Promise<void> {
  const began = performance.now()
  await Promise.all(
    stage.gateways.map(async ({ options }, g) => {
      const stream = new Ringfence({ url: options.url, key: KEYS.testPublishable }).stream()
      for (let n = g; n < DEVICES; n += stage.gateways.length) {
        await stream.ready
        stream
          .track({ ...quiet(n), accuracy: 5 })
          .catch((error: Error) => stage.fault(`quiet-${n} was refused: ${error.message}`))
      }
      await stream.close()
    }),
  )
  stage.say(`${DEVICES} devices more after ${((performance.now() - began) / 1000).toFixed(1)} s`)
}

async function checkQuiet(stage: Stage, n: number): Promise<void> {
  const { deviceId, latitude, longitude } = quiet(n)
  const { status, body } = await stage.ask(`users/${deviceId}`)
  const is = body.user?.location.coordinates.join()
  if (is !== `${longitude},${latitude}`)
    stage.fault(`G1 ${deviceId} is answered ${status}, at ${is}; acknowledged was ${longitude},${latitude}`)
}
