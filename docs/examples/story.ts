/**
 * The story that the examples of the reference tell: a day of a shop in Berlin, from its geofence to the events of its
 * visitors, and the shop's deliveries in Montevideo, which is the sample region.
 * Every operation of the reference that answers JSON occurs. The reference opens with the first example of each operation.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EXAMPLE } from '../../src/ops/welcome.ts'
import { QUEENS, writeStreets } from '../../test/geodata/kit.ts'
import { KEYS, type ServerOptions } from '../../test/kit/server.ts'
import { Receiver } from './receiver.ts'
import type { Recording } from './recording.ts'

/** How the server of the story is started. Its rate limits do not slow the story, except the one that the story shows. */
export const STORY_SERVER: ServerOptions = {
  sample: true,
  env: {
    RINGFENCE_RATE_LIMITS: 'on',
    RINGFENCE_LIMITS: 'POST /v1/track=off,GET /v1/context=1,management=off',
    RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.1',
    RINGFENCE_SYNC_PRIVATE_ADDRESSES: '127.0.0.1',
  },
}

const WEEK = 7 * 86_400_000
const STORE = { tag: 'store', externalId: 'alexanderplatz' }
const VISITOR = 'b7e1f2a4-6d0c-4a53-9f0e-51d1c7a2e9aa'
const INSIDE = { latitude: 52.5219, longitude: 13.4132 }
const OUTSIDE = { latitude: 52.5163, longitude: 13.3777 }

export async function tellStory(recording: Recording): Promise<void> {
  await geofences(recording)
  await beacons(recording)
  await imports(recording)
  await tracking(recording)
  await routing(recording)
  await geocoding(recording)
  // The regions of the context exist now, because geocoding waits until the data of the world are made.
  await context(recording)
  await users(recording)
  await events(recording)
  await settings(recording)
  await webhooks(recording)
  await hooks(recording)
  await geofenceSync(recording)
  await trips(recording)
  await operations(recording)
  await people(recording)
  await farewell(recording)
  await refusals(recording)
}

async function geofences({ show }: Recording): Promise<void> {
  await show('PUT /v1/geofences/:tag/:externalId', 'A circle', {
    params: STORE,
    body: {
      description: 'Store at Alexanderplatz',
      type: 'circle',
      coordinates: [13.4132, 52.5219],
      radius: 80,
      metadata: { region: 'east', parking: true, floors: 2 },
    },
  })
  await show('PUT /v1/geofences/:tag/:externalId', 'With opening hours, dwell and stop detection', {
    params: { tag: 'bar', externalId: 'oderberger' },
    body: {
      description: 'Bar in Oderberger Straße',
      type: 'circle',
      coordinates: [13.4101, 52.5404],
      radius: 40,
      operatingHours: { Thu: [['18:00', '24:00']], Fri: [['6:00 PM', '2:00 AM']], Sat: [['18:00', '03:00']] },
      stopDetection: true,
      dwellThreshold: 15,
    },
  })
  await show('POST /v1/geofences', 'A polygon', {
    body: {
      tag: 'depot',
      externalId: 'westhafen',
      description: 'Depot Westhafen',
      type: 'polygon',
      coordinates: [
        [13.337, 52.5388],
        [13.3475, 52.5379],
        [13.3479, 52.5399],
        [13.3374, 52.5408],
        [13.337, 52.5388],
      ],
    },
  })
  await show('GET /v1/geofences/:tag/:externalId', 'By its pair', { params: STORE })
  const { geofence } = await show('GET /v1/geofences/:tag/:externalId', 'A polygon', {
    params: { tag: 'depot', externalId: 'westhafen' },
  })
  const byId = { params: { id: geofence._id as string } }
  await show('GET /v1/geofences/:id', 'By its id', byId)
  await show('PUT /v1/geofences/:id', 'Another shape, disabled for now', {
    ...byId,
    body: {
      description: 'Depot Westhafen, gate',
      type: 'polygon',
      coordinates: [
        [13.337, 52.5388],
        [13.3392, 52.5386],
        [13.3392, 52.5406],
        [13.337, 52.5388],
      ],
      enabled: false,
    },
  })
  await show('GET /v1/geofences', 'The geofences of a tag', { query: { tag: 'store', limit: 2 } })
  await show('GET /v1/geofences', 'By metadata', { query: { 'metadata[region]': 'east', limit: 2 } })
  await show('GET /v1/search/geofences', 'The nearest, without geometry', {
    key: 'publishable',
    query: { near: '52.5200,13.4050', limit: 2, includeGeometry: false },
  })
}

async function beacons({ show }: Recording): Promise<void> {
  const pair = { tag: 'shelf', externalId: 'bakery' }
  const body = {
    description: 'Bakery shelf',
    type: 'ibeacon',
    uuid: 'e2c56db5-dffb-48d2-b060-d0f5a71096e0',
    major: '1',
    minor: '17',
    coordinates: [13.4132, 52.5219],
    metadata: { aisle: 4 },
  }
  await show('PUT /v1/beacons/:tag/:externalId', 'An iBeacon', { params: pair, body })
  const { beacon } = await show('POST /v1/beacons', 'An Eddystone', {
    body: {
      tag: 'shelf',
      externalId: 'tea',
      description: 'Tea shelf',
      type: 'eddystone',
      uid: 'edd1ebeac04e5defa017',
      instance: '0bdb87539b67',
      coordinates: [13.4133, 52.5219],
    },
  })
  const byId = { params: { id: beacon._id as string } }
  await show('PUT /v1/beacons/:id', 'Disabled', {
    ...byId,
    body: {
      description: 'Tea shelf',
      type: 'eddystone',
      uid: 'edd1ebeac04e5defa017',
      instance: '0bdb87539b67',
      coordinates: [13.4133, 52.5219],
      enabled: false,
    },
  })
  await show('GET /v1/beacons', 'The beacons of a tag', { query: { tag: 'shelf' } })
  await show('GET /v1/beacons/:id', 'By its id', byId)
  await show('GET /v1/beacons/:tag/:externalId', 'By its pair', { params: pair })
  await show('GET /v1/search/beacons', 'The nearest', {
    key: 'publishable',
    query: { near: '52.5220,13.4130', radius: 1000, limit: 10 },
  })
}

async function imports({ show, slowImport }: Recording): Promise<void> {
  const storesFile = await show('POST /v1/imports/geofences', 'Two good rows and one that is refused', {
    query: { fileName: 'stores.csv' },
    upload: {
      contentType: 'text/csv',
      content: [
        'description,type,tag,externalId,coordinates,radius,metadata.region',
        'Store Mitte,circle,store,mitte,"[13.4023, 52.5230]",60,west',
        'Store Wedding,circle,store,wedding,"[13.3585, 52.5498]",60,west',
        'Store Nowhere,circle,store,nowhere,"[13.3585, 152.5498]",60,west',
      ].join('\n'),
    },
  })
  await show('GET /v1/imports/geofences', 'The history', { query: { limit: 10 } })
  await show('GET /v1/imports/geofences/:id', 'With the refused rows', {
    params: { id: storesFile.import._id },
  })
  const beaconFile = await show('POST /v1/imports/beacons', 'One beacon', {
    query: { fileName: 'beacons.csv' },
    upload: {
      contentType: 'text/csv',
      content: [
        'description,tag,externalId,type,uuid,major,minor,coordinates,enabled',
        'Checkout,till,1,ibeacon,e2c56db5-dffb-48d2-b060-d0f5a71096e0,1,18,"[13.4134, 52.5219]",true',
      ].join('\n'),
    },
  })
  await show('GET /v1/imports/beacons', 'The history', { query: { limit: 10 } })
  await show('GET /v1/imports/beacons/:id', 'One import', { params: { id: beaconFile.import._id } })
  await show('GET /v1/exports/geofences', 'CSV, to be imported again', { query: { tag: 'bar' } })
  await show('GET /v1/exports/geofences', 'GeoJSON, for a map', {
    query: { tag: 'depot', format: 'geojson' },
  })
  await show('GET /v1/exports/beacons', 'CSV, to be imported again', { query: { tag: 'till' } })
  await show('GET /v1/exports/events', 'CSV, with all columns that events may need', {
    query: { tag: 'bar' },
  })
  for (const kind of ['geofences', 'beacons']) {
    const slow = await slowImport(kind)
    await show(`POST /v1/imports/${kind}/:id/cancel`, 'The import ends within a second', {
      params: { id: slow.id },
    })
    await slow.end()
  }
  const wedding = { tag: 'store', text: 'wedding', expectedCount: 1 }
  await show('PATCH /v1/geofences', 'Disable the geofences that match', {
    query: wedding,
    body: { enabled: false },
  })
  await show('DELETE /v1/geofences', 'Delete the same geofences', { query: wedding })
  const tills = { tag: 'till', expectedCount: 1 }
  await show('PATCH /v1/beacons', 'Change all beacons of a tag', {
    query: tills,
    body: { metadata: { floor: 1 } },
  })
  await show('DELETE /v1/beacons', 'Delete all beacons of a tag', { query: tills })
}

async function context({ show }: Recording): Promise<void> {
  await show('GET /v1/context', 'Inside a geofence', {
    key: 'publishable',
    query: { coordinates: '52.5219,13.4132' },
  })
  await show('GET /v1/config', 'When an app starts', { key: 'publishable', query: { deviceId: VISITOR } })
  await show('POST /v1/sync/region', 'Around the store', { key: 'publishable', body: INSIDE })
  await show('POST /v1/logs', 'One log line', {
    key: 'publishable',
    body: { logs: [{ level: 'info', message: 'Location services enabled' }] },
  })
  await show('POST /v1/search/autocomplete/click', 'The user chose the second suggestion', {
    key: 'publishable',
    body: { sessionToken: '4c1a8f9e', requestId: '2b7d', idx: 1 },
  })
}

/**
 * The calls that a reader tries first. On a new server they must have the same results as here, so they use the geofence that
 * the first start of a server makes. Each time the page is opened, it gives the device another name (reference.js), so that the
 * device is never inside already.
 */
async function firstCalls({ show }: Recording): Promise<void> {
  const { tag, externalId, description, center, radius } = EXAMPLE
  await show('PUT /v1/geofences/:tag/:externalId', 'The example geofence of a new server', {
    params: { tag, externalId },
    body: { description, type: 'circle', coordinates: center, radius },
  })
  const [longitude, latitude] = center
  const device = { deviceId: 'docs-visitor', accuracy: 20 }
  const key = 'publishable'
  await show('POST /v1/track', 'A new device enters the example geofence', {
    key,
    body: { ...device, latitude, longitude },
  })
  await show('POST /v1/track', 'The device leaves it again', {
    key,
    body: { ...device, latitude: 40.692, longitude: -74.035 },
  })
}

async function tracking(recording: Recording): Promise<void> {
  const { show } = recording
  const update = (place: { latitude: number; longitude: number }) => ({
    deviceId: VISITOR,
    userId: 'customer-1',
    ...place,
    accuracy: 12,
    foreground: true,
    stopped: false,
    deviceType: 'Android',
    metadata: { plan: 'gold' },
    updatedAt: new Date(recording.now()).toISOString(),
  })
  const key = 'publishable'
  await firstCalls(recording)
  await show('POST /v1/track', 'Enters a geofence, with everything that an app knows', {
    key,
    body: update(INSIDE),
  })
  await show('POST /v1/track', 'Stays inside', {
    key,
    body: update({ latitude: 52.522, longitude: 13.4133 }),
  })
  await show('POST /v1/track', 'Leaves it', { key, body: update(OUTSIDE) })
  await show('POST /v1/track', 'Comes back, and ranges a beacon', {
    key,
    body: {
      ...update(INSIDE),
      beacons: [
        { type: 'ibeacon', uuid: 'E2C56DB5-DFFB-48D2-B060-D0F5A71096E0', major: '1', minor: '17', rssi: -61 },
      ],
    },
  })
  const recorded = (minute: number, latitude: number, longitude: number) => ({
    deviceId: 'van-7',
    latitude,
    longitude,
    accuracy: 8,
    replayed: true,
    updatedAtMs: Date.UTC(2025, 4, 2, 7, minute, 0),
  })
  await show('POST /v1/track/replay', 'Three locations recorded without a connection', {
    key,
    body: {
      replays: [
        recorded(30, 52.5226, 13.4101),
        recorded(31, 52.5219, 13.413),
        recorded(36, 52.5206, 13.4169),
      ],
    },
  })
}

async function routing({ show }: Recording): Promise<void> {
  const [plaza, park, market] = ['-34.9059,-56.1913', '-34.9121,-56.1637', '-34.8945,-56.1770']
  const get = async (operation: string, summary: string, query: Readonly<Record<string, string>>) =>
    show(`GET /v1/route/${operation}`, summary, { key: 'publishable', query })
  const ends = { origin: plaza!, destination: park! }
  await get('distance', 'By car and on foot', { ...ends, modes: 'car,foot', units: 'metric' })
  await get('distance', 'With the line of the route', { ...ends, modes: 'bike', geometry: 'polyline6' })
  await get('matrix', 'Two couriers, two customers', {
    origins: `${plaza}|${market}`,
    destinations: `${park}|-34.8991,-56.1655`,
    mode: 'bike',
    units: 'metric',
  })
  await get('directions', 'Around the corner', {
    locations: '-34.9059,-56.1913|-34.9063,-56.1888',
    units: 'metric',
  })
  await get('optimize', 'Two deliveries on the way', {
    locations: `${plaza}|${market}|${park}|-34.8800,-56.1500`,
  })
  await show('GET /v1/route/isochrone', 'Two minutes on foot', {
    key: 'secret',
    query: { coordinates: plaza!, minutes: 2, mode: 'foot' },
  })
  await show('POST /v1/route/match', 'A few seconds of a drive', {
    key: 'publishable',
    body: {
      path: [
        { coordinates: '-34.90587,-56.19205', createdAt: '2025-05-02T09:00:00.000Z', accuracy: 5 },
        { coordinates: '-34.90592,-56.19155', createdAt: '2025-05-02T09:00:06.000Z', accuracy: 5 },
        { coordinates: '-34.90596,-56.19107', createdAt: '2025-05-02T09:00:12.000Z', accuracy: 8 },
        { coordinates: '-34.90599,-56.19061', createdAt: '2025-05-02T09:00:18.000Z', accuracy: 5 },
      ],
      roadAttributes: 'names,roadClass,speedLimit',
      units: 'metric',
    },
  })
}

async function geocoding({ show }: Recording): Promise<void> {
  await show('GET /v1/geocode/forward', 'An address', {
    key: 'publishable',
    query: { query: '18 de Julio 1056, Montevideo' },
  })
  await show('GET /v1/geocode/forward', 'A crossing', {
    key: 'publishable',
    query: { query: '18 de Julio y Ejido' },
  })
  await show('GET /v1/search/autocomplete', 'The beginning of a street, near a point', {
    key: 'publishable',
    query: { query: '18 de ju', near: '-34.9053,-56.1914', limit: 2 },
  })
  await show('GET /v1/search/places', 'The nearest café', {
    key: 'publishable',
    query: { near: '-34.9061,-56.1934', categories: 'cafe', limit: 1 },
  })
  await show('GET /v1/search/places', 'Two chains', {
    key: 'publishable',
    query: { near: '-34.9061,-56.1934', chains: 'mcdonalds,burger-king', limit: 2 },
  })
  await show('GET /v1/search/places', 'An airport', { key: 'publishable', query: { iataCode: 'JFK' } })
  await show('GET /v1/addresses/validate', 'No houses with the postal code are loaded', {
    key: 'publishable',
    query: {
      addressLabel: '841 Broadway Floor 7',
      city: 'New York',
      stateCode: 'NY',
      postalCode: '10003-4704',
      countryCode: 'US',
    },
  })
  await show('GET /v1/geocode/reverse', 'The address and the place', {
    key: 'publishable',
    query: { coordinates: '-34.9053,-56.1914', layers: 'fine' },
  })
  await show('GET /v1/geocode/reverse', 'The country, in Spanish', {
    key: 'publishable',
    query: { coordinates: '-34.9053,-56.1914', layers: 'country', lang: 'es' },
  })
  await show('GET /v1/geocode/ip', 'The location of an IP address, with a secret key', {
    query: { ip: '72.229.28.185' },
  })
  await show('GET /v1/geocode/ip', 'A request from a private network', { key: 'publishable' })
  await show('GET /v1/maps/styles/:id', 'A pale map with names in German', {
    key: 'publishable',
    params: { id: 'radar-light-v1' },
    query: { language: 'de' },
  })
  await show('GET /v1/maps/sprites/:name', 'The positions of the icons', {
    key: 'publishable',
    params: { name: 'icons.json' },
  })
}

async function users({ show }: Recording): Promise<void> {
  const { user } = await show('GET /v1/users/:id', 'By its deviceId', { params: { id: VISITOR } })
  await show('GET /v1/users/:id', 'By its id', { params: { id: user._id } })
  await show('GET /v1/users', 'The two newest', { query: { limit: 2 } })
  await show('GET /v1/users/:id/explain', 'Why there was an entry', { params: { id: 'customer-1' } })
  await show('GET /v1/search/users', 'Within 500 m', {
    query: { near: '52.5200,13.4130', radius: 500, limit: 10 },
  })
  await show('GET /v1/geofences/:tag/:externalId/users', 'Who is in the store', { params: STORE })
  const { geofence } = await show('GET /v1/geofences/:tag/:externalId', 'With metadata', { params: STORE })
  await show('GET /v1/geofences/:id/users', 'Who is in the store', { params: { id: geofence._id } })
  const shelf = { tag: 'shelf', externalId: 'bakery' }
  await show('GET /v1/beacons/:tag/:externalId/users', 'Who is at the shelf', { params: shelf })
  const { beacon } = await show('GET /v1/beacons/:tag/:externalId', 'With metadata', { params: shelf })
  await show('GET /v1/beacons/:id/users', 'Who is at the shelf', { params: { id: beacon._id } })
}

async function events(recording: Recording): Promise<void> {
  const { show, follow } = recording
  await show('POST /v1/events', 'A purchase', {
    key: 'publishable',
    body: {
      name: 'purchase',
      deviceId: VISITOR,
      userId: 'customer-1',
      revenue: 24.5,
      metadata: { items: 3 },
      createdAt: new Date(recording.now()).toISOString(),
    },
  })
  const { events: list } = await show('GET /v1/events', 'The events of a user', {
    query: { userId: 'customer-1', limit: 2 },
  })
  await show('GET /v1/events', 'Entries only', { query: { type: 'user.entered_geofence', limit: 1 } })
  // A comment, then the purchase.
  await follow(
    'GET /v1/events/stream',
    'The events of a user after a given event',
    { from: list[1]._id, userIds: 'customer-1' },
    2,
  )
  await show('GET /v1/events/:id', 'By its id', { params: { id: list[0]._id } })
  await show('PUT /v1/events/:id/verification', 'The event was correct', {
    params: { id: list[1]._id },
    body: { verification: 1 },
  })
}

async function settings({ show }: Recording): Promise<void> {
  await show('GET /v1/settings', 'The settings of a new project', {})
  await show('GET /v1/users/density', 'Berlin and its surroundings', {
    query: { box: '13,52,14,53', zoom: 12 },
  })
  await show('GET /v1/events/counts', 'In intervals of an hour', { query: { step: 3600 } })
  await show('GET /v1/stats', 'In intervals of an hour', { query: { step: 3600 } })
  await show('GET /v1/system', 'A server with the embedded engine', {})
  await show('GET /v1/map-regions', 'The regions in service', {})
  await show('POST /v1/simulations', 'A few devices', { body: { devices: 3, minutes: 1 } })
  await show('GET /v1/simulations', 'The simulation that is running', {})
  await show('DELETE /v1/simulations', 'End the simulation', {})
  await show('PATCH /v1/settings', 'Fewer false exits', {
    body: { minimumConfidence: 2, exitDelaySeconds: 60, maxAccuracyMeters: 200 },
  })
}

async function trips({ show }: Recording): Promise<void> {
  const customer = { tag: 'customer', externalId: '1842' }
  await show('PUT /v1/geofences/:tag/:externalId', 'Where an order is delivered', {
    params: customer,
    body: { description: 'Customer 1842', type: 'circle', coordinates: [-56.1637, -34.9121], radius: 60 },
  })
  const order = {
    externalId: 'order-1842',
    userId: 'courier-7',
    destinationGeofenceTag: 'customer',
    destinationGeofenceExternalId: '1842',
    mode: 'bike',
    metadata: { items: 3 },
  }
  await show('POST /v1/trips', 'An order on its way to a customer', { body: order })
  const stops = ['-34.9059,-56.1913', '-34.8945,-56.1770', '-34.9121,-56.1637'].map((place) =>
    place.split(',').map(Number).toReversed(),
  )
  const { trip: round } = await show('POST /v1/trips', 'Several stops', {
    body: {
      externalId: 'round-3',
      legs: stops.map((coordinates) => ({
        destination: { coordinates, arrivalRadius: 50 },
        stopDuration: 4,
      })),
    },
  })
  const params = { id: 'order-1842' }
  await show('PATCH /v1/trips/:id/update', 'The courier starts', { params, body: { status: 'started' } })
  const [first, second, third] = round.legs.map(({ _id }: { _id: string }) => _id) as [string, string, string]
  await show('PUT /v1/trips/:id/legs', 'The last stop first', {
    params: { id: 'round-3' },
    body: { legs: [third, first, second] },
  })
  await show('PATCH /v1/trips/:id/legs/:legId', 'A stop is completed', {
    params: { id: 'round-3', legId: third },
    body: { status: 'completed' },
  })
  await show('GET /v1/trips', 'Trips that are under way', {
    query: { status: 'started,approaching,arrived', limit: 10 },
  })
  await show('GET /v1/trips/:id', 'By its externalId', { params })
  for (const [latitude, longitude] of [
    [-34.9113, -56.1695],
    [-34.9118, -56.1645],
  ])
    await show('POST /v1/track', 'The courier is on the way', {
      body: { deviceId: 'courier-7', userId: 'courier-7', latitude, longitude, accuracy: 10 },
    })
  await show('PATCH /v1/trips/:id', 'Complete a trip with the call of older apps', {
    params,
    body: { status: 'completed' },
  })
  await show('GET /v1/trips/:id/route', 'Without a road network', { params, query: { units: 'metric' } })
  await show('DELETE /v1/trips/:id', 'By its externalId', { params: { id: 'round-3' } })
}

async function webhooks(recording: Recording): Promise<void> {
  const { show } = recording
  const receiver = await Receiver.start()
  recording.alias(receiver.url, 'https://erp.example.com')
  const aliasSecret = ({ secret }: { secret: string }, shown: string) => {
    const alias = `whsec_${Buffer.from(shown.repeat(3)).toString('base64')}`
    recording.alias(secret, alias)
    recording.alias(lastFourOf(secret), lastFourOf(alias))
  }
  try {
    const body = {
      url: `${receiver.url}/ringfence`,
      description: 'ERP',
      types: ['user.entered_geofence', 'ordered_coffee'],
    }
    const { webhook } = await show('POST /v1/webhooks', 'Geofence entries and a conversion', { body })
    aliasSecret(webhook, 'Ringfence!')
    const params = { id: webhook._id as string }
    await show('POST /v1/webhooks/:id/test', 'The receiver answers', { params })
    await show('POST /v1/events', 'A conversion that a webhook receives', {
      key: 'publishable',
      body: { name: 'ordered_coffee', deviceId: VISITOR, userId: 'customer-1' },
    })
    await receiver.until(2)
    await show('GET /v1/webhooks/:id/deliveries', 'Deliveries that arrived', {
      params,
      query: { status: 'delivered' },
    })
    await show('PATCH /v1/webhooks/:id', 'Only events of stores, several in one request', {
      params,
      body: { tags: ['store'], types: null, mode: 'multiple' },
    })
    await show('GET /v1/webhooks', 'All webhooks', {})
    await show('GET /v1/webhooks/:id', 'One webhook', { params })
    await show('POST /v1/webhooks/:id/redeliver', 'All events of a day', {
      params,
      body: { from: '2025-05-01T00:00:00Z', to: '2025-05-02T00:00:00Z' },
    })
    const rotated = await show('POST /v1/webhooks/:id/rotate', 'A new secret', { params })
    aliasSecret(rotated.webhook, 'New secret')
    await show('POST /v1/webhooks/:id/enable', 'After a pause', { params })
    await show('DELETE /v1/webhooks/:id', 'By its id', { params })
  } finally {
    receiver.close()
  }
}

async function hooks(recording: Recording): Promise<void> {
  const { show } = recording
  const receiver = await Receiver.start()
  recording.alias(receiver.url, 'https://erp.example.com')
  try {
    const pair = { tag: 'erp', externalId: 'arrivals' }
    const endpoint = { url: `${receiver.url}/arrivals` }
    const body = { description: 'Arrivals', geofence: STORE, detect: ['enter'], endpoint }
    const { hook } = await show('PUT /v1/hooks/:tag/:externalId', 'To a web server', { params: pair, body })
    const nats = {
      geofence: { tag: 'store' },
      endpoint: {
        url: 'tls://nats.example.com:4222',
        subject: 'hooks.stores',
        jetStream: true,
        token: 'never shown',
      },
    }
    await show('POST /v1/hooks', 'To NATS', { body: { tag: 'erp', externalId: 'stores', ...nats } })
    const params = { id: hook._id as string }
    await show('PUT /v1/hooks/:id', 'Exits, too', { params, body: { ...body, detect: ['enter', 'exit'] } })
    await show('GET /v1/hooks', 'All hooks, with their state', {})
    await show('GET /v1/hooks/:id', 'By its id', { params })
    await show('GET /v1/hooks/:tag/:externalId', 'By its pair', { params: pair })
    await show('DELETE /v1/hooks/:id', 'By its id', { params })
    await show('DELETE /v1/hooks/:tag/:externalId', 'By its pair', {
      params: { tag: 'erp', externalId: 'stores' },
    })
  } finally {
    receiver.close()
  }
}

async function geofenceSync(recording: Recording): Promise<void> {
  const { show } = recording
  const receiver = await Receiver.start()
  recording.alias(receiver.url, 'https://files.example.com')
  try {
    const http = { urls: [`${receiver.url}/stores.csv`], username: 'ringfence', password: 'never shown' }
    const wanted = { protocol: 'http', http, time: '03:30', timeZone: 'Europe/Berlin', deleteMissing: true }
    await show('POST /v1/geofence-sync/test', 'Test settings before they are stored', { body: wanted })
    await show('PUT /v1/geofence-sync', 'A file on a web server', { body: wanted })
    // The run does not end until it is canceled.
    receiver.isSilent = true
    const { run } = await show('POST /v1/geofence-sync/runs', 'A dry run', { body: { dryRun: true } })
    const params = { id: run._id as string }
    await receiver.until(2)
    await show('POST /v1/geofence-sync/runs/:id/cancel', 'Cancel the run', { params })
    const one = 'GET /v1/geofence-sync/runs/:id'
    await recording.until(one, { params }, ({ run: { finishedAt } }) => finishedAt !== undefined)
    await show(one, 'With the refused rows', { params })
    await show('GET /v1/geofence-sync/runs', 'The history', {})
    await show('GET /v1/geofence-sync', 'With the last run', {})
  } finally {
    receiver.close()
  }
}

/** The last four letters as in the record of a webhook, because four letters alone may occur anywhere. */
function lastFourOf(secret: string): string {
  return `"secretLastFour":"${secret.slice(-4)}"`
}

async function operations({ show }: Recording): Promise<void> {
  await show('POST /v1/notifications/test', 'A test e-mail', { body: { email: 'ops@example.com' } })
  await show('GET /healthz', 'Alive', { key: 'none' })
  await show('GET /readyz', 'Ready', { key: 'none' })
  await show('GET /v1/keys', 'The keys of the test environment', {})
}

/** The link of an invitation in an answer, or in the output of a command. */
const INVITATION = /http:\/\/\S+#invitation=([\w-]+)/

async function people(recording: Recording): Promise<void> {
  const { show } = recording
  const tokenIn = (text: string) => {
    const [link, token] = INVITATION.exec(text)!
    recording.alias(
      link,
      'https://fleet.example.com/welcome#invitation=5u9hX7cP2kq0Zr3mB8wLtYvN1dGf6sJaEoQi4RxUyWc',
    )
    recording.alias(token!, '5u9hX7cP2kq0Zr3mB8wLtYvN1dGf6sJaEoQi4RxUyWc')
    return token!
  }
  recording.alias('"userAgent":"node"', '"userAgent":"Mozilla/5.0 (X11; Linux x86_64; rv:140.0)"')
  await show('GET /v1/sign-in', 'There are no accounts yet', { key: 'none' })
  await show('POST /v1/sessions', 'With a secret key', {
    key: 'none',
    body: { key: KEYS.testSecret },
  })
  const key = 'session'
  await show('GET /v1/sessions/current', 'With a secret key', { key })
  await show('DELETE /v1/sessions/current', 'Sign out', { key })
  const first = tokenIn(await recording.operator('accounts', 'add', 'ann@example.com'))
  const password = 'correct horse battery staple'
  await show('POST /v1/invitations/:token', 'The first admin', {
    key: 'none',
    params: { token: first },
    body: { name: 'Ann', password },
  })
  await show('POST /v1/sessions', 'With an e-mail address and a password', {
    key: 'none',
    body: { email: 'ann@example.com', password },
  })
  await show('GET /v1/sessions/current', 'With an account', { key })
  const { sessions } = await show('GET /v1/sessions', 'All sessions of the project, for an admin', { key })
  const other = sessions.find(({ current }: { current: boolean }) => !current)
  await show('DELETE /v1/sessions/:id', 'End the session of another browser', {
    key,
    params: { id: other._id },
  })
  const { ticket } = await show('POST /v1/sessions/current/ticket', 'A ticket for a stream', { key })
  recording.alias(ticket, 'here.Jd2mXq8PzY0rT5vKcW3nB7uL1eHs6aGf')
  const { account, invitation } = await show('POST /v1/accounts', 'A person who may edit', {
    key,
    body: { email: 'bob@example.com', name: 'Bob', role: 'write' },
  })
  tokenIn(invitation.url)
  const params = { id: account._id as string }
  const again = await show('POST /v1/accounts/:id/invitation', 'The link was lost', { key, params })
  tokenIn(again.invitation.url)
  await show('PATCH /v1/accounts/:id', 'The person may only read from now on', {
    key,
    params,
    body: { role: 'read' },
  })
  await show('GET /v1/accounts', 'All accounts', { key })
  await show('GET /v1/audit', 'The latest change', { key, query: { limit: 1 } })
  const sent = await recording.sendExtract('/v1/map-regions/queens', await townExtract())
  const region = { id: sent.mapRegionImport._id as string }
  await show('POST /v1/map-regions/imports/:id/cancel', 'Nothing of the import is kept', {
    key,
    params: region,
  })
  await show('GET /v1/map-regions/imports/:id', 'A canceled import', { key, params: region })
  await show('GET /v1/map-regions/imports', 'The history', { key })
  await show('DELETE /v1/accounts/:id', 'By its id', { key, params })
  await show('PUT /v1/account/password', 'Change your own password', {
    key,
    body: { current: password, password: 'another horse battery staple' },
  })
}

/** An extract of a few streets. */
async function townExtract(): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), 'ringfence-story-'))
  try {
    const path = join(folder, 'queens.osm.pbf')
    writeStreets(path, QUEENS)
    return await readFile(path)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Deletions and new keys come last. */
async function farewell(recording: Recording): Promise<void> {
  const { show } = recording
  const { events: list } = await show('GET /v1/events', 'The events of a device', {
    query: { deviceId: 'van-7', limit: 1 },
  })
  await show('DELETE /v1/events/:id', 'By its id', { params: { id: list[0]._id } })
  await show('DELETE /v1/users/:id', 'By its deviceId', { params: { id: 'van-7' } })
  const { geofences: depots } = await show('GET /v1/geofences', 'By its pair', {
    query: { tag: 'depot', externalId: 'westhafen' },
  })
  await show('DELETE /v1/geofences/:id', 'By its id', { params: { id: depots[0]._id } })
  await show('DELETE /v1/geofences/:tag/:externalId', 'By its pair', {
    params: { tag: 'bar', externalId: 'oderberger' },
  })
  const { beacons: tea } = await show('GET /v1/beacons', 'By its pair', {
    query: { tag: 'shelf', externalId: 'tea' },
  })
  await show('DELETE /v1/beacons/:id', 'By its id', { params: { id: tea[0]._id } })
  await show('DELETE /v1/beacons/:tag/:externalId', 'By its pair', {
    params: { tag: 'shelf', externalId: 'bakery' },
  })
  const { key } = await show('POST /v1/keys/:kind/rotate', 'The secret key', { params: { kind: 'secret' } })
  recording.useKey('secret', key.key)
  // The server wants a date that is ahead; in the examples it is a week after the request.
  const [weekAhead, shown] = [Date.now(), recording.now()].map((now) => new Date(now + WEEK).toISOString())
  recording.alias(weekAhead!, shown!)
  await show('POST /v1/keys/:kind/rotate', 'The old key stays valid for a week', {
    params: { kind: 'publishable' },
    body: { oldKeyValidUntil: weekAhead },
  })
}

async function refusals({ refused }: Recording): Promise<void> {
  const update = { deviceId: VISITOR, accuracy: 12, ...INSIDE }
  await refused(400, 'POST /v1/track', { key: 'publishable', body: { ...update, latitude: 95 } })
  await refused(401, 'POST /v1/track', { key: 'none', body: update })
  await refused(403, 'GET /v1/users', { key: 'publishable' })
  await refused(404, 'GET /v1/users/:id', { params: { id: 'nobody' } })
  await refused(409, 'POST /v1/geofences', {
    body: { ...STORE, description: 'Again', type: 'circle', coordinates: [13.4132, 52.5219], radius: 80 },
  })
  await refused(413, 'POST /v1/track', { key: 'publishable', body: { description: 'x'.repeat(2 ** 20) } })
  const again = { key: 'publishable', query: { coordinates: '52.5219,13.4132' } } as const
  await refused(429, 'GET /v1/context', again, 20)
  await refused(415, 'POST /v1/track', {
    key: 'publishable',
    upload: { contentType: 'text/plain', content: 'deviceId=phone-1' },
  })
}
