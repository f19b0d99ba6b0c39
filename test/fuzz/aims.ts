/**
 * Good requests to operations whose schemas alone do not say what a good request is: they name what exists, or fields
 * that must agree, or places that have streets. Other requests to the same operations are drawn from the schemas.
 */
import type { Arbitrary } from 'fast-check'
import fc from '../kit/fastCheck.ts'
import {
  NOW,
  draws,
  oneOf,
  some,
  daysFromNow,
  PLACES,
  place,
  places,
  mode,
  units,
  geometry,
  tiles,
  newTrip,
  pair,
  beacon,
  statuses,
  changedTrip,
  hook,
  source,
  oneRecord,
  settings,
  languages,
  layers,
  address,
  geofence,
  update,
} from './aimedValues.ts'
import { idsOf, LATITUDE, LONGITUDE } from './values.ts'

/** Parts of a request, with placeholders. What is absent is drawn from the schemas. */
export interface Aimed {
  readonly path?: string
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/** The password of everybody. Requests that do not know it lock its account out for a while. */
export const PASSWORD = 'correct horse battery'

const query = (of: Arbitrary<Readonly<Record<string, unknown>>>): Arbitrary<Aimed> =>
  of.map((drawn) => ({ query: drawn }))
const body = (of: Arbitrary<unknown>): Arbitrary<Aimed> => of.map((drawn) => ({ body: drawn }))
const both = (path: Arbitrary<string>, of: Arbitrary<unknown>): Arbitrary<Aimed> =>
  fc.record({ path, body: of })
const path = (of: Arbitrary<string>): Arbitrary<Aimed> => of.map((drawn) => ({ path: drawn }))
/** The path of something that exists. */
const known = (before: string, kind: string, after = '') =>
  draws.map((n) => `${before}§${kind}:${n}§${after}`)
const trip = fc.oneof(
  known('/v1/trips/', 'trip'),
  idsOf('trip', 15).map((id) => `/v1/trips/${id}`),
)

/** Those of records that have a pair, by the pair. */
function ofPairs(method: string, after: string, ...kinds: string[]): Record<string, Arbitrary<Aimed>> {
  return Object.fromEntries(
    kinds.map((kind) => [
      `${method} /v1/${kind}s/{tag}/{externalId}${after}`,
      path(draws.map((n) => `/v1/${kind}s/§${kind}pair.tag:${n}§/§${kind}pair.externalId:${n}§${after}`)),
    ]),
  )
}

/** By method and path of an operation. */
export const AIMS: Readonly<Record<string, Arbitrary<Aimed>>> = {
  'POST /v1/track': body(update),
  'POST /v1/track/replay': body(
    fc.array(update, { minLength: 1, maxLength: 5 }).map((all) => ({
      replays: all.map((one, i) => ({ ...one, updatedAtMs: NOW - (all.length - i) * 1000 })),
    })),
  ),
  'GET /v1/search/users': query(
    fc.record({ near: oneOf('50,10', '50.001,10'), radius: oneOf(100, 10_000), limit: oneOf(1, 100) }),
  ),
  'POST /v1/geofences': body(fc.tuple(pair, geofence).map(([names, more]) => ({ ...names, ...more }))),
  'PUT /v1/geofences/{tag}/{externalId}': body(geofence),
  'PUT /v1/geofences/{id}': both(known('/v1/geofences/', 'geofence'), geofence),
  'POST /v1/beacons': body(fc.tuple(pair, beacon).map(([names, more]) => ({ ...names, ...more }))),
  'PUT /v1/beacons/{tag}/{externalId}': body(beacon),
  'PUT /v1/beacons/{id}': both(known('/v1/beacons/', 'beacon'), beacon),
  ...ofPairs('GET', '/users', 'geofence', 'beacon'),
  ...ofPairs('GET', '', 'geofence', 'beacon', 'hook'),
  ...ofPairs('DELETE', '', 'geofence', 'beacon', 'hook'),
  'POST /v1/trips': body(newTrip),
  'GET /v1/trips': query(
    some({
      status: oneOf('started', 'pending,started', 'completed,canceled,expired'),
      externalId: idsOf('trip', 15),
      userId: idsOf('user', 12),
      delayed: fc.boolean(),
      includeLocations: fc.boolean(),
      maxLocations: oneOf(1, 2, 5000),
      sortBy: oneOf('createdAt', 'updatedAt'),
      before: draws.map((n) => `§trip:${n}§`),
      limit: oneOf(1, 10, 1000),
    }),
  ),
  'GET /v1/trips/{id}': path(trip),
  'DELETE /v1/trips/{id}': path(trip),
  'PATCH /v1/trips/{id}': both(trip, changedTrip),
  'PATCH /v1/trips/{id}/update': both(
    trip.map((one) => `${one}/update`),
    changedTrip,
  ),
  'GET /v1/trips/{id}/route': path(known('/v1/trips/', 'endedtrip', '/route')),
  'PATCH /v1/trips/{id}/legs/{legId}': both(
    draws.map((n) => `/v1/trips/§way.trip:${n}§/legs/§way.id:${n}§`),
    statuses.map((status) => ({ status })),
  ),
  'PUT /v1/trips/{id}/legs': draws.map((n) => ({
    path: `/v1/trips/§way.trip:${n}§/legs`,
    body: { legs: [`§way.order:${n}§`] },
  })),
  'GET /v1/events': query(
    some({
      type: oneOf('user.entered_geofence', 'bought'),
      types: oneOf('user.entered_geofence,user.exited_geofence', 'bought'),
      userId: idsOf('user', 12),
      deviceId: idsOf('device', 30),
      tag: oneOf('shop', 'depot'),
      minimumConfidence: oneOf(1, 3),
      before: draws.map((n) => `§event:${n}§`),
      order: oneOf('asc', 'desc'),
      includeTotal: fc.boolean(),
      createdAfter: daysFromNow(-3, 0),
      limit: oneOf(1, 100, 1000),
    }),
  ),
  'GET /v1/events/counts': query(
    some({
      from: daysFromNow(-1, -0.5),
      step: oneOf(600, 3600),
      types: oneOf('user.entered_geofence', 'bought'),
    }),
  ),
  'GET /v1/events/stream': query(
    some({
      types: oneOf('user.entered_geofence', 'bought'),
      tags: oneOf('shop', 'depot'),
      userIds: idsOf('user', 12),
    }),
  ),
  'PUT /v1/events/{id}/verification': both(
    known('/v1/events/', 'event', '/verification'),
    oneOf<number | string>(-1, 0, 1, 'ACCEPT').map((verification) => ({ verification })),
  ),
  'GET /v1/stats': query(some({ from: daysFromNow(-1, -0.5), step: oneOf(600, 3600) })),
  'GET /v1/context': query(fc.record({ coordinates: oneOf('50,10', '50.001,10.001', ...PLACES) })),
  'GET /v1/geofences/tiles/{z}/{x}/{y}.mvt': path(tiles('/v1/geofences/tiles', LATITUDE, LONGITUDE)),
  'GET /v1/users/density': query(
    fc.record({ box: oneOf('9.9,49.9,10.1,50.1', '179,49,-179,51', '9,49,11,51'), zoom: oneOf(3, 8, 12) }),
  ),
  'PATCH /v1/geofences': fc.record({
    query: oneRecord,
    body: oneOf({ enabled: true }, { enabled: false }, { metadata: null }, { dwellThreshold: 5 }),
  }),
  'DELETE /v1/geofences': query(oneRecord),
  'PATCH /v1/beacons': fc.record({
    query: oneRecord,
    body: oneOf({ enabled: true }, { metadata: { floor: 1 } }),
  }),
  'DELETE /v1/beacons': query(oneRecord),
  ...Object.fromEntries(
    ['geofences', 'beacons'].flatMap((kind) => {
      const before = `/v1/imports/${kind}/`
      return [
        [
          `POST /v1/imports/${kind}`,
          query(some({ fileName: oneOf('a.csv', 'ü.csv'), dryRun: fc.boolean() })),
        ],
        [`GET ${before}{id}`, path(known(before, `${kind}import`))],
        [`GET ${before}{id}/refused`, path(known(before, `${kind}import`, '/refused'))],
        [`POST ${before}{id}/cancel`, path(known(before, `${kind}running`, '/cancel'))],
      ]
    }),
  ),
  'PUT /v1/map-regions/{name}': path(oneOf('/v1/map-regions/town', '/v1/map-regions/village')),
  'GET /v1/map-regions/imports/{id}': path(known('/v1/map-regions/imports/', 'regionimport')),
  'POST /v1/map-regions/imports/{id}/cancel': path(
    known('/v1/map-regions/imports/', 'regionimport', '/cancel'),
  ),
  'PATCH /v1/settings': body(settings),
  'POST /v1/keys/{kind}/rotate': fc.record({
    path: oneOf('secret', 'secret', 'publishable').map((kind) => `/v1/keys/${kind}/rotate`),
    body: fc.oneof(
      fc.constant({}),
      daysFromNow(1, 80).map((oldKeyValidUntil) => ({ oldKeyValidUntil })),
    ),
  }),
  'POST /v1/sessions': body(
    fc.oneof(
      { weight: 1, arbitrary: draws.map((n) => ({ email: `§email:${n}§`, password: PASSWORD })) },
      { weight: 2, arbitrary: draws.map((n) => ({ key: `§secretkey:${n}§` })) },
    ),
  ),
  'DELETE /v1/sessions/{id}': path(known('/v1/sessions/', 'session')),
  'PUT /v1/account/password': body(fc.constant({ current: PASSWORD, password: PASSWORD })),
  'POST /v1/invitations/{token}': both(
    known('/v1/invitations/', 'invitation'),
    oneOf({ password: PASSWORD }, { password: PASSWORD, name: 'Ü' }),
  ),
  'POST /v1/accounts': body(
    fc.record({
      email: fc.nat(1e9).map((n) => `person-${n}@example.com`),
      name: oneOf('Ann', 'Bob'),
      role: oneOf('read', 'write', 'admin'),
    }),
  ),
  'PATCH /v1/accounts/{id}': both(
    known('/v1/accounts/', 'account'),
    some({
      name: oneOf('Ann', 'Bob'),
      role: oneOf('read', 'write', 'admin'),
      disabled: oneOf(false, false, true),
    }),
  ),
  'GET /v1/audit': query(
    some({
      action: oneOf('geofence.created', 'POST /v1/trips'),
      limit: oneOf(1, 100),
      target: fc.constant('shop/x-1'),
    }),
  ),
  'PUT /v1/geofence-sync': body(
    fc.tuple(source, some({ run: fc.boolean() })).map(([wanted, run]) => ({ ...wanted, ...run })),
  ),
  'POST /v1/geofence-sync/test': body(fc.oneof(source, fc.constant({}))),
  'POST /v1/geofence-sync/runs': body(some({ force: fc.boolean(), dryRun: fc.boolean() })),
  'GET /v1/geofence-sync/runs/{id}': path(known('/v1/geofence-sync/runs/', 'run')),
  'POST /v1/geofence-sync/runs/{id}/cancel': path(known('/v1/geofence-sync/runs/', 'run', '/cancel')),
  'GET /v1/route/distance': query(
    fc.record(
      { origin: place, destination: place, modes: oneOf('car', 'car,foot', 'bike'), units, geometry },
      { requiredKeys: ['origin', 'destination', 'modes'] },
    ),
  ),
  'GET /v1/route/matrix': query(
    fc.record(
      { origins: places(4), destinations: places(4), mode, units },
      { requiredKeys: ['origins', 'destinations', 'mode'] },
    ),
  ),
  'GET /v1/route/directions': query(
    fc.record(
      { locations: places(4), mode, units, geometry, alternatives: fc.boolean(), lang: oneOf('de', 'en') },
      { requiredKeys: ['locations'] },
    ),
  ),
  'GET /v1/route/optimize': query(
    fc.record({ locations: places(5), mode, units, geometry }, { requiredKeys: ['locations'] }),
  ),
  'GET /v1/route/isochrone': query(
    fc.record(
      { coordinates: place, minutes: fc.integer({ min: 1, max: 10 }), mode },
      { requiredKeys: ['coordinates', 'minutes'] },
    ),
  ),
  'POST /v1/route/match': body(
    fc.record(
      {
        path: fc.integer({ min: 2, max: 12 }).map((count) =>
          Array.from({ length: count }, (_, i) => ({
            coordinates: `-34.9059${i % 10},${(-56.19205 + i * 0.0005).toFixed(5)}`,
            createdAt: new Date(NOW + i * 6000).toISOString(),
            accuracy: 5,
          })),
        ),
        mode,
        roadAttributes: oneOf('names', 'names,roadClass,speedLimit'),
        units,
        geometry,
      },
      { requiredKeys: ['path'] },
    ),
  ),
  'GET /v1/addresses/validate': query(
    fc.record({
      city: fc.constant('New York'),
      stateCode: fc.constant('NY'),
      postalCode: oneOf('10003', '10003-4704'),
      countryCode: fc.constant('US'),
      addressLabel: oneOf('841 Broadway Floor 7', '1 Example Street'),
    }),
  ),
  'GET /v1/search/places': query(
    fc.oneof(
      fc.record({ near: place, categories: oneOf('cafe', 'cafe,restaurant'), limit: oneOf(1, 100) }),
      fc.record({
        near: place,
        chains: oneOf('mcdonalds', 'mcdonalds,burger-king'),
        radius: oneOf(100, 10_000),
      }),
      fc.record({ iataCode: oneOf('JFK', 'MVD') }),
    ),
  ),
  'GET /v1/geocode/forward': query(
    fc.record({ query: address, layers, lang: languages }, { requiredKeys: ['query'] }),
  ),
  'GET /v1/geocode/reverse': query(
    fc.record({ coordinates: place, layers, lang: languages }, { requiredKeys: ['coordinates'] }),
  ),
  'GET /v1/search/autocomplete': query(
    fc.record({ query: address, near: place, layers, limit: oneOf(1, 100) }, { requiredKeys: ['query'] }),
  ),
  'GET /v1/geocode/ip': query(some({ ip: oneOf('72.229.28.185', '10.0.0.1', '2a00::1'), lang: languages })),
  'GET /v1/maps/styles/{id}': fc.record({
    path: oneOf('default', 'light', 'dark').map((name) => `/v1/maps/styles/radar-${name}-v1`),
    query: some({ language: languages }),
  }),
  'GET /v1/maps/tiles/{z}/{x}/{y}.mvt': fc.record({
    path: tiles('/v1/maps/tiles', -34.9059, -56.1913),
    query: fc.constant({}),
  }),
  'GET /v1/maps/glyphs/{fontstack}/{range}.pbf': fc.record({
    path: fc
      .tuple(oneOf('Noto Sans Regular', 'Noto Sans Medium,Open Sans Regular'), fc.nat(255))
      .map(([fonts, n]) => `/v1/maps/glyphs/${encodeURIComponent(fonts)}/${n * 256}-${n * 256 + 255}.pbf`),
    query: fc.constant({}),
  }),
  'GET /v1/maps/sprites/{name}': fc.record({
    path: oneOf('icons.json', 'icons.png', 'icons@2x.json', 'icons@2x.png').map(
      (name) => `/v1/maps/sprites/${name}`,
    ),
    query: fc.constant({}),
  }),
  'POST /v1/webhooks/{id}/redeliver': both(
    known('/v1/webhooks/', 'webhook', '/redeliver'),
    fc.oneof(
      fc.record({ from: daysFromNow(-3, -1), to: daysFromNow(-0.5, 0) }),
      draws.map((n) => ({ deliveryId: `§delivery:${n}§` })),
    ),
  ),
  'GET /v1/webhooks/{id}/deliveries': fc.record({
    path: known('/v1/webhooks/', 'webhook', '/deliveries'),
    query: some({ status: oneOf('pending', 'delivered', 'failed'), limit: oneOf(1, 100) }),
  }),
  'POST /v1/hooks': body(
    fc.tuple(idsOf('x', 15), hook).map(([externalId, more]) => ({ tag: 'shop', externalId, ...more })),
  ),
  'PUT /v1/hooks/{tag}/{externalId}': both(
    fc.tuple(oneOf('shop', 'depot'), idsOf('x', 15)).map(([tag, id]) => `/v1/hooks/${tag}/${id}`),
    hook,
  ),
  'PUT /v1/hooks/{id}': both(known('/v1/hooks/', 'hook'), hook),
  'POST /v1/simulations': body(
    fc.record({ devices: fc.integer({ min: 1, max: 5 }), minutes: oneOf(0.05, 0.5) }),
  ),
  'POST /v1/notifications/test': body(oneOf('ops@example.com', 'a@b.example').map((email) => ({ email }))),
}
