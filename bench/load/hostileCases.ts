/** The kinds of expensive requests that `bench/hostile.ts` sends, as any client with a key may. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { answered, type Answered } from './hostileAnswers.ts'
import { connectionCases } from './hostileConnections.ts'
import { frameCases } from './hostileFrames.ts'
import {
  BODY_BYTES,
  CROWD,
  FAT,
  FEW,
  RINGS,
  star,
  updateAt,
  USERS,
  zigzag,
  type WorldSize,
} from './hostileWorld.ts'
import { readerCases } from './hostileReaders.ts'
import { wideCases } from './hostileWide.ts'
import { BENCH_KEYS } from './servers.ts'

export interface HostileCase {
  readonly name: string
  /** Builds the request before anything is measured. The returned function sends it. */
  prepare(port: number, round: number): Promise<() => Promise<Answered>> | (() => Promise<Answered>)
}

const { testPublishable, testSecret } = BENCH_KEYS
const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const FLOOD_MS = 5000

/** Longitude and latitude. */
type Coordinates = readonly [number, number]

export function hostileCases(size: WorldSize): HostileCase[] {
  return [
    ...tracking(size),
    ...bodies(),
    ...connectionCases(),
    ...frameCases(),
    ...reading(),
    ...editing(),
    ...readerCases(size),
    ...wideCases(size),
    ...floods(),
  ]
}

function tracking(size: WorldSize): HostileCase[] {
  const replays = (name: string, place: readonly [number, number], count: number, devices = 1) =>
    post(name, '/v1/track/replay', (round) => ({
      replays: Array.from({ length: count }, (_, i) => ({
        ...update(`${name} ${round} ${i % devices}`, place, i % 2 === 0 ? 0 : 0.1),
        updatedAtMs: Date.now() - (count - i) * 1000,
      })),
    }))
  const track = (name: string, place: readonly [number, number], more: object = {}) =>
    post(name, '/v1/track', (round) => ({ ...update(`${name} ${round}`, place), ...more }))
  return [
    replays(`replay of 1,000 in and out of ${size.few} geofences`, FEW, 1000),
    replays(`replay of 600 in and out of ${size.few} geofences`, FEW, 600),
    replays(`replay of 1,000 in and out of ${size.crowd} geofences`, CROWD, 1000),
    replays(`replay of 20 in and out of ${size.crowd} geofences`, CROWD, 20),
    replays(`replay of 20 devices into ${size.crowd} geofences`, CROWD, 20, 20),
    track(`track into ${size.crowd} geofences`, CROWD),
    track(`track into ${size.fat} geofences with metadata`, FAT),
    track(`track amid ${size.rings} polygons, accuracy 5 km`, RINGS, { accuracy: 5000 }),
    track('track that wants 1,000 geofences around it', CROWD, {
      nearbyGeofences: true,
      nearbyGeofencesLimit: 1000,
    }),
    post(`anonymous track in ${size.crowd} geofences`, '/v1/track', () => update('anonymous', CROWD)),
    post(`anonymous replay of 100, ${size.crowd} geofences`, '/v1/track/replay', () => ({
      replays: Array.from({ length: 100 }, (_, i) => ({
        ...update('anonymous', CROWD, i % 2 === 0 ? 0 : 0.1),
        updatedAtMs: Date.now() - (100 - i) * 1000,
      })),
    })),
    post(`sync/region amid ${size.crowd} geofences`, '/v1/sync/region', () => whereabouts(CROWD)),
    post(`sync/region amid ${size.rings} polygons`, '/v1/sync/region', () => whereabouts(RINGS)),
    get(`context in ${size.crowd} geofences`, `/v1/context?coordinates=${point(CROWD)}`, testPublishable),
    atOnce(
      track(`tracks of ${size.atOnce} devices into ${size.crowd} geofences at once`, CROWD),
      size.atOnce,
    ),
    ...[
      post(`${AT_ONCE} anonymous tracks in ${size.crowd} geofences at once`, '/v1/track', () =>
        update('anonymous', CROWD),
      ),
      post(`${AT_ONCE} times sync/region amid ${size.crowd} geofences at once`, '/v1/sync/region', () =>
        whereabouts(CROWD),
      ),
      get(
        `${AT_ONCE} contexts in ${size.crowd} geofences at once`,
        `/v1/context?coordinates=${point(CROWD)}`,
        testPublishable,
      ),
      get(
        `${AT_ONCE} searches amid ${size.crowd} geofences at once`,
        `/v1/search/geofences?near=${point(CROWD)}&limit=1000&includeGeometry=false`,
        testPublishable,
      ),
    ].map((one) => atOnce(one, AT_ONCE)),
  ]
}

/** How many requests of some kinds are sent at the same time. */
const AT_ONCE = 100

/** The same request from many clients at the same time, each with a device of its own. */
function atOnce({ name, prepare }: HostileCase, count: number): HostileCase {
  return {
    name,
    prepare: async (port, round) => {
      const sends = await Promise.all(
        Array.from({ length: count }, (_, i) => prepare(port, round * count + i)),
      )
      return async () => {
        const answers = await Promise.all(sends.map((begin) => begin()))
        const worst = Math.max(...answers.map(({ status }) => status))
        return { status: worst, bytes: answers.reduce((sum, { bytes }) => sum + bytes, 0) }
      }
    },
  }
}

/** Sends bodies of a megabyte to an endpoint that needs none of it. */
function bodies(): HostileCase[] {
  const fill = (open: string, item: (i: number) => string, close: string) => {
    const items: string[] = []
    for (let i = 0, length = 0; length < BODY_BYTES - 100; i++) {
      const text = item(i)
      items.push(text)
      length += text.length + 1
    }
    return open + items.join(',') + close
  }
  const texts: Readonly<Record<string, string>> = {
    'empty lists': fill('{"x":[', () => '[]', ']}'),
    'empty objects': fill('{"x":[', () => '{}', ']}'),
    'objects of one member': fill('{"x":[', () => '{"a":1}', ']}'),
    'objects with names of their own': fill('{"x":[', (i) => `{"${i.toString(36)}":1}`, ']}'),
    members: fill('{', (i) => `"${i.toString(36)}":1`, '}'),
    'nested lists': '['.repeat(BODY_BYTES / 2) + ']'.repeat(BODY_BYTES / 2),
    'nested objects': '{"a":'.repeat(BODY_BYTES / 6) + '1' + '}'.repeat(BODY_BYTES / 6),
    numbers: fill('{"x":[', () => '1', ']}'),
    'long numbers': fill('{"x":[', () => '1.2345678901234567e-300', ']}'),
    escapes: `{"x":"${'\\u0041'.repeat(BODY_BYTES / 6)}"}`,
    blanks: ' '.repeat(BODY_BYTES),
    'broken at its end': fill('{"x":[', () => '[]', '],}'),
    'empty updates (replay)': fill('{"replays":[', () => '{}', ']}'),
  }
  return [
    ...Object.entries(texts).map(([name, text]) =>
      send(
        `1 MB JSON: ${name}`,
        'POST',
        name.includes('replay') ? '/v1/track/replay' : '/v1/track',
        text,
        JSON_TYPE,
      ),
    ),
    ...Object.entries({
      names: Array.from({ length: 150_000 }, (_, i) => `a${i.toString(36)}=`)
        .join('&')
        .slice(0, BODY_BYTES),
      separators: '&'.repeat(BODY_BYTES),
      metadata: Array.from({ length: 60_000 }, (_, i) => `metadata[${i.toString(36)}]=1`)
        .join('&')
        .slice(0, BODY_BYTES),
      'repeated names': 'beacons[]=1&'.repeat(BODY_BYTES / 12),
      brackets: `beacons${'[a]'.repeat(BODY_BYTES / 3 - 10)}=1`,
      escapes: `description=${'%41'.repeat(BODY_BYTES / 3 - 10)}`,
    }).map(([name, text]) => send(`1 MB form: ${name}`, 'POST', '/v1/track', text, FORM_TYPE)),
  ]
}

/** Opens streams that send as fast as they can for some seconds, whatever the answers are. */
function floods(): HostileCase[] {
  const flooding = (name: string, crossing?: Coordinates): HostileCase => ({
    name,
    prepare: async (port) => {
      if (crossing !== undefined) await putCircle(port, crossing)
      return () => floodFor(port, crossing)
    },
  })
  const floodFor = async (port: number, crossing: Coordinates | undefined): Promise<Answered> => {
    const workerData = { port, streams: 6, key: testPublishable, crossing }
    const worker = new Worker(new URL('floodThread.ts', import.meta.url), { workerData })
    await once(worker, 'message')
    await sleep(FLOOD_MS)
    await worker.terminate()
    return { status: 200, bytes: 0 }
  }
  return [
    flooding('six flooding streams'),
    flooding('six flooding streams, each update into or out of a geofence', [-60, -60]),
  ]
}

async function putCircle(port: number, center: Coordinates): Promise<void> {
  const body = { description: 'Crossed', type: 'circle', coordinates: center, radius: 100 }
  const answer = await fetch(`http://127.0.0.1:${port}/v1/geofences/flood/crossed`, {
    method: 'PUT',
    headers: { authorization: testSecret, 'content-type': JSON_TYPE },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`The geofence of the floods was answered ${answer.status}`)
}

function reading(): HostileCase[] {
  return [
    get(
      'search/geofences, 100 polygons of 2,000 corners',
      `/v1/search/geofences?near=${point(RINGS)}&limit=100`,
      testPublishable,
    ),
    get(
      'search/geofences, 1,000 without geometry',
      `/v1/search/geofences?near=${point(CROWD)}&limit=1000&includeGeometry=false`,
      testPublishable,
    ),
    get(
      'search/geofences, a filter that nothing matches',
      `/v1/search/geofences?near=${point(USERS)}&metadata[number]=-1`,
      testPublishable,
    ),
    get(
      'search/geofences with much metadata',
      `/v1/search/geofences?near=${point(FAT)}&limit=1000&includeGeometry=false`,
      testPublishable,
    ),
    get('geofences, 1,000 with much metadata', '/v1/geofences?limit=1000&tag=fat', testSecret),
    get('geofences, 1,000 with geometry', '/v1/geofences?limit=1000&tag=crowd', testSecret),
    get('geofences, a tag that none has', '/v1/geofences?tag=none', testSecret),
    get('users, 1,000', '/v1/users?limit=1000', testSecret),
    get('users, a filter that nothing matches', '/v1/users?userId=nobody', testSecret),
    get('search/users', `/v1/search/users?near=${point(USERS)}&radius=10000&limit=100`, testSecret),
    get(
      'search/users, a filter that nothing matches',
      `/v1/search/users?near=${point(USERS)}&radius=10000&metadata[number]=-1`,
      testSecret,
    ),
    get('users inside a geofence', '/v1/geofences/strewn/1/users?limit=1000', testSecret),
    get('users in a geofence of the crowd', '/v1/geofences/crowd/1/users?limit=1000', testSecret),
    get('explain amid the crowd', () => `/v1/users/${encodeURIComponent(crowded)}/explain`, testSecret),
    get('events, 1,000', '/v1/events?limit=1000', testSecret),
    get('events, a filter that nothing matches', '/v1/events?limit=1000&userId=nobody', testSecret),
    get('export of geofences, CSV', '/v1/exports/geofences', testSecret),
    get('export of geofences, GeoJSON', '/v1/exports/geofences?format=geojson', testSecret),
    get('metrics', '/metrics', undefined),
    get('openapi.json', '/v1/openapi.json', undefined),
    get('docs', '/docs', undefined),
  ]
}

/** The device of the single track into the crowd. */
let crowded = ''

function editing(): HostileCase[] {
  const polygon = (name: string, ring: () => unknown) =>
    send(
      name,
      'PUT',
      '/v1/geofences/hostile/ring',
      () => JSON.stringify({ description: 'x', type: 'polygon', coordinates: [ring()] }),
      JSON_TYPE,
      testSecret,
    )
  return [
    polygon('PUT of a star of 2,000 corners', () => star(RINGS, 0.02)),
    polygon('PUT of a zigzag that crosses itself at its end', () => zigzag(RINGS)),
    polygon('PUT of a ring of one point', () => Array.from({ length: 2000 }, () => RINGS)),
    polygon('PUT of 40,000 positions', () => Array.from({ length: 40_000 }, () => RINGS)),
    send(
      'PATCH of settings with 20,000 identifiers',
      'PATCH',
      '/v1/settings',
      JSON.stringify({
        beaconUuids: Array.from({ length: 20_000 }, (_, i) => i.toString(16).padStart(32, '0')),
      }),
      JSON_TYPE,
      testSecret,
    ),
    send(
      'PUT of a geofence for 10,000 users',
      'PUT',
      '/v1/geofences/hostile/users',
      JSON.stringify({
        description: 'x',
        type: 'circle',
        coordinates: [...USERS],
        radius: 100,
        userIds: Array.from({ length: 10_000 }, (_, i) => `user-${i}`),
      }),
      JSON_TYPE,
      testSecret,
    ),
    send(
      'import of 500 stars of 2,000 corners',
      'POST',
      '/v1/imports/geofences',
      () => {
        const coordinates = JSON.stringify([
          star(RINGS, 0.02).map((position) => position.map((x) => Number(x.toFixed(6)))),
        ])
        const rows = Array.from({ length: 500 }, (_, i) => `star ${i},polygon,"${coordinates}",imported,${i}`)
        return ['description,type,coordinates,tag,externalId', ...rows].join('\n')
      },
      'text/csv',
      testSecret,
    ),
  ]
}

function update(deviceId: string, place: Coordinates, north = 0) {
  if (deviceId.startsWith('track into') && crowded === '') crowded = deviceId
  return updateAt(deviceId, place, north)
}

function whereabouts([longitude, latitude]: readonly [number, number]) {
  return { latitude, longitude }
}

function point([longitude, latitude]: readonly [number, number]): string {
  return `${latitude},${longitude}`
}

function post(name: string, path: string, body: (round: number) => object): HostileCase {
  return send(name, 'POST', path, (round) => JSON.stringify(body(round)), JSON_TYPE)
}

function send(
  name: string,
  method: string,
  path: string,
  body: string | ((round: number) => string),
  contentType: string,
  key = testPublishable,
): HostileCase {
  return {
    name,
    prepare: (port, round) => {
      const content = Buffer.from(typeof body === 'string' ? body : body(round))
      const headers = { authorization: key, 'content-type': contentType }
      return () => answered(port, path, { method, headers, body: content })
    },
  }
}

function get(name: string, path: string | (() => string), key: string | undefined): HostileCase {
  return {
    name,
    prepare: (port) => () =>
      answered(port, typeof path === 'string' ? path : path(), {
        headers: key === undefined ? {} : { authorization: key },
      }),
  }
}
