/** What the next owner of a partition has to read, however often the partition changes hands. */
import t from 'tap'
import type { PartitionLog } from '../../src/log/port.ts'
import { Engine, HERE } from '../actor/kit.ts'
import { Random } from '../actor/world.ts'
import { until } from '../kit/waiting.ts'
import {
  FAIR,
  gatewayOf,
  outcome,
  serverOf,
  SharedLogs,
  SharedMemorySnapshots,
  SimulatedCalls,
  track,
} from './kit.ts'

const MIB = 1024 * 1024
const UPDATES = 1200

/** Hosts that share a partition, and how many frames each has read of it. */
function hosts() {
  const calls = new SimulatedCalls(new Random(1), FAIR)
  const engine = new Engine({ partitions: 1 })
  const logs = new SharedLogs()
  const snapshots = new SharedMemorySnapshots()
  const gateway = gatewayOf(calls, engine.world, { partitions: 1 })
  const host = () => {
    let read = 0
    const openLog = async (n: number, fencedOut: (error: Error) => void): Promise<PartitionLog> => {
      const log = logs.open(n, fencedOut)
      return Object.create(log, {
        read: {
          value: async function* (from: number) {
            for await (const frame of log.read(from)) {
              read++
              yield frame
            }
          },
        },
      }) as PartitionLog
    }
    const server = serverOf(calls, engine, { snapshots, openLog })
    return {
      server,
      get read() {
        return read
      },
    }
  }
  /** Updates one after the other: each makes a frame. */
  const drive = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const latitude = HERE.latitude + (n % 100) * 1e-3
      outcome(await track(gateway, engine.update({ deviceId: 'd', ...HERE, latitude })))
    }
  }
  return { host, drive, snapshots }
}

t.test('frames of an owner that died are part of what the next snapshot is due for', async (t) => {
  const { host, drive, snapshots } = hosts()
  const first = host()
  await first.server.acquire(0)
  await drive(UPDATES)
  // It is killed: the next owner takes the partition by force.
  const second = host()
  await second.server.acquire(0)
  t.equal(second.read, UPDATES)
  second.server.checkpoint(MIB)
  await until(async () => (await snapshots.newest(0)) !== undefined)
  const third = host()
  await third.server.acquire(0)
  t.equal(third.read, 0)
})

t.test('an owner that leaves lets the next one read little, however small the frames are', async (t) => {
  const { host, drive } = hosts()
  const first = host()
  await first.server.acquire(0)
  await drive(UPDATES / 2)
  await first.server.release(0)
  const second = host()
  await second.server.acquire(0)
  t.equal(second.read, UPDATES / 2, 'that many are read faster than a snapshot is written')
  await drive(UPDATES / 2)
  await second.server.release(0)
  const third = host()
  await third.server.acquire(0)
  t.equal(third.read, 0, 'those of both owners together are too many')
})

t.test('while an owner that leaves writes its snapshot, devices are answered', async (t) => {
  const { host, drive, snapshots } = hosts()
  const first = host()
  await first.server.acquire(0)
  await drive(UPDATES)
  const written = Promise.withResolvers<void>()
  const write = snapshots.write.bind(snapshots)
  t.intercept(snapshots, 'write', {
    value: async (...args: Parameters<typeof write>) => {
      await written.promise
      await write(...args)
    },
  })
  const released = first.server.release(0)
  await drive(5)
  written.resolve()
  await released
  const second = host()
  await second.server.acquire(0)
  t.equal(second.read, 5)
})
