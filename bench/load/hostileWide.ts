/**
 * Expensive requests of `bench/hostile.ts` that read wide records: users with much metadata, a user inside of many
 * geofences that have much metadata, and the events of such a user.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { answered, readEventStream, readFor, type Answered } from './hostileAnswers.ts'
import type { HostileCase } from './hostileCases.ts'
import { FAT, updateAt, USERS, type WorldSize } from './hostileWorld.ts'
import { BENCH_KEYS } from './servers.ts'

const { testPublishable, testSecret } = BENCH_KEYS
const headers = { authorization: testSecret, 'content-type': 'application/json' }
const INSIDE = 'inside of wide geofences'
/** Users with as many characters of metadata each. */
const WIDE_USERS = 300
const NOTE_CHARACTERS = 4000
const READING_MS = 3000

export function wideCases(size: WorldSize): HostileCase[] {
  let areUsers: Promise<unknown> | undefined
  let isInside: Promise<Answered> | undefined
  const users = (port: number) => (areUsers ??= trackWide(port))
  const inside = (port: number) => (isInside ??= track(port, updateAt(INSIDE, FAT)))
  const get = (
    name: string,
    path: string,
    before: (port: number) => Promise<unknown>,
    key = testSecret,
  ): HostileCase => ({
    name,
    prepare: async (port) => {
      await before(port)
      return () => answered(port, path, { headers: { authorization: key } })
    },
  })
  const wide = `${size.fat} geofences with metadata`
  const [longitude, latitude] = FAT
  return [
    get(`user in ${wide}`, `/v1/users/${encodeURIComponent(INSIDE)}`, inside),
    get(`explain in ${wide}`, `/v1/users/${encodeURIComponent(INSIDE)}/explain`, inside),
    get(`context in ${wide}`, `/v1/context?coordinates=${latitude},${longitude}`, inside, testPublishable),
    {
      name: `sync/region amid ${wide}`,
      prepare: (port) => () =>
        answered(port, '/v1/sync/region', {
          method: 'POST',
          headers: { ...headers, authorization: testPublishable },
          body: JSON.stringify({ latitude, longitude }),
        }),
    },
    get(
      `events with metadata, 1,000`,
      `/v1/events?limit=1000&deviceId=${encodeURIComponent(INSIDE)}`,
      inside,
    ),
    {
      // The whole of it, 1.7 GB, takes minutes.
      name: 'export of events, for three seconds',
      prepare: async (port) => {
        await inside(port)
        return () => readFor(READING_MS, port, '/v1/exports/events')
      },
    },
    get(`users with metadata, 1,000`, '/v1/users?limit=1000&sortBy=updatedAt', users),
    get(
      'search/users with metadata, 10 km',
      `/v1/search/users?near=${USERS[1]},${USERS[0]}&radius=10000&limit=100`,
      users,
    ),
    get('users, a text that none has', '/v1/users?limit=1000&text=nobody&includeTotal=true', users),
    get('users/density', '/v1/users/density?box=-180,-89,180,89&zoom=3', users),
    {
      name: 'events/stream from far back with metadata',
      prepare: async (port) => {
        await inside(port)
        const first = await firstEvent(port)
        return () => readEventStream(port, first, READING_MS)
      },
    },
  ]
}

/** Tracks users with much metadata, a few at a time. */
async function trackWide(port: number): Promise<void> {
  const metadata = { note: 'x'.repeat(NOTE_CHARACTERS) }
  for (let i = 0; i < WIDE_USERS; i += 10)
    await Promise.all(
      Array.from({ length: 10 }, (_, j) => track(port, { ...updateAt(`wide ${i + j}`, USERS), metadata })),
    )
}

function track(port: number, update: object): Promise<Answered> {
  return answered(port, '/v1/track', { method: 'POST', headers, body: JSON.stringify(update) })
}

/** The `_id` of the first event of the user inside of the wide geofences, once it is in the index. */
async function firstEvent(port: number): Promise<string> {
  const url = `http://127.0.0.1:${port}/v1/events?deviceId=${encodeURIComponent(INSIDE)}`
  for (;;) {
    const answer = await fetch(url, { headers })
    const { events } = (await answer.json()) as { events: { _id: string }[] }
    if (events.length > 0) return events.at(-1)!._id
    await sleep(100)
  }
}
