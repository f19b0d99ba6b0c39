/**
 * Every call that native SDKs make, with the bodies and headers that they send. The answers are read by a parser that
 * is as strict as theirs (nativeParser.ts). The web SDK itself is tested in sdk.test.ts.
 */
import t from 'tap'
import { KEYS, type HttpAnswer } from '../kit/server.ts'
import { briefly, north, startApi, type Json } from './contract.ts'
import * as native from './nativeParser.ts'

const { testPublishable } = KEYS
const api = await startApi(t)
const here: [number, number] = [10, 50]
const [longitude, latitude] = here
const UUID = '7f5e8a3c-0a4e-4b6e-9b1f-2f1f7e0d9a01'
const SQUARE = [
  [9.99, 49.99],
  [10.01, 49.99],
  [10.01, 50.01],
  [9.99, 50.01],
  [9.99, 49.99],
]

const PLATFORMS = ['iOS', 'Android'] as const

function headersOf(platform: string): Record<string, string> {
  return {
    'X-Radar-Config': 'true',
    'X-Radar-Device-Make': 'Maker',
    'X-Radar-Device-Model': 'Model 1,2',
    'X-Radar-Device-OS': '17.1',
    'X-Radar-Device-Type': platform,
    'X-Radar-Mobile-Origin': 'com.example.app',
    'X-Radar-Network-Type': 'wifi',
    'X-Radar-App-Info': '{"name":"x"}',
    'X-Radar-SDK-Version': '3.21.3',
    'X-Radar-X-Platform-SDK-Type': 'Native',
  }
}

/** What both SDKs put into every track. */
function locationOf(platform: string, place: Json = {}): Json {
  return {
    latitude,
    longitude,
    accuracy: 8.5,
    altitude: 30.5,
    verticalAccuracy: -1,
    speed: -1,
    speedAccuracy: -1,
    course: 180,
    courseAccuracy: 2,
    floorLevel: 1,
    updatedAtMsDiff: 1200,
    locationMs: platform === 'iOS' ? Date.now() - 1200.25 : 468_217,
    foreground: false,
    stopped: true,
    replayed: false,
    deviceType: platform,
    deviceMake: 'Maker',
    sdkVersion: '3.21.3',
    deviceModel: 'Model 1,2',
    deviceOS: '17.1',
    country: 'DE',
    timeZoneOffset: 3600,
    source: 'GEOFENCE_ENTER',
    xPlatformType: 'Native',
    mocked: false,
    nearbyGeofences: true,
    nearbyGeofencesLimit: 10,
    locationAuthorization: 'GRANTED_BACKGROUND',
    locationAccuracyAuthorization: 'FULL',
    trackingOptions: { desiredStoppedUpdateInterval: 3600, sync: 'all', beacons: true },
    usingRemoteTrackingOptions: false,
    verified: false,
    appId: 'com.example.app',
    locationMetadata: { heading: {}, battery: 0.5 },
    ...place,
  }
}

function identityOf(platform: string): Json {
  return {
    anonymous: false,
    id: null,
    installId: `install-${platform}`,
    userId: `user-${platform}`,
    deviceId: `device-${platform}`,
    description: null,
    metadata: { plan: 'gold', age: 3, beta: true },
    sessionId: '1700000000',
  }
}

/** A scan as each SDK writes it; the signal strength does not matter here. */
const RANGED: Record<string, Json> = {
  iOS: { _id: 'x', type: 'ibeacon', uuid: UUID, major: '1', minor: '2', rssi: -50, geometry: null },
  Android: { type: 'eddystone', uid: 'aabbccddeeff00112233', instance: '001122334455', rssi: -50 },
}

/** A call of a native SDK that must be answered with 200. */
async function call(platform: string, method: string, path: string, body?: Json): Promise<HttpAnswer> {
  const answer = await api.call(method, path, body, testPublishable, headersOf(platform))
  if (answer.status !== 200) throw new Error(`${method} ${path} → ${JSON.stringify(answer.body)}`)
  return answer
}

await api.circle('shops/1', here, 100, { metadata: { floor: 2 } })
const squareBody = { description: 'Square', type: 'polygon', coordinates: SQUARE }
await api.call('PUT', '/v1/geofences/squares/1', squareBody)
await api.call('POST', '/v1/beacons', {
  description: 'Till',
  type: 'ibeacon',
  uuid: UUID,
  major: 1,
  minor: 2,
  coordinates: here,
})
await api.call('PUT', '/v1/beacons/doors/1', {
  description: 'Door',
  type: 'eddystone',
  uid: 'AABBCCDDEEFF00112233',
  instance: '001122334455',
  coordinates: here,
  metadata: { level: 1 },
})

for (const platform of PLATFORMS) {
  t.test(`${platform}: track, with geofences and beacons, and back`, async (t) => {
    const inside = { ...identityOf(platform), ...locationOf(platform), beacons: [RANGED[platform]] }
    const { body } = await call(platform, 'POST', '/v1/track', inside)
    native.readTrack(body)
    t.match(
      body.events.map(({ type }: Json) => type),
      ['user.entered_geofence', 'user.entered_geofence', 'user.entered_beacon'],
    )
    t.equal(body.user.source, 'GEOFENCE_ENTER')
    t.equal(Date.parse(body.user.actualUpdatedAt) - Date.parse(body.user.updatedAt), 1200)
    t.match(
      body.user.geofences.map(({ type, geometryRadius }: Json) => [type, Math.round(geometryRadius)]).sort(),
      [
        ['circle', 100],
        ['polygon', 1323],
      ],
    )
    t.strictSame(body.events[0].geofence, body.user.geofences[0])
    t.equal(body.user.beacons.length, 1)
    t.equal(body.nearbyBeacons.length, 2)
    t.equal(body.nearbyGeofences.length, 2)
    const age = Date.parse(body.events[0].actualCreatedAt) - Date.parse(body.events[0].createdAt)
    t.equal(age, 1200, 'the location was that old')

    const away = { ...locationOf(platform, { latitude: 51 }), beacons: [] }
    const out = (await call(platform, 'POST', '/v1/track', { ...identityOf(platform), ...away })).body
    native.readTrack(out)
    t.equal(out.events.length, 3)
    t.strictSame([out.user.geofences, out.user.beacons, out.nearbyBeacons], [[], [], []])
    t.equal(out.user._id, body.user._id)
  })

  t.test(`${platform}: anonymous, with the state from the SDK`, async (t) => {
    const track = async (more: Json) => {
      const state = { anonymous: true, deviceId: 'anonymous', placeId: null, regionIds: [] }
      const update = { ...locationOf(platform, more), ...state }
      const { body } = await call(platform, 'POST', '/v1/track', update)
      native.readTrack(body)
      return body
    }
    const ids = (list: Json[]) => list.map(({ _id }) => _id)
    const first = await track({ geofenceIds: [], beaconIds: [], beacons: [RANGED[platform]] })
    t.equal(first.events.length, 3)
    const held = { geofenceIds: ids(first.user.geofences), beaconIds: ids(first.user.beacons) }
    t.strictSame((await track(held)).events, [])
    const out = await track({ ...held, latitude: 51 })
    t.equal(out.events.length, 3)
    t.strictSame([out.user.geofences, out.user.beacons], [[], []])
  })

  t.test(`${platform}: updates that it could not send come as a replay`, async (t) => {
    const now = Date.now()
    const replays = [3, 1, 2].map((minutes) => ({
      ...identityOf(platform),
      ...locationOf(platform, { latitude: minutes === 3 ? latitude : north(latitude, 9000 * minutes) }),
      deviceId: `replayed-${platform}`,
      replayed: true,
      updatedAtMs: now - minutes * 60_000,
    }))
    const { body } = await call(platform, 'POST', '/v1/track/replay', { replays })
    native.readTrack(body)
    t.equal(body.events.length, 4, 'two geofences entered and left')
    t.ok(body.events.every(({ replayed }: Json) => replayed))
    t.equal(body.nearbyGeofences.length, 2, 'around the latest')
  })

  t.test(`${platform}: conversions, and verdicts on events`, async (t) => {
    const { installId, userId, deviceId } = identityOf(platform)
    const conversion = {
      name: 'opened_app',
      type: 'opened_app',
      installId,
      userId,
      deviceId,
      metadata: { revenue: 2 },
    }
    const { body } = await call(platform, 'POST', '/v1/events', conversion)
    native.readConversion(body)
    t.equal(body.event.type, 'opened_app')
    // Android sends the names of its enumeration values.
    const verification = platform === 'iOS' ? -1 : 'REJECT'
    const path = `/v1/events/${body.event._id}/verification`
    // Both SDKs read only the status of this answer.
    const verified = await call(platform, 'PUT', path, { verification, verifiedPlaceId: null })
    t.strictSame(verified.body, { meta: { code: 200 } })
    t.equal((await api.call('GET', `/v1/events/${body.event._id}`)).body.event.verification, -1)
  })

  t.test(`${platform}: requests that it makes by itself`, async (t) => {
    const config = await call(
      platform,
      'GET',
      '/v1/config?installId=i&sessionId=1&id=null&locationAuthorization=NOT_DETERMINED&usage=initialize&verified=false',
    )
    native.readConfig(config.body)
    const context = await call(platform, 'GET', `/v1/context?coordinates=50.000000,10.000000`)
    native.readContext(context.body)
    t.equal(context.body.context.geofences.length, 2)
    const region = await call(platform, 'POST', '/v1/sync/region', { latitude, longitude, userId: 'u' })
    native.readSyncRegion(region.body)
    t.equal(region.body.geofences.length, 2)
    t.equal(region.body.beacons.length, platform === 'iOS' ? 1 : 2)
    if (platform === 'iOS') native.readIosBeacons(region.body.beacons)
    t.strictSame(region.body.region, { latitude, longitude, radius: 10_000 })
    const near = 'near=50.000000,10.000000&radius=1000&limit=10'
    native.readGeofences((await call(platform, 'GET', `/v1/search/geofences?${near}&metadata[floor]=2`)).body)
    const beacons = await call(platform, 'GET', `/v1/search/beacons?${near}`)
    native.readBeacons(beacons.body)
    t.equal(beacons.body.beacons.length, platform === 'iOS' ? 1 : 2)
    if (platform === 'iOS') native.readIosBeacons(beacons.body.beacons)
    const logs = { id: 'x', deviceId: 'd', logs: [{ level: 'DEBUG', message: 'm', createdAt: '2026-11-20' }] }
    await call(platform, 'POST', '/v1/logs', logs)
    await call(platform, 'POST', '/v1/search/autocomplete/click', {
      sessionToken: 's',
      requestId: 'r',
      idx: 0,
    })
  })
}

t.test('the paths with /api of geofences and beacons', async (t) => {
  const { body } = await api.call('GET', '/api/v1/geofences/shops/1')
  const beacon = (await api.call('GET', '/api/v1/beacons/doors/1')).body.beacon
  const renamed = await api.call('PUT', '/api/v1/geofences/shops/1', {
    description: 'Shop',
    type: 'circle',
    coordinates: here,
    radius: 100,
  })
  t.equal(renamed.body.geofence._id, body.geofence._id)
  const { uid, instance } = beacon
  const again = { description: 'Door', type: 'eddystone', uid, instance, coordinates: here }
  t.equal((await api.call('PUT', '/api/v1/beacons/doors/1', again)).body.beacon._id, beacon._id)
  t.equal(
    (await api.call('POST', '/api/v1/beacons', { ...again, tag: 'doors', externalId: '1' })).status,
    409,
  )
  t.equal(
    (await api.call('POST', '/api/v1/geofences', { ...squareBody, tag: 'squares', externalId: '1' })).status,
    409,
  )
  t.equal((await api.call('GET', '/api/v1/geofences')).body.geofences.length, 2)
  t.equal((await api.call('GET', '/api/v1/beacons')).body.beacons.length, 2)
})

t.test('a trip from its start to its end, which is repeated, and after it is gone', async (t) => {
  for (const platform of PLATFORMS) {
    const externalId = `trip-${platform}`
    const options = {
      externalId,
      destinationGeofenceTag: 'shops',
      destinationGeofenceExternalId: '1',
      mode: 'car',
      metadata: { a: 1 },
    }
    const userId = `user-${platform}`
    const started = { userId, ...options, approachingThreshold: platform === 'iOS' ? '9' : 9 }
    const read = ({ body }: HttpAnswer) => {
      native.readTrip(body)
      return body.trip.status as string
    }
    t.equal(read(await call(platform, 'POST', '/v1/trips', started)), 'pending')
    const update = {
      ...identityOf(platform),
      ...locationOf(platform),
      tripOptions: { ...options, version: '2' },
    }
    const { body } = await call(platform, 'POST', '/v1/track', update)
    native.readTrack(body)
    t.match(body.user.trip, { externalId, status: 'arrived' })
    // After a restart, Android sends empty texts for what it has forgotten.
    const forgotten = { destinationGeofenceTag: '', destinationGeofenceExternalId: '', mode: '' }
    const end = { userId, ...options, ...(platform === 'Android' && forgotten), status: 'completed' }
    const path = `/v1/trips/${externalId}/update`
    t.equal(read(await call(platform, 'PATCH', path, end)), 'completed')
    t.equal(read(await call(platform, 'PATCH', path, end)), 'completed', 'repeated')
    const after = (await call(platform, 'POST', '/v1/track', update)).body
    t.notOk('trip' in after.user, 'it is absent, so that the phone ends its trip')
    await api.call('DELETE', `/v1/trips/${externalId}`)
    const gone = await api.call('PATCH', path, end, testPublishable, headersOf(platform))
    t.match(gone, { status: 404, body: { meta: { code: 404 } } })
  }
})

t.test('the parser notices faults', async (t) => {
  const track = { ...identityOf('iOS'), ...locationOf('iOS'), deviceId: 'spoilt', beacons: [RANGED.iOS] }
  const { body } = await call('iOS', 'POST', '/v1/track', track)
  native.readTrack(body)
  t.match(briefly(body.events.slice(0, 1)), [/^entered /])
  const spoil: ((answer: Json) => void)[] = [
    (answer) => delete answer.user.location,
    (answer) => delete answer.events[0]._id,
    (answer) => (answer.events[0].createdAt = '2026-11-20T04:21:00Z'),
    (answer) => delete answer.user.geofences[0]._id,
    (answer) => delete answer.user.beacons[0]._id,
    (answer) => (answer.user.country = { code: 'DE', name: 'Germany' }),
    (answer) => (answer.user.trip = {}),
    (answer) => answer.nearbyGeofences[0].geometry.coordinates.push([]),
    (answer) => (answer.nearbyBeacons[0].geometry.coordinates[0] = '10'),
    (answer) => (answer.events = undefined),
    (answer) => delete answer.events[0].confidence,
    (answer) => delete answer.events[0].geofence.geometryCenter,
    (answer) => delete answer.user.geofences[0].geometryRadius,
    (answer) => delete answer.user.geofences[0].type,
    (answer) => delete answer.user.actualUpdatedAt,
    (answer) => (answer.meta.trackingOptions = {}),
  ]
  for (const [i, change] of spoil.entries()) {
    const spoilt = structuredClone(body)
    change(spoilt)
    t.throws(() => native.readTrack(spoilt), { message: /a native SDK gives up/ }, `case ${i}`)
  }
})
