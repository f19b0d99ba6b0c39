/** The commit log over JetStream, with a real nats-server. */
import t from 'tap'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { commitLogContract } from './contract.ts'
import { openLog, withStreams } from './jetStreamKit.ts'

const skip = await skipWithout(NATS_SERVER)

t.test('with a server', { skip }, async (t) => {
  const streams = await withStreams(t, { partitions: 8 })
  const { manager } = streams
  let partitions = 0
  commitLogContract(t, 'a JetStream stream', async () => {
    const partition = partitions++
    if (partition >= 8) {
      const { config } = await manager.streams.info('P0')
      await manager.streams.add({ ...config, name: `P${partition}`, subjects: [`partition.${partition}.>`] })
    }
    return { open: () => openLog(streams, partition) }
  })
})
