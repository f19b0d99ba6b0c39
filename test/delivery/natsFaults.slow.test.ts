/** The NATS bridge while it or NATS is killed: the stream always equals the beginning of the log. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import fc from '../kit/fastCheck.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer } from '../kit/nats.ts'
import { caughtUp, event, ids, load, logOf, withBridge } from './natsKit.ts'

const skip = await skipWithout(NATS_SERVER)
const SEED = Number(process.env.RINGFENCE_SEED ?? Math.floor(Math.random() * 1e6))

t.test(`kill -9 of either and of both: each event once, in order (seed ${SEED})`, { skip }, async (t) => {
  const nats = await natsServer(t)
  const server = await withBridge(t, nats)
  // So short that the server does not recognise repeated ids after a kill.
  const window = { duplicate_window: 100e6 }
  const manager = await nats.manager()
  await manager.streams.add({ name: 'EVENTS', subjects: ['events.>'], allow_atomic: true, ...window }).catch(
    // The bridge has already made the stream.
    () => manager.streams.update('EVENTS', window),
  )
  const events = load(server, 6)

  const random = fc.sample(fc.integer({ min: 30, max: 500 }), { numRuns: 12, seed: SEED })
  for (const victims of ['ringfence', 'nats', 'both', 'nats and then ringfence']) {
    await sleep(random.pop())
    if (victims !== 'ringfence') await nats.kill9()
    if (victims === 'nats and then ringfence') await sleep(random.pop())
    if (victims !== 'nats') await server.kill9()
    await sleep(random.pop())
    if (victims !== 'nats') await server.restart()
    if (victims !== 'ringfence') await nats.start()
  }
  await sleep(random.pop())
  const acknowledged = await events.stop()
  await caughtUp(server)
  await server.stop()

  const log = logOf(server)
  const messages = await nats.messages('EVENTS')
  t.ok(log.length > 100, `${log.length} events`)
  t.strictSame(
    messages.map(({ id }) => id),
    log,
    'the stream is the log',
  )
  const stored = new Set(log)
  t.ok([...acknowledged].every((id) => stored.has(id)))
  const last = new Map<string, number>()
  const early = messages.filter(({ data }) => {
    const { user, metadata } = JSON.parse(Buffer.from(data).toString())
    const before = last.get(user.deviceId) ?? -1
    last.set(user.deviceId, metadata.n)
    return metadata.n < before
  })
  t.strictSame(early, [], 'in the order of each device')
})

t.test('the stream determines where to continue, or the stored offset if it cannot', { skip }, async (t) => {
  const nats = await natsServer(t)
  const server = await withBridge(t, nats)
  const made: string[] = []
  const more = async (count: number) => {
    for (let i = 0; i < count; i++) made.push(await event(server))
    await caughtUp(server)
  }
  await more(3)

  // A NATS that was restored from a backup and misses events that it had acknowledged.
  const store = join(nats.folder, 'jetstream')
  await nats.kill9()
  cpSync(store, `${store}-backup`, { recursive: true })
  await nats.start()
  await more(4)
  await nats.kill9()
  rmSync(store, { recursive: true })
  cpSync(`${store}-backup`, store, { recursive: true })
  await nats.start()
  await more(1)
  t.strictSame(await ids(nats), made, 'what it had lost came again')

  // Consumers have taken all events, and none of them is published again.
  await server.stop()
  const manager = await nats.manager()
  await manager.streams.purge('EVENTS')
  await server.restart()
  await more(2)
  t.strictSame(await ids(nats), made.slice(-2))

  // Another client writes to the stream, and an event is deleted from it.
  await (await nats.client()).request('events.somebody.else', 'x')
  await more(2)
  await server.api('DELETE', `/v1/events/${made.at(-1)}`)
  await server.kill9()
  await server.restart()
  await more(1)
  t.strictSame(
    (await ids(nats)).filter((id) => id !== ''),
    made.slice(-5),
  )
})
