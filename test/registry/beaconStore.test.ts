/**
 * Beacons below the API: searches by place and by range against slow, obvious implementations, and edits, restarts,
 * an older file and damage.
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import type { Test } from 'tap'
import { destination, pointDistance } from '../../src/geometry/distance.ts'
import type { Beacon, BeaconIdentifiers } from '../../src/model/beacon.ts'
import type { Position } from '../../src/model/geofence.ts'
import { scopeId } from '../../src/model/scope.ts'
import { nearbyBeaconsJson, beaconRecord } from '../../src/registry/beacons/beaconRecord.ts'
import type { BeaconDefinition } from '../../src/registry/beacons/beaconRows.ts'
import { BeaconStore } from '../../src/registry/beacons/beaconStore.ts'
import { REGISTRY_FILE } from '../../src/registry/store/database.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import fc from '../kit/fastCheck.ts'

const RUNS = 150 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)
const TEST = scopeId(1, false)
const LIVE = scopeId(1, true)
const START = Date.UTC(2026, 0, 1)
const UUID = 'b9407f30-f5f8-466e-aff9-25556b57fe6d'

function ibeacon(minor: string, more: Partial<BeaconDefinition> = {}): BeaconDefinition {
  return {
    description: `Register ${minor}`,
    type: 'ibeacon',
    uuid: UUID,
    major: '100',
    minor,
    tag: 'register',
    externalId: minor,
    coordinates: [-73.99, 40.73],
    enabled: true,
    ...more,
  }
}

/** A beacon without a reference. */
function nameless(minor: string): BeaconDefinition {
  const { tag: _tag, externalId: _externalId, ...rest } = ibeacon(minor)
  return rest
}

interface Opened {
  readonly folder: string
  readonly clock: ManualClock
  registry: Registry
  reopen(): Registry
}

function open(t: Test, folder = t.testdir()): Opened {
  const clock = new ManualClock(START)
  const start = () => openRegistry({ clock, createIndex: createGeofenceIndex, folder })
  const opened: Opened = {
    folder,
    clock,
    registry: start(),
    reopen: () => {
      opened.registry.close()
      return (opened.registry = start())
    },
  }
  t.teardown(() => opened.registry.close())
  return opened
}

/** Every beacon of a scope, newest first. */
function all(registry: Registry, scope = TEST): Beacon[] {
  return registry.scope(scope).beacons.records.list({ limit: 10_000 }).records
}

// The places, ids and identifiers of random edits and queries. There are few, so that they collide.
const PLACES: fc.Arbitrary<Position> = fc.oneof(
  fc
    .tuple(fc.integer({ min: -12, max: 12 }), fc.integer({ min: -12, max: 12 }))
    .map(([x, y]): Position => [x / 200, y / 200]),
  fc
    .tuple(fc.constantFrom(-1, 1), fc.integer({ min: 0, max: 20 }), fc.integer({ min: -3, max: 3 }))
    .map(([side, x, y]): Position => [side * (180 - x / 300), 66 + y / 100]),
  fc
    .tuple(fc.integer({ min: -6, max: 6 }), fc.integer({ min: 0, max: 20 }), fc.constantFrom(-1, 1))
    .map(([turn, y, pole]): Position => [turn * 30, pole * (90 - y / 300)]),
  fc.constantFrom<Position>([180, 0], [-180, 0], [0, 90], [123, -90], [0, 0]),
)
const EDITS = fc.array(
  fc.record({
    id: fc.integer({ min: 1, max: 200 }),
    place: PLACES,
    identity: fc.integer({ min: 0, max: 5 }),
    kind: fc.constantFrom('put', 'put', 'put', 'disable', 'remove'),
  }),
  { minLength: 1, maxLength: 400, size: 'max' },
)
const QUESTIONS = fc.array(
  fc.record({
    place: PLACES,
    radius: fc.constantFrom(0.5, 300, 1000, 1111.9, 5000, 100_000),
    limit: fc.constantFrom(1, 3, 100),
    onlyEven: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
)

/** Identifiers of both types. In odd turns, the same ones in other cases and forms. */
function identityOf(identity: number, turn: number): BeaconIdentifiers {
  const shout = (text: string) => (turn % 2 === 0 ? text : text.toUpperCase())
  if (identity >= 3)
    return { type: 'eddystone', uid: shout('f7826da6bc5b71e0893e'), instance: shout(`44563${identity}`) }
  const uuid = shout(turn % 3 === 0 ? UUID : UUID.replaceAll('-', ''))
  return { type: 'ibeacon', uuid, major: '1', minor: String(identity) }
}

t.test('property: near and in range agree with a check of every beacon', async (t) => {
  fc.assert(
    fc.property(EDITS, QUESTIONS, (edits, questions) => {
      const store = new BeaconStore()
      const twin = new Map<string, Beacon>()
      edits.forEach(({ id, place, identity, kind }, turn) => {
        const name = String(id).padStart(24, '0')
        if (kind === 'remove') {
          store.remove(name)
          twin.delete(name)
          return
        }
        const beacon: Beacon = {
          id: name,
          scope: TEST,
          description: name,
          ...identityOf(identity, turn),
          coordinates: place,
          enabled: kind === 'put',
          createdAt: twin.get(name)?.createdAt ?? turn,
          updatedAt: turn,
        }
        store.put(beacon)
        twin.set(name, beacon)
      })
      const enabled = [...twin.values()].filter((one) => one.enabled)
      for (const { place, radius, limit, onlyEven } of questions) {
        const [longitude, latitude] = place
        const accept = (beacon: Beacon) => !onlyEven || Number(beacon.id) % 2 === 0
        const wanted = enabled
          .map((beacon) => {
            const [lon, lat] = beacon.coordinates
            return { beacon, distance: pointDistance(latitude, longitude, lat, lon) }
          })
          .filter(({ beacon, distance }) => distance <= radius && accept(beacon))
          .sort((a, b) => a.distance - b.distance || (a.beacon.id < b.beacon.id ? -1 : 1))
          .slice(0, limit)
        const got = store.near(latitude, longitude, radius, limit, onlyEven ? accept : undefined)
        if (JSON.stringify(got) !== JSON.stringify(wanted)) return false
      }
      for (let identity = 0; identity < 7; identity++) {
        const ranged = identityOf(identity, 0)
        const wanted = enabled.filter(
          (one) =>
            one.type === ranged.type &&
            one.minor === ranged.minor &&
            one.instance?.toLowerCase() === ranged.instance,
        )
        const got = [...store.inRange(ranged)]
        if (new Set(got).size !== wanted.length || !wanted.every((one) => got.includes(one))) return false
      }
      return store.size === twin.size && [...twin.values()].every((one) => store.beacon(one.id) === one)
    }),
    { numRuns: RUNS },
  )
  t.pass('held')
})

t.test('property: near, among so many that cells are used', async (t) => {
  const CENTERS = [
    [0, 180] as const,
    [52.5, 13.4] as const,
    [71, -180] as const,
    [89.97, 30] as const,
    [-90, 0] as const,
  ]
  for (const [latitude, longitude] of CENTERS) {
    const seed = Math.floor(Math.random() * 2 ** 31)
    await t.test(`about ${latitude},${longitude}, seed ${seed}`, async (t) => {
      const placeWithin = (meters: number) =>
        fc
          .tuple(fc.double({ min: 0, max: 360, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }))
          .map(([bearing, share]) => destination(latitude, longitude, bearing, meters * Math.sqrt(share)))
      const store = new BeaconStore()
      const beacons = fc.sample(placeWithin(8000), { numRuns: 3000, seed }).map((place, i): Beacon => ({
        ...ibeacon(String(i)),
        id: String(i).padStart(24, '0'),
        scope: TEST,
        coordinates: [place.longitude, place.latitude],
        createdAt: i,
        updatedAt: i,
      }))
      for (const beacon of beacons) store.put(beacon)
      fc.assert(
        fc.property(placeWithin(9000), fc.integer({ min: 100, max: 3000 }), (place, radius) => {
          const wanted = beacons
            .map(({ coordinates: [lon, lat] }) => pointDistance(place.latitude, place.longitude, lat, lon))
            .filter((distance) => distance <= radius)
            .sort((a, b) => a - b)
          const got = store.near(place.latitude, place.longitude, radius, 3000)
          return got.length === wanted.length && got.every(({ distance }, i) => distance === wanted[i])
        }),
        { numRuns: RUNS },
      )
      t.pass('held')
    })
  }
})

t.test('create, upsert, replace, delete; each raises the revision of its scope only', async (t) => {
  const { registry, clock } = open(t)
  const { beacons } = registry
  const live = registry.scope(LIVE).revision
  let revision = registry.revision
  const raised = (name: string) => {
    t.equal(registry.revision, (revision += 1), `${name} raises the revision`)
    t.equal(registry.scope(TEST).revision, revision)
    t.equal(registry.scope(LIVE).revision, live, 'the other environment keeps its')
  }
  const created = beacons.create(TEST, ibeacon('1', { metadata: { floor: 2 } }))
  raised('create')
  t.match(created, { scope: TEST, tag: 'register', externalId: '1', createdAt: START, updatedAt: START })
  t.match(created.id, /^[0-9a-f]{24}$/)
  t.throws(() => beacons.create(TEST, ibeacon('1')), { name: 'RecordExists', record: created })

  clock.advance(1000)
  const put = beacons.put(TEST, ibeacon('1', { description: 'new', enabled: false }))
  raised('put')
  t.equal(put.created, false)
  t.match(put.record, { id: created.id, createdAt: START, updatedAt: START + 1000, description: 'new' })
  t.equal(put.record.metadata, undefined, 'what is absent is at its default')
  t.equal(created.description, 'Register 1', 'objects are replaced, never changed')
  const store = registry.scope(TEST)
  t.equal(store.beacons.beacon(created.id), put.record)
  t.equal(store.beacons.byPair('register', '1'), put.record)
  t.strictSame(store.beacons.inRange(created), [], 'a disabled one is not in range')
  t.strictSame(store.beacons.near(40.73, -73.99, 1000, 100), [], 'nor near')

  const first = beacons.put(TEST, nameless('9')).record
  raised('put without a pair')
  const second = beacons.create(TEST, nameless('9'))
  raised('create without a pair')
  t.not(second.id, first.id, 'without a pair each is a new one')
  t.equal(beacons.put(TEST, { ...nameless('9'), tag: 'register' }).created, true)
  raised('put with half a pair')
  t.equal(beacons.put(TEST, { ...nameless('9'), tag: 'register' }).created, true, 'half a pair is none')
  raised('put with half a pair')
  t.strictSame(
    store.beacons.inRange({ ...first, uuid: UUID.toUpperCase() }).length,
    4,
    'several may send the same',
  )

  beacons.put(TEST, ibeacon('2'))
  raised('put')
  t.throws(() => beacons.replace(TEST, created.id, ibeacon('2')), { name: 'RecordExists' })
  t.equal(beacons.replace(TEST, 'f'.repeat(24), ibeacon('3')), undefined)
  const moved = beacons.replace(TEST, created.id, ibeacon('3', { coordinates: [10, 50] }))!
  raised('replace')
  t.match(moved, { id: created.id, createdAt: START, externalId: '3' })
  t.equal(store.beacons.byPair('register', '1'), undefined, 'the old pair is free')
  t.equal(store.beacons.byPair('register', '3'), moved)
  t.equal(store.beacons.near(50, 10, 1, 1)[0]?.beacon, moved, 'found where it is now')

  t.equal(beacons.delete(TEST, created.id), true)
  raised('delete')
  t.equal(beacons.delete(TEST, created.id), false)
  t.equal(store.beacons.beacon(created.id), undefined)
  t.strictSame(store.beacons.near(50, 10, 1, 1), [])
  t.not(beacons.put(TEST, ibeacon('3')).record.id, created.id, 'created anew it is another one')
  t.strictSame(beacons.putMany(TEST, []), [])
  t.equal(registry.revision, revision + 1, 'what changes nothing raises nothing')
  t.strictSame(all(registry, LIVE), [], 'G8: the other environment saw none of it')
  t.equal(beacons.delete(LIVE, first.id), false)
  t.equal(beacons.replace(LIVE, first.id, ibeacon('5')), undefined)
})

t.test('putMany: one transaction, the last of a pair counts, pages lose none', async (t) => {
  const opened = open(t)
  const { registry, clock } = opened
  clock.advance(100_000)
  const many = Array.from({ length: 30 }, (_, i) => ibeacon(`${i}`))
  const outcomes = registry.beacons.putMany(TEST, [
    ...many,
    ibeacon('7', { description: 'again' }),
    nameless('7'),
    nameless('7'),
  ])
  t.equal(outcomes.filter(({ created }) => created).length, 32)
  t.equal(outcomes[30]!.record.id, outcomes[7]!.record.id)
  const { records } = registry.scope(TEST).beacons
  t.equal(records.byPair('register', '7')!.description, 'again')
  const ids: string[] = []
  for (let before: string | undefined; ;) {
    const page = records.list({ limit: 7, before })
    ids.push(...page.records.map(({ id }) => id))
    before = page.records.at(-1)!.id
    if (!page.hasMore) break
  }
  t.equal(new Set(ids).size, 32)
  t.ok(
    all(registry).every((one) => one.createdAt <= clock.now() && one.updatedAt <= clock.now()),
    'none in the future',
  )

  const before = [all(registry), registry.revision]
  const poisoned = ibeacon('99', { metadata: { bad: 1n as unknown as number } })
  t.throws(() => registry.beacons.putMany(TEST, [ibeacon('1', { description: 'x' }), poisoned]), TypeError)
  t.strictSame([all(registry), registry.revision], before, 'a failed transaction changes nothing')
  const again = opened.reopen()
  t.strictSame([all(again), again.revision], before, 'on the disk neither')
})

t.test('a restart finds all of it again', async (t) => {
  const opened = open(t)
  const { beacons } = opened.registry
  beacons.putMany(TEST, [ibeacon('1', { metadata: { a: 'x', b: 1.5, c: false } }), nameless('2')])
  beacons.put(LIVE, {
    description: 'Aisle A',
    type: 'eddystone',
    uid: 'f7826da6bc5b71e0893e',
    instance: '4456384b726a',
    tag: 'aisle',
    coordinates: [180, -90],
    enabled: false,
  })
  beacons.put(TEST, ibeacon('1', { description: 'edited', coordinates: [13.4, 52.5] }))
  opened.registry.geofences.put(TEST, {
    tag: 'register',
    externalId: '1',
    description: 'A geofence may have the pair of a beacon',
    type: 'circle',
    shape: { kind: 'circle', center: [0, 0], radius: 100 },
    enabled: true,
  })
  const before = [TEST, LIVE].map((scope) => all(opened.registry, scope))
  t.match(
    before.map((list) => list.length),
    [2, 1],
  )
  const registry = opened.reopen()
  t.strictSame(
    [TEST, LIVE].map((scope) => all(registry, scope)),
    before,
  )
  const { beacons: store } = registry.scope(TEST)
  t.equal(store.near(52.5, 13.4, 10, 1)[0]?.beacon.description, 'edited')
  t.equal(store.inRange(ibeacon('1'))[0]?.description, 'edited')
  t.equal(registry.scope(TEST).geofences.records.size, 1)
})

t.test('a file of version 1 is upgraded, and keeps its content', async (t) => {
  const folder = t.testdir({})
  const file = join(folder, REGISTRY_FILE)
  const old = new Database(file)
  old.exec(`
    PRAGMA application_id = ${0x52464e43};
    PRAGMA user_version = 1;
    CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    INSERT INTO meta VALUES ('revision', 7);
    CREATE TABLE projects (
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, createdAt INTEGER NOT NULL);
    INSERT INTO projects VALUES (1, 'default', ${START});
    CREATE TABLE keys (
      project INTEGER NOT NULL REFERENCES projects (id), kind TEXT NOT NULL, digest BLOB NOT NULL UNIQUE,
      lastFour TEXT NOT NULL, createdAt INTEGER NOT NULL, PRIMARY KEY (project, kind)) WITHOUT ROWID;
    CREATE TABLE geofences (
      id TEXT NOT NULL UNIQUE, scope INTEGER NOT NULL, tag TEXT NOT NULL, externalId TEXT NOT NULL,
      createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, definition TEXT NOT NULL,
      UNIQUE (scope, tag, externalId));
    INSERT INTO geofences VALUES ('${'a'.repeat(24)}', ${TEST}, 'store', '1', ${START}, ${START},
      '{"description":"Old","type":"circle","shape":{"kind":"circle","center":[0,0],"radius":50},"enabled":true,"timeZone":"UTC"}');
    CREATE TABLE settings (scope INTEGER PRIMARY KEY, definition TEXT NOT NULL);
    INSERT INTO settings VALUES (${TEST}, '{"dwellEvents":true}');
  `)
  old.close()
  const opened = open(t, folder)
  const store = opened.registry.scope(TEST)
  t.equal(opened.registry.revision, 7)
  t.equal(store.geofences.byPair('store', '1')?.description, 'Old')
  t.equal(store.settings.dwellEvents, true)
  t.equal(opened.registry.keys.projects().length, 1)
  t.strictSame(all(opened.registry), [])
  opened.registry.beacons.put(TEST, ibeacon('1'))
  t.equal(opened.registry.revision, 8)
  const again = opened.reopen()
  t.equal(all(again).length, 1)
  t.equal(again.scope(TEST).geofences.records.size, 1)
})

t.test('an unreadable beacon is named', async (t) => {
  const opened = open(t)
  const { record: beacon } = opened.registry.beacons.put(TEST, ibeacon('1'))
  opened.registry.close()
  const database = new Database(join(opened.folder, REGISTRY_FILE))
  database.exec(`UPDATE beacons SET definition = '{'`)
  database.close()
  t.throws(() => opened.reopen(), {
    name: 'RegistryDamaged',
    message: new RegExp(`beacon ${beacon.id} cannot be read`),
  })
})

t.test('nearbyBeacons: enabled ones within 1 km, nearest first, at most 100', async (t) => {
  const { registry } = open(t)
  const view = registry.scope(TEST)
  t.equal(nearbyBeaconsJson(view, 40.73, -73.99), '[]')
  // A degree of latitude is 111,052 m here.
  const at = (meters: number): Position => [-73.99, 40.73 + meters / 111_052]
  registry.beacons.putMany(TEST, [
    ibeacon('1', { coordinates: at(999) }),
    ibeacon('2', { coordinates: at(1001) }),
    ibeacon('3', { coordinates: at(5), enabled: false }),
    ibeacon('4', { coordinates: at(10) }),
    ibeacon('5', { coordinates: [-73.99, 0] }),
  ])
  const nearby = () => JSON.parse(nearbyBeaconsJson(view, 40.73, -73.99))
  t.strictSame(
    nearby().map((one: Beacon) => one.externalId),
    ['4', '1'],
  )
  t.strictSame(nearby()[0], JSON.parse(JSON.stringify(beaconRecord(view.beacons.byPair('register', '4')!))))
  registry.beacons.put(TEST, ibeacon('4', { coordinates: at(10), description: 'edited' }))
  t.equal(nearby()[0].description, 'edited', 'no text outlives an edit')
  registry.beacons.putMany(
    TEST,
    Array.from({ length: 120 }, (_, i) => ibeacon(`${i + 10}`, { coordinates: at(20 + i) })),
  )
  t.equal(nearby().length, 100)
  t.equal(nearby()[99].externalId, '108')
  t.equal(nearbyBeaconsJson(registry.scope(LIVE), 40.73, -73.99), '[]')
})
