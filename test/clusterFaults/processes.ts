/** Faults of gateways and delivery, and of one process after another. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Member } from '../../cluster/member.ts'
import type { Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'

export const gatewayKilled: Scenario = {
  name: 'gateway-killed',
  story: 'A gateway is killed while requests are in progress, and comes back; clients use the other one.',
  isDrawn: true,
  async play(stage) {
    const gateway = stage.gateways[0]!
    await unnoticed(stage, async () => {
      await stage.happens('gateway-1 is killed, and started after a second', async () => {
        await stage.kills(gateway)
        await sleep(1000)
        await stage.returns(gateway)
      })
    })
  },
}

export const deliveryKilled: Scenario = {
  name: 'delivery-killed',
  story: 'The process that delivers webhooks is killed twice during deliveries, and comes back.',
  isDrawn: true,
  async play(stage) {
    const [delivery] = stage.cluster.deliveries
    await unnoticed(stage, async () => {
      for (let n = 0; n < 2; n++) {
        await stage.happens('delivery-1 is killed', () => stage.kills(delivery!))
        await sleep(stage.random.integer(0, 2000))
        await stage.returns(delivery!)
        await stage.delivers()
      }
    })
  },
}

export const rollingRestart: Scenario = {
  name: 'rolling-restart',
  story: 'Everything is restarted, one process after the other: NATS servers, owners, gateways, delivery.',
  isDrawn: false,
  cluster: { nats: 3 },
  async play(stage) {
    await unnoticed(stage, async () => {
      for (const server of stage.cluster.nats) await restart(stage, server, 'SIGINT')
      for (const owner of stage.actors) {
        await restart(stage, owner, 'SIGTERM')
        await stage.settled()
      }
      for (const gateway of stage.gateways) await restart(stage, gateway, 'SIGTERM')
      for (const delivery of stage.cluster.deliveries) await restart(stage, delivery, 'SIGTERM')
    })
  },
}

async function restart(stage: Stage, member: Member, signal: NodeJS.Signals): Promise<void> {
  const { name } = member.options
  await stage.happens(`${name} is restarted`, async () => {
    await stage.ends(member, signal)
    await stage.returns(member)
  })
}

/** Runs `work`, during which no update by HTTP may fail at every gateway in turn. */
async function unnoticed(stage: Stage, work: () => Promise<void>): Promise<void> {
  const before = stage.load.failedEverywhere.length
  await work()
  for (const failed of stage.load.failedEverywhere.slice(before))
    stage.fault(`an update failed at each gateway in turn: ${failed}`)
}
