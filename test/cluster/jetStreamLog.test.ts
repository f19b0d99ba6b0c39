/** The commit log and the snapshots over JetStream, with a real nats-server. */
import { Objm } from '@nats-io/obj'
import type { NatsConnection } from '@nats-io/transport-node'
import t from 'tap'
import { storeBatch } from '../../src/cluster/journal/jetStreamBatch.ts'
import { JetStreamJournal } from '../../src/cluster/journal/jetStreamJournal.ts'
import { openJetStreamSnapshots } from '../../src/cluster/journal/jetStreamSnapshots.ts'
import { findStreams, openStreams, type JournalOptions } from '../../src/cluster/journal/jetStreamStreams.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer } from '../kit/nats.ts'
import { commitLogContract, framesOf, snapshotContract } from '../log/contract.ts'
import { until } from '../kit/waiting.ts'
import { commit, journalWith, openLog, reconnecting, STREAM_OPTIONS, withStreams } from './jetStreamKit.ts'

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

t.test('what reads snapshots leaves no consumer at the server', { skip }, async (t) => {
  const { connection, manager } = await withStreams(t)
  const snapshots = await openJetStreamSnapshots(connection, STORE_ID, 1, () => {})
  const consumers = async () => (await manager.streams.info('OBJ_ringfence-snapshots')).state.consumer_count
  const bytes = Buffer.alloc(1_000_000, 7)
  for (let partition = 0; partition < 4; partition++) await snapshots.write(partition, { offset: 1, bytes })
  const read = await Promise.all(
    Array.from({ length: 16 }, (_, i) => snapshots.newest(i % 4).then((found) => found!.bytes.length)),
  )
  t.strictSame(read, Array(16).fill(bytes.length))
  await until(async () => (await consumers()) === 0)
})

t.test('streams are made, adapted to the settings, and refused if they do not fit', { skip }, async (t) => {
  const { connection, manager } = await withStreams(t)
  const open = (options: Partial<JournalOptions>) =>
    openStreams(connection, { ...STREAM_OPTIONS, newStoreId: 'another', ...options })

  t.equal((await open({})).storeId, STORE_ID, 'the store keeps its id')
  await open({ maxPartitionBytes: 1_000_000, eventsAgeMs: 60_000 })
  t.equal((await manager.streams.info('P3')).config.max_bytes, 1_000_000)
  t.equal((await manager.streams.info('EVENTS')).config.max_age, 60_000e6)
  const revision = async () => JSON.stringify((await manager.streams.info('EVENTS')).config)
  const before = await revision()
  await open({ maxPartitionBytes: 1_000_000, eventsAgeMs: 60_000 })
  t.equal(await revision(), before)

  await t.rejects(open({ partitions: 8 }), {
    name: 'ServersUnfit',
    message:
      'The NATS servers hold a store of 4 partitions, the settings say 8: the number cannot be changed.',
  })
  const old = (version: string, maxPayload = 1_048_576) =>
    ({ info: { version, max_payload: maxPayload } }) as unknown as NatsConnection
  for (const version of ['2.11.9', '1.99.0', '2.9.25', 'unknown']) {
    await t.rejects(openStreams(old(version), STREAM_OPTIONS), {
      name: 'ServersUnfit',
      message: `The NATS server is of version ${version}; 2.12.0 or newer is needed (atomic batches).`,
    })
  }
  for (const version of ['2.12.0', '2.12.3-RC.1', '2.13.0', '3.0.0']) {
    await t.rejects(openStreams(old(version, 1000), STREAM_OPTIONS), /messages of 1000 bytes at most/)
  }
  await manager.streams.delete('EVENTS')
  await manager.streams.add({ name: 'EVENTS', subjects: ['events.>'] })
  await t.rejects(open({}), /The stream EVENTS \(events\.>\) is another's, as that of an embedded Ringfence/)
})

t.test('a frame is copied before append returns, unless it is kept', { skip }, async (t) => {
  const streams = await withStreams(t)
  const sent: Uint8Array[] = []
  const journal = new JetStreamJournal(streams.connection, streams.manager, 1)
  const watched = journalWith(journal, {
    append: (messages, after) => {
      sent.push(...messages.map(({ data }) => data))
      return journal.append(messages, after)
    },
  })
  const log = await openLog(streams, 1, { journal: watched })
  const frame = Buffer.allocUnsafeSlow(3_000_000)
  for (let i = 0; i < frame.length; i++) frame[i] = i % 251
  const before = Buffer.from(frame)
  sent.length = 0
  await new Promise((resolve) => log.append([frame], resolve, [], true))
  t.ok(sent.length > 1, `${sent.length} messages`)
  t.ok(sent.every(({ buffer }) => buffer === frame.buffer))
  sent.length = 0
  const done = new Promise((resolve) => log.append([frame], resolve))
  frame.fill(0)
  await done
  t.ok(sent.every(({ buffer }) => buffer !== frame.buffer))
  const frames = await framesOf(log, 1)
  t.strictSame(
    frames.map(({ payload }) => before.equals(payload)),
    [true, true],
  )
  await log.close()
})

t.test('a full log waits, and continues when there is room', { skip }, async (t) => {
  const streams = await withStreams(t, { maxPartitionBytes: 50_000 })
  const reasons = new Set<string>()
  const log = await openLog(streams, 2, { troubled: ({ message }) => reasons.add(message) })
  for (let i = 0; i < 10; i++) await commit(log, Buffer.alloc(4_000, i))
  const waiting = commit(log, Buffer.alloc(20_000))
  await until(() => reasons.size > 0)
  t.match([...reasons][0], /The stream P2 did not take 1 messages: maximum bytes exceeded/)
  t.equal(log.offset, 10)
  await openStreams(streams.connection, { ...STREAM_OPTIONS, maxPartitionBytes: 100_000 })
  await waiting
  t.equal((await framesOf(log, 1)).length, 11)
  await log.close()
})

t.test('an owner that reads does not read the frames of the next owner', { skip }, async (t) => {
  const streams = await withStreams(t)
  const first = await openLog(streams, 1)
  await commit(first, Buffer.from('one'))
  await commit(first, Buffer.from('two'))
  const next = await openLog(streams, 1)
  await commit(next, Buffer.from('three'))
  // As when the partition is taken while its new owner still reads it.
  t.equal(first.offset, 2)
  t.strictSame(
    (await framesOf(first, 1)).map(({ offset }) => offset),
    [1, 2],
  )
  await next.close()
  await first.close()
})

t.test('the place of a frame is found in a few questions, however long the log is', { skip }, async (t) => {
  const { connection, manager } = await withStreams(t)
  let questions = 0
  class Counted extends JetStreamJournal {
    override next(...args: Parameters<JetStreamJournal['next']>) {
      questions++
      return super.next(...args)
    }
  }
  const open = () => openLog({ connection, manager }, 3, { journal: new Counted(connection, manager, 3) })
  // Other owners, whose claims stand between the frames, and frames of several parts.
  for (let owner = 0; owner < 4; owner++) {
    const log = await open()
    for (let n = 0; n < 250; n++) await commit(log, Buffer.alloc(n === 100 ? 2_500_000 : 100, n))
    await log.close()
  }
  const log = await open()
  for (const offset of [1, 100, 101, 102, 499, 500, 501, 990, 1000]) {
    questions = 0
    const found = await framesOf(log, offset)
    t.equal(found.length, 1001 - offset)
    t.equal(found[0]!.offset, offset)
    t.ok(questions <= (offset > 900 ? 4 : 9), `${questions} questions for frame ${offset}`)
  }
  await log.close()
})

t.test('a process that makes no streams finds those of others', { skip }, async (t) => {
  const server = await natsServer(t)
  const connection = await reconnecting(t, [server])
  await t.rejects(findStreams(connection, 4), {
    name: 'StreamsMissing',
    message: 'The streams are not there yet: a process with the role actors makes them.',
  })
  const made = await openStreams(connection, STREAM_OPTIONS)
  const { storeId, secret } = await findStreams(connection, 4)
  t.strictSame([storeId, secret], [made.storeId, made.secret])
  await t.rejects(findStreams(connection, 5), { name: 'ServersUnfit' })
})

t.test('a request without a receiver, or whose server ends, does not wait', { skip }, async (t) => {
  const server = await natsServer(t)
  const connection = await reconnecting(t, [server])
  const message = { subject: 'partition.0.commit', headers: {}, data: new Uint8Array(1) }
  await t.rejects(storeBatch(connection, 'P0', [message]), { name: 'LeaderMissing' })
  await t.rejects(storeBatch(connection, 'P0', [message, message]), { name: 'LeaderMissing' })
  // A server that receives requests and never answers.
  const asked = new Promise((resolve) =>
    connection.subscribe(message.subject, { callback: (_, { data }) => resolve(data) }),
  )
  const lost = t.rejects(storeBatch(connection, 'P0', [message]), { name: 'ConnectionLost' })
  await asked
  await server.kill9()
  await lost
})
