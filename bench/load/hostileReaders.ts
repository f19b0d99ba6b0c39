/**
 * Expensive requests of `bench/hostile.ts` whose cost comes after their answer: clients that read events from far
 * back, use long filters, receive them by webhooks, or watch the positions of all devices. Also requests to the
 * routing engine.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { answered, readEventStream, type Answered } from './hostileAnswers.ts'
import type { HostileCase } from './hostileCases.ts'
import { FEW, USERS, type WorldSize } from './hostileWorld.ts'
import { BENCH_KEYS } from './servers.ts'

const { testPublishable, testSecret } = BENCH_KEYS
const headers = { authorization: testSecret, 'content-type': 'application/json' }
/** How long each client reads. */
const READING_MS = 5000
/** The maximum of subscriptions per stream, and of items in a list of a filter. */
const SUBSCRIPTIONS = 100
const ITEMS = 1000
const SUBSCRIBED_STREAMS = 3
const WEBHOOKS = 20
const NOWHERE = '000000000000000000000000'

export function readerCases(size: WorldSize): HostileCase[] {
  let first: string | undefined
  const { updates } = size
  const events = updates * size.few
  return [
    {
      name: 'events/stream from far back',
      prepare: async (port, round) => {
        first ??= await replay(port, `far back ${round}`, 5 * updates)
        return () => readEventStream(port, first!, READING_MS)
      },
    },
    {
      name: `${events} events beside ${SUBSCRIBED_STREAMS * SUBSCRIPTIONS} subscriptions with 2 x ${ITEMS} items`,
      prepare: async (port, round) => {
        const sockets = await Promise.all(Array.from({ length: SUBSCRIBED_STREAMS }, () => subscribed(port)))
        return async () => {
          await replay(port, `subscribed ${round}`, updates)
          await sleep(READING_MS)
          for (const socket of sockets) socket.terminate()
          return { status: 200, bytes: 0 }
        }
      },
    },
    {
      name: `${events} events beside ${WEBHOOKS} webhooks`,
      prepare: async (port, round) => {
        const stop = await webhooks(port)
        return async () => {
          await replay(port, `hooked ${round}`, updates)
          await sleep(READING_MS)
          await stop()
          return { status: 200, bytes: 0 }
        }
      },
    },
    {
      name: `watch of ${size.users} users`,
      prepare: async (port) => {
        const socket = await open(port)
        return () => watch(socket)
      },
    },
    {
      name: `DELETE of a user with ${5 * events} events`,
      prepare: async (port, round) => {
        const id = `deleted ${round}`
        await replay(port, id, 5 * updates)
        return () => answered(port, `/v1/users/${encodeURIComponent(id)}`, { method: 'DELETE', headers })
      },
    },
    ...routing(),
  ]
}

/** Asks the routing engine about the sample region. */
function routing(): HostileCase[] {
  const places = (count: number) =>
    Array.from(
      { length: count },
      (_, i) => `${-34.9 - (i % 5) * 0.002},${-56.16 - Math.floor(i / 5) * 0.003}`,
    )
  const get = (name: string, path: string, query: Readonly<Record<string, string>>): HostileCase => ({
    name,
    prepare: async (port) => {
      await routesReady(port)
      return () =>
        answered(port, `${path}?${new URLSearchParams(query)}`, {
          headers: { authorization: testPublishable },
        })
    },
  })
  const all = places(25).join('|')
  return [
    get('matrix of 25 x 25', '/v1/route/matrix', { origins: all, destinations: all, mode: 'car' }),
    get('directions through 25 places', '/v1/route/directions', { locations: all }),
    {
      name: 'PUT of an isochrone of an hour',
      prepare: async (port) => {
        await routesReady(port)
        const body = {
          description: 'x',
          type: 'isochrone',
          coordinates: [-56.16, -34.9],
          mode: 'car',
          radius: 60,
        }
        const init = { method: 'PUT', headers, body: JSON.stringify(body) }
        return async () => {
          const answer = await answered(port, '/v1/geofences/hostile/isochrone', init)
          // The routes are computed after the answer.
          await sleep(1000)
          return answer
        }
      },
    },
  ]
}

async function routesReady(port: number): Promise<void> {
  const path = '/v1/route/distance?origin=-34.9059,-56.1913&destination=-34.9121,-56.1637&modes=car'
  for (let waited = 0; waited < 300; waited++) {
    if ((await answered(port, path, { headers: { authorization: testPublishable } })).status === 200) return
    await sleep(500)
  }
  throw new Error('The sample region is not there after 150 s.')
}

/** How many updates are in one request: the distributed engine accepts no more with so many events. */
const AT_ONCE = 60
/** A cluster that is busy with the events of earlier requests refuses more. */
const ATTEMPTS = 60

/** Makes events with each of the few geofences. Returns the `_id` of the first. */
async function replay(port: number, deviceId: string, count: number): Promise<string> {
  const now = Date.now()
  const replays = Array.from({ length: count }, (_, i) => ({
    deviceId,
    latitude: FEW[1] + (i % 2) * 0.1,
    longitude: FEW[0],
    accuracy: 5,
    updatedAtMs: now - (count - i) * 1000,
  }))
  let first: string | undefined
  for (let from = 0; from < count; from += AT_ONCE) {
    const id = await replaySome(port, replays.slice(from, from + AT_ONCE))
    first ??= id
  }
  return first!
}

/** Sends a part of a replay until it is accepted. Returns the `_id` of its first event. */
async function replaySome(port: number, replays: readonly object[]): Promise<string> {
  const init = { method: 'POST', headers, body: JSON.stringify({ replays }) }
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/track/replay`, init)
    const { meta, events } = (await answer.json()) as { meta: object; events: { _id: string }[] }
    if (answer.ok) return events[0]!._id
    if (answer.status !== 503 || attempt === ATTEMPTS)
      throw new Error(`A replay was answered ${answer.status}: ${JSON.stringify(meta)}`)
    await sleep(1000)
  }
}

async function open(port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/stream`, ['ringfence.json'], {
    headers: { authorization: testSecret },
  })
  await once(socket, 'open')
  return socket
}

/** A stream with filters for which each event must be compared with every item, and none matches. */
async function subscribed(port: number): Promise<WebSocket> {
  const socket = await open(port)
  const names = Array.from({ length: ITEMS - 1 }, (_, i) => `n${i}`)
  const filter = {
    types: [...names, 'user.entered_geofence'],
    deviceIds: [...names, NOWHERE],
  }
  for (let i = 0; i < SUBSCRIPTIONS; i++) {
    const answer = once(socket, 'message') as Promise<[Buffer]>
    socket.send(JSON.stringify({ type: 'subscribe', id: `s${i}`, filter }))
    const [text] = await answer
    // The stream has reached its limit of bytes for subscriptions.
    if (!text.includes('"subscribed"')) break
  }
  return socket
}

/** As many webhooks as allowed, which want all events. Returns a function that removes them. */
async function webhooks(port: number): Promise<() => Promise<void>> {
  const receiver = createServer((request, response) => {
    request.resume().once('end', () => response.end())
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  const ids: string[] = []
  for (let i = 0; i < WEBHOOKS; i++) {
    const body = JSON.stringify({ url: `${url}${i}`, mode: 'multiple' })
    const answer = await fetch(`http://127.0.0.1:${port}/v1/webhooks`, { method: 'POST', headers, body })
    const { webhook } = (await answer.json()) as { webhook: { _id: string } }
    ids.push(webhook._id)
  }
  return async () => {
    for (const id of ids)
      await fetch(`http://127.0.0.1:${port}/v1/webhooks/${id}`, { method: 'DELETE', headers })
    receiver.close()
    receiver.closeAllConnections()
  }
}

async function watch(socket: WebSocket): Promise<Answered> {
  let bytes = 0
  socket.on('message', (message: Buffer) => (bytes += message.length))
  const area = { type: 'circle', center: [...USERS], radius: 100_000 }
  socket.send(JSON.stringify({ type: 'watch', id: 'all', area }))
  await sleep(READING_MS)
  socket.terminate()
  return { status: 200, bytes }
}
