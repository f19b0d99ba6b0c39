/** The whole life of trips through the API, for any engine: what a courier, a customer's page and a backend see. */
import { setTimeout as sleep } from 'node:timers/promises'
import { KEYS } from '../kit/server.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
export type Body = Record<string, any>
export type Api = (
  method: string,
  path: string,
  body?: Body,
  key?: string,
) => Promise<{ readonly status: number; readonly body: Body }>

export const HOME = { destinationGeofenceTag: 'store', destinationGeofenceExternalId: 'home' }

export function tripApi(url: string): Api {
  return async (method, path, body, key = KEYS.testSecret) => {
    const answer = await fetch(url + path, {
      method,
      headers: { Authorization: key, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Body }
  }
}

/** Later than the registry of any process is behind (T3). */
const SEEN_MS = 1000
/** Of the updates; the same in each run. */
const START = Math.floor((Date.now() - 7_200_000) / 60_000) * 60_000

/** Plays the story; returns every answer without what always differs. */
export async function drive(api: Api): Promise<unknown[]> {
  const answers: unknown[] = []
  const call = async (method: string, path: string, body?: Body, key?: string) => {
    const answer = await api(method, path, body, key)
    answers.push([method, path.replace(/[0-9a-f]{24}/, ''), plain(answer)])
    return answer.body
  }
  const track = (deviceId: string, meters: number, seconds: number, more: Body = {}) =>
    call(
      'POST',
      '/v1/track',
      {
        deviceId,
        latitude: -34.9,
        longitude: -56.19 - meters / 91_290,
        accuracy: 5,
        stopped: true,
        updatedAt: new Date(START + seconds * 1000).toISOString(),
        ...more,
      },
      KEYS.testPublishable,
    )
  for (const [externalId, longitude] of [
    ['home', -56.19],
    ['work', -56.25],
  ] as const)
    await call('PUT', `/v1/geofences/store/${externalId}`, {
      description: externalId,
      type: 'circle',
      coordinates: [longitude, -34.9],
      radius: 100,
    })
  await call('PATCH', '/v1/settings', {
    tripUpdateSeconds: 0,
    tripDelayThreshold: 5,
    tripWrongDestinationEvents: true,
  })

  // A backend makes the trip, the app names it too; two devices of one user; the customer's page reads.
  await call('POST', '/v1/trips', { externalId: 'order/1', ...HOME })
  const scheduledArrivalAt = new Date(START + 60_000).toISOString()
  await call(
    'POST',
    '/v1/trips',
    { externalId: 'order/1', userId: 'mia', scheduledArrivalAt },
    KEYS.testPublishable,
  )
  await sleep(SEEN_MS)
  const mia = { userId: 'mia' }
  await track('phone', 20_000, 0, mia)
  await track('watch', 10_000, 60, mia)
  await track('phone', 60_000, 30, mia)
  await track('phone', 5477, 300, mia)
  await call('GET', `/v1/trips/${encodeURIComponent('order/1')}`)
  await track('phone', 1000, 400, mia)
  await track('phone', 0, 500, mia)
  await track('phone', 300, 600, mia)
  await call('GET', '/v1/users/mia')
  await call(
    'PATCH',
    '/v1/trips/order/1/update',
    { userId: 'mia', status: 'completed' },
    KEYS.testPublishable,
  )
  await track('phone', 300, 700, mia)
  await call('PATCH', '/v1/trips/order/1/update', { status: 'completed' })
  await call('PATCH', '/v1/trips/order/1/update', { status: 'canceled' })
  await call('PATCH', '/v1/trips/order/1/update', { status: 'started' })
  await call('DELETE', `/v1/trips/${encodeURIComponent('order/1')}`)

  // tripOptions make a trip, whose destination comes later; another device cannot have it.
  const tripOptions = {
    externalId: 'order-2',
    destinationGeofenceTag: 'store',
    destinationGeofenceExternalId: 'later',
    mode: 'bike',
    version: '2',
  }
  await track('bike', 9000, 0, { tripOptions })
  await track('thief', 9000, 10, { tripOptions })
  await call('PUT', '/v1/geofences/store/later', {
    description: 'later',
    type: 'circle',
    coordinates: [-56.19, -34.9],
    radius: 200,
  })
  await sleep(SEEN_MS)
  await track('bike', 8000, 100, { tripOptions })
  await track('bike', 150, 700, { tripOptions })
  await call('PATCH', '/v1/trips/order-2', { status: 'canceled' })
  await track('bike', 100, 800, { tripOptions })

  // Legs: the courier leaves the first stop, and a clerk closes the second.
  const { trip } = await call('POST', '/v1/trips', {
    externalId: 'round',
    userId: 'leo',
    legs: [
      { destination: { coordinates: [-56.25, -34.9] }, stopDuration: 3 },
      { destination: HOME },
      { destination: { coordinates: [-56.1, -34.9], arrivalRadius: 50 } },
    ],
  })
  await sleep(SEEN_MS)
  const leo = { userId: 'leo' }
  await track('van', 9000, 0, leo)
  await track('van', 5477, 600, leo)
  await track('van', 4000, 900, leo)
  const [, second, third] = trip.legs.map(({ _id }: { _id: string }) => _id)
  await call('PATCH', `/v1/trips/round/legs/${second}`, { status: 'completed' })
  await call('PUT', '/v1/trips/round/legs', { legs: [third] })
  await track('van', 3000, 1000, leo)
  await call('POST', '/v1/track/replay', {
    replays: [2000, 1000, -8216].map((meters, i) => ({
      deviceId: 'van',
      ...leo,
      latitude: -34.9,
      longitude: -56.19 - meters / 91_290,
      accuracy: 5,
      stopped: true,
      replayed: true,
      updatedAtMs: START + (1100 + 300 * i) * 1000,
    })),
  })
  await call('GET', '/v1/trips/round')
  await call('GET', '/v1/trips?status=arrived&includeLocations=true&sortBy=createdAt')

  // Their user is removed.
  await call('DELETE', '/v1/users/leo')
  for (let i = 0; (await api('GET', '/v1/trips/round')).body.trip.status !== 'canceled' && i < 500; i++)
    await sleep(20)
  await call('GET', '/v1/trips/round')

  const events = await eventsOf(api)
  answers.push(
    ['order/1', 'order-2', 'round'].map((name) =>
      events
        .filter(({ trip: of }) => of?.externalId === name)
        .map(({ type, trip: of, createdAt }) => {
          const { status, eta, delay } = of
          const at = createdAt < new Date(START + 7_000_000).toISOString() ? createdAt : 'now'
          return { type, status, eta, delay, at }
        }),
    ),
  )
  return answers
}

/** How many times each trip starts and stops. */
const RUNS: Readonly<Record<string, { readonly starts: number; readonly stops: number }>> = {
  'order/1': { starts: 2, stops: 1 },
  'order-2': { starts: 1, stops: 1 },
  round: { starts: 1, stops: 1 },
}

/** All events of trips, oldest first, once the last one of each trip is there: partitions keep no order among them. */
async function eventsOf(api: Api): Promise<Body[]> {
  for (;;) {
    const { events } = (await api('GET', '/v1/events?limit=1000')).body as { events: Body[] }
    const ofTrips = events.filter(({ type }) => type.includes('trip')).toReversed()
    const countOf = (name: string, of: string) =>
      ofTrips.filter(({ type, trip }) => type === of && trip.externalId === name).length
    const isThere = Object.entries(RUNS).map(
      ([name, { starts, stops }]) =>
        countOf(name, 'user.started_trip') >= starts && countOf(name, 'user.stopped_trip') >= stops,
    )
    if (isThere.every(Boolean)) return ofTrips
    await sleep(50)
  }
}

const TIMES = /^(?:createdAt|updatedAt|endedAt|completedAt|arrivedAt|startedAt|actual.*At)$/

/** An answer without ids and times of the server. */
function plain(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (key, value) => {
    if (/^(?:_id|ip|requestId|currentLeg|currentLegId|destinationGeofenceId)$/.test(key)) return undefined
    if (key === 'source' && value.geofence !== undefined) return value.data
    if (TIMES.test(key)) return Date.parse(value) < START + 7_000_000 ? value : 'now'
    return key === 'scheduledArrivalTimeDelay' ? undefined : value
  })
}
