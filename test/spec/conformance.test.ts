import t from 'tap'
import { KEYS, startServer, type Server } from '../kit/server.ts'
import { FIELDS } from './fields.ts'
import { ABSENT, BASES, PARAMETERS, type Base, type Parameter } from './parameters.ts'
import { ROUTING_BASES, ROUTING_FIELDS, ROUTING_PARAMETERS, ROUTING_STORY } from './routing.ts'

/** Tests each parameter and field of the interface on a real server. */
const server = await startServer(t, { sample: true })
const bases = { ...BASES, ...ROUTING_BASES }
const story = await play(server)

t.test('parameters', async (t) => {
  for (const parameter of [...PARAMETERS, ...ROUTING_PARAMETERS]) {
    const { name, says, good, bad } = parameter
    for (const base of basesOf(parameter)) {
      const title = `${base.method} ${base.path} ${name} (${says})`
      await t.test(title, async (t) => {
        for (const value of good) {
          const { status, body } = await send(base, parameter, value)
          t.equal(status, 200, `${shown(value)}: ${JSON.stringify(body.meta)}`)
        }
        for (const value of bad) {
          const { status, body } = await send(base, parameter, value)
          t.match([status, body.meta], [400, { code: 400, param: parameter.blamed ?? name }], shown(value))
          t.equal(body.meta.param, parameter.blamed ?? name)
        }
      })
    }
  }
})

t.test('fields', async (t) => {
  for (const { of, name, says, is } of [...FIELDS, ...ROUTING_FIELDS]) {
    const value = name.split('.').reduce((object, key) => object?.[key], story[of])
    t.ok(is(value), `${of}: ${name} (${says}) is ${JSON.stringify(value)?.slice(0, 100)}`)
  }
})

t.test('no endpoint answers success with another status or without meta.code', async (t) => {
  for (const base of Object.values(bases)) {
    const { status, body } = await send(base, undefined, undefined)
    t.match([status, body], [200, { meta: { code: 200 } }], `${base.method} ${base.path}`)
  }
})

/** The upsert takes the same parameters as the creation, except for the pair, which is in its path. */
function basesOf({ endpoint, name }: Parameter): Base[] {
  const base = bases[endpoint]!
  const upsert = bases[`${endpoint.replace('POST', 'PUT')}/:tag/:externalId`]
  const inPath = name === 'tag' || name === 'externalId'
  return upsert === undefined || base.method !== 'POST' || inPath ? [base] : [base, upsert]
}

let created = 0

async function send(base: Base, parameter: Parameter | undefined, value: unknown) {
  const request: Record<string, unknown> = { ...base.request, ...parameter?.beside }
  if (base.path === '/v1/geofences') request.externalId = `spec-${created++}`
  if (parameter !== undefined) request[parameter.name] = value
  for (const [name, one] of Object.entries(request)) if (one === ABSENT) delete request[name]
  const key = base.level === 'secret' ? KEYS.testSecret : KEYS.testPublishable
  if (base.in === 'body') return server.api(base.method, base.path, request, key)
  const query = Object.entries(request).map(([name, one]) => `${name}=${encodeURIComponent(String(one))}`)
  return server.api(base.method, `${base.path}?${query.join('&')}`, undefined, key)
}

function shown(value: unknown): string {
  return value === ABSENT ? 'absent' : JSON.stringify(value).slice(0, 80)
}

/** Answers that together contain every field of the interface's tracking part. */
// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
async function play(on: Server): Promise<Record<string, any>> {
  const metadata = { text: 'a', number: 1.5, boolean: true }
  await on.api('PUT', '/v1/geofences/spec/everything', {
    description: 'Everything',
    type: 'circle',
    coordinates: [9, 51],
    radius: 500,
    metadata,
    operatingHours: { sun: [['00:00', '24:00']], mon: [['00:00', '24:00']] },
  })
  const ibeacon = { type: 'ibeacon', uuid: 'b9407f30-f5f8-466e-aff9-25556b57fe6d', major: '100', minor: '1' }
  const eddystone = { type: 'eddystone', uid: '8b0ca750e7a7e14bd99d', instance: '095477cb3e77' }
  const place = { coordinates: [9, 51], enabled: true }
  await on.api('PUT', '/v1/beacons/spec/i', { ...ibeacon, ...place, description: 'I' })
  await on.api('PUT', '/v1/beacons/spec/e', { ...eddystone, ...place, description: 'E' })
  const update = {
    deviceId: 'spec-device',
    userId: 'spec-user',
    latitude: 51,
    longitude: 9,
    accuracy: 5,
    foreground: true,
    stopped: true,
    description: 'Spec',
    metadata,
    deviceType: 'iOS',
    beacons: [ibeacon, eddystone],
  }
  const track = (await on.api('POST', '/v1/track', update, KEYS.testPublishable)).body
  const live = (await on.api('POST', '/v1/track', update, KEYS.livePublishable)).body
  const get = async (path: string) => (await on.api('GET', path)).body
  const search = await get('/v1/search/geofences?near=51,9')
  const ways: Record<string, unknown> = {}
  for (const [endpoint, request] of Object.entries(ROUTING_STORY)) {
    ways[`Answer of ${endpoint}`] = (await send({ ...bases[endpoint]!, request }, undefined, undefined)).body
  }
  const event = track.events.find((one: { type: string }) => one.type === 'user.entered_geofence')
  return {
    ...ways,
    'Answer of POST /v1/track': track,
    User: track.user,
    'User of a live key': live.user,
    'Geofence in user context': track.user.geofences[0],
    Event: event,
    'Geofence in an event': event?.geofence,
    'Event of a beacon': track.events.find((one: { type: string }) => one.type === 'user.entered_beacon'),
    'Beacon in user context (ibeacon)': track.user.beacons.find(
      (one: { type: string }) => one.type === 'ibeacon',
    ),
    'Beacon in user context (eddystone)': track.user.beacons.find(
      (one: { type: string }) => one.type === 'eddystone',
    ),
    'Answer of GET /v1/search/geofences': search,
    'Geofence of search geofences': search.geofences[0],
    'Answer of GET /v1/search/users': await get('/v1/search/users?near=51,9'),
    'Answer of GET /v1/context': await get('/v1/context?coordinates=51,9'),
    Error: (await on.api('POST', '/v1/track', { ...update, latitude: 91 })).body,
  }
}
