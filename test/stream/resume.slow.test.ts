/** Readers of events that are killed, hang up or stall, with a real server and real sockets. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ResumeTokens } from '../../src/stream/resumeTokens.ts'
import { startServer } from '../kit/server.ts'
import { Stream, type Message } from '../kit/stream.ts'

const ROUNDS = Math.ceil(Number(process.env.RINGFENCE_TEST_RUNS ?? 1) * 3)

t.test('property: each event comes once and in order, despite kills and reconnections', async (t) => {
  const own = await startServer(t)
  await own.api('PUT', '/v1/geofences/store/one', {
    type: 'circle',
    description: 'store',
    coordinates: [7, 50],
    radius: 100,
  })
  /** The acknowledged updates of one device after another, in log order. */
  const made: string[] = []
  const got: string[] = []
  const state = { from: 'now' }
  const hasAll = () => got.length >= ROUNDS * 50
  /** Reads, hangs up at any point, and resumes from there. */
  const read = async (stream: Stream, count: number) => {
    stream.send({ type: 'subscribe', id: 's', from: state.from })
    const subscribed = await stream.nextOf('subscribed')
    // As long as no event has come, the client continues from this place.
    if (state.from === 'now') state.from = subscribed.from
    for (let i = 0; i < count && !hasAll(); i++) {
      const { event } = await stream.nextOf('event')
      got.push(event._id)
      state.from = event._id
    }
  }
  const begun = await Stream.open(own)
  await read(begun, 0)
  begun.socket.terminate()
  t.match(state.from, /^@/)
  const store = JSON.parse(readFileSync(join(own.data, 'store.json'), 'utf8'))
  const open = (key: string) =>
    [0, 1, 2, 3].some((scope) => new ResumeTokens(key).open(scope, state.from) !== undefined)
  t.notOk(open(store.storeId), 'not to be opened with what the ids of events tell')
  t.ok(open(store.secret))
  const reader = (async () => {
    for (let turn = 0; !hasAll(); turn++) {
      const stream = await Stream.open(own).catch(() => undefined)
      // Killed now, or while it reads.
      if (stream === undefined) await new Promise((resolve) => setTimeout(resolve, 20))
      else await read(stream, 3 + (turn % 20)).catch(() => undefined)
      stream?.socket.terminate()
    }
  })()
  let device = 0
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < 25; i++) {
      device++
      for (const longitude of [7, 9]) {
        const at = { deviceId: `d${device}`, latitude: 50, longitude, accuracy: 5 }
        const { events } = (await own.api('POST', '/v1/track', at)).body
        made.push(...events.map(({ _id }: Message) => _id))
      }
    }
    if (round % 3 === 1) {
      await own.stop()
      await own.restart()
    } else if (round % 3 === 0) {
      await own.kill9()
      await own.restart()
    }
  }
  await reader
  t.equal(made.length, ROUNDS * 50)
  t.same(got, made)
})

t.test('a reader that stalls costs the others nothing, and the process little', async (t) => {
  const own = await startServer(t)
  const stalled = await Stream.open(own)
  const quick = await Stream.open(own)
  for (const stream of [stalled, quick]) {
    stream.send({ type: 'subscribe', id: 's' })
    t.match(await stream.next(), { type: 'subscribed', id: 's' })
  }
  stalled.socket.pause()
  const metadata = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`k${i}`, 'x'.repeat(4000)]))
  const count = 600
  let posted = 0
  const post = async () => {
    while (posted < count) {
      const name = `n${posted++}`
      await own.api('POST', '/v1/events', { name, deviceId: name, metadata })
    }
  }
  await Promise.all(Array.from({ length: 8 }, post))
  const names = async (stream: Stream) => {
    const seen: string[] = []
    while (seen.length < count) seen.push((await stream.nextOf('event')).event.type)
    return seen
  }
  const all = await names(quick)
  t.equal(new Set(all).size, count)
  t.equal(stalled.inbox.length, 0)
  const { body } = await own.api('GET', '/metrics', undefined, null)
  t.ok(/\n/.test(body), 'the process answers')
  stalled.socket.resume()
  t.same(await names(stalled), all, 'the one that had stalled gets the rest from the disk')
  await stalled.close()
  await quick.close()
})
