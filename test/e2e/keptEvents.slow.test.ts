/**
 * The events of replays that are kept until their answers are sent are bounded per key and in total, and the answers
 * count what they leave out (issue 12, G7; docs/operating.md, "What is kept for clients").
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { KEYS, startServer, type Server } from '../kit/server.ts'

const MIB = 1024 * 1024
const OF_KEY = 64 * MIB
const OF_ALL = 128 * MIB

/** One update into or out of all of them makes nine megabytes of events, since each repeats the metadata. */
const CROWD = 1000
const METADATA = { a: 'x'.repeat(4000), b: 'x'.repeat(4000) }
const EVENT_CHARACTERS = 8000
/** Into the crowd, out of it and into it. One replay may have 32 MiB of events. */
const UPDATES = 3

const crowd = [
  'tag,externalId,description,type,coordinates,radius',
  ...Array.from({ length: CROWD }, (_, i) => `crowd,${i},x,circle,"[60,10]",100`),
].join('\n')

async function startCrowded(t: Test): Promise<Server> {
  const server = await startServer(t)
  for (const key of [KEYS.testSecret, KEYS.liveSecret]) {
    const answer = await server.api('POST', '/v1/imports/geofences', crowd, key, {
      'content-type': 'text/csv',
    })
    t.match(answer, { status: 200, body: { import: { created: CROWD } } })
  }
  return server
}

async function metric(server: Server, name: 'waiting_events_bytes' | 'events_total'): Promise<number> {
  const { body } = await server.api('GET', '/metrics')
  return Number(new RegExp(`^ringfence_${name} (.*)$`, 'm').exec(body as string)?.[1])
}

interface Answer {
  readonly events: readonly unknown[]
  readonly meta: { readonly omittedEvents?: number }
}

let replays = 0

/**
 * Sends a replay with each of the keys at the same time.
 * @returns how many events the answers leave out, and the most bytes that were kept
 */
async function replayed(server: Server, keys: readonly string[]) {
  const now = Date.now()
  const updates = (deviceId: string) =>
    Array.from({ length: UPDATES }, (_, i) => ({
      deviceId,
      latitude: 10 + (i % 2) * 0.1,
      longitude: 60,
      accuracy: 5,
      metadata: METADATA,
      updatedAtMs: now - (UPDATES - i) * 1000,
    }))
  const over = new AbortController()
  const send = async (key: string) => {
    const body = JSON.stringify({ replays: updates(`device ${replays++}`) })
    const headers = { authorization: key, 'content-type': 'application/json' }
    // Directly, because comparing answers of this size with the document would take too long.
    const answer = await fetch(`${server.url}/v1/track/replay`, { method: 'POST', headers, body })
    return { status: answer.status, body: (await answer.json()) as Answer }
  }
  const answers = Promise.all(keys.map(send)).finally(() => over.abort())
  let most = 0
  while (!over.signal.aborted) {
    most = Math.max(most, await metric(server, 'waiting_events_bytes'))
    await sleep(5)
  }
  let omitted = 0
  for (const { status, body } of await answers) {
    t.equal(status, 200)
    const left = body.meta.omittedEvents ?? 0
    t.equal(body.events.length + left, UPDATES * CROWD, 'no event is forgotten')
    omitted += left
  }
  return { omitted, most }
}

t.test('events of replays: the limits of a key and in total', async (t) => {
  const server = await startCrowded(t)
  const { testPublishable, testSecret, livePublishable } = KEYS

  const alone = await replayed(server, [testPublishable])
  t.equal(alone.omitted, 0, 'one replay has room for all of its events')

  const ofKey = await replayed(server, Array<string>(4).fill(testPublishable))
  t.ok(ofKey.most <= OF_KEY, `one key keeps ${Math.round(ofKey.most / MIB)} MiB`)
  t.ok(ofKey.most > OF_KEY / 2, 'and more than half of what it may')
  t.ok(ofKey.omitted * EVENT_CHARACTERS > MIB, 'what has no room is left out of the answers')

  const keys = [testPublishable, testSecret, livePublishable]
  const ofAll = await replayed(server, [...keys, ...keys, ...keys])
  t.ok(ofAll.most <= OF_ALL, `all keys keep ${Math.round(ofAll.most / MIB)} MiB`)
  t.ok(ofAll.most > OF_KEY, 'and more than one key may')
  t.ok(ofAll.omitted > 0, 'what has no room is left out of the answers')

  t.equal(await metric(server, 'waiting_events_bytes'), 0, 'nothing is kept once the answers are sent')
  t.equal(await metric(server, 'events_total'), replays * UPDATES * CROWD, 'the log has every event')
})
