/** The commit log and the snapshots over JetStream, with a real nats-server. */
import { Objm } from '@nats-io/obj'
import t from 'tap'
import { openJetStreamSnapshots } from '../../src/log/jetStreamSnapshots.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { commitLogContract, snapshotContract } from './contract.ts'
import { openLog, withStreams } from './jetStreamKit.ts'

const STORE_ID = '0123456789abcdef'
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

t.test('snapshots', { skip }, async (t) => {
  const { connection, manager } = await withStreams(t)
  snapshotContract(t, 'the object store', async () => {
    await manager.streams.delete('OBJ_ringfence-snapshots').catch(() => {})
    const open = () => openJetStreamSnapshots(connection, STORE_ID, 1, () => {})
    await open()
    return {
      open,
      async damage(partition, position) {
        const objects = await new Objm(connection).open('ringfence-snapshots')
        for (const info of await objects.list()) {
          const { name, metadata } = info
          if (!name.startsWith(`${partition}-`) || metadata!['position'] !== String(position)) continue
          const bytes = (await objects.getBlob(name))!
          bytes[bytes.length - 1]! ^= 1
          await objects.putBlob({ name, metadata: metadata! }, bytes)
        }
      },
    }
  })
})
