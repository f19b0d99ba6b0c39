/**
 * Long records in the audit: what an entry keeps of them is bounded, what it lacks is told, what it has can be restored,
 * and no reader makes the server hold hundreds of megabytes.
 */
import t from 'tap'
import { boundedValue, MOST_VALUE_BYTES } from '../../src/registry/audit/boundedValue.ts'
import { AuditSweep } from '../../src/registry/audit/auditSweep.ts'
import { parseBeacon } from '../../src/registry/beacons/parseBeacon.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { inSlices } from '../../src/runtime/slices.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import fc from '../kit/fastCheck.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { Browser } from './kit.ts'
import { seedPeople } from './seeded.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

/** 2,000 corners with all digits, as other programs write them: 80 kB. */
const RING = Array.from({ length: 2000 }, (_, i) => {
  const angle = (2 * Math.PI * (i % 1999)) / 1999
  return [13 + 0.01 * Math.cos(angle) + 1e-15, 52 + 0.01 * Math.sin(angle) + 1e-15]
})
const POLYGON = { description: 'Bay', type: 'polygon', coordinates: RING }
const CIRCLE = { description: 'Yard', type: 'circle', coordinates: [13.4, 52.5], radius: 100 }
/** 600 kB. */
const USERS = Array.from({ length: 10_000 }, (_, i) => `user-${'x'.repeat(50)}-${i}`)

t.test('long records over HTTP', async (t) => {
  const data = t.testdir({})
  const people = seedPeople(data)
  const server = await startServer(t, { data })
  const admin = new Browser(server.url, server.contract)
  admin.cookie = `ringfence_session=${people.admin.token}`
  const audit = async (query: string): Promise<Json> => (await admin.call('GET', `/v1/audit?${query}`)).body
  const done = async (method: string, path: string, body?: unknown): Promise<void> => {
    const { status, body: answer } = await server.api(method, path, body)
    t.equal(status, 200, `${method} ${path} ${JSON.stringify(answer.meta)}`)
  }

  await t.test('a polygon of 2,000 corners is kept whole, and restored from its deletion', async (t) => {
    await done('PUT', '/v1/geofences/long/polygon', POLYGON)
    await done('PUT', '/v1/geofences/long/polygon', { ...POLYGON, description: 'Gulf' })
    await done('DELETE', '/v1/geofences/long/polygon')
    const { audit: entries } = await audit('target=long%2Fpolygon')
    t.strictSame(
      entries.map((entry: Json) => [entry.action, entry.leftOut]),
      [
        ['geofence.deleted', undefined],
        ['geofence.changed', undefined],
        ['geofence.created', undefined],
      ],
    )
    await done('PUT', '/v1/geofences/long/polygon', entries[0].before)
    const { geofence } = (await server.api('GET', '/v1/geofences/long/polygon')).body
    t.strictSame(geofence.geometry, entries[0].before.geometry)
  })

  await t.test('of 600 kB of users an entry says that they are not in it, and has the rest', async (t) => {
    await done('PUT', '/v1/geofences/long/users', { ...CIRCLE, userIds: USERS })
    await done('PUT', '/v1/geofences/long/users', { ...CIRCLE, radius: 200, userIds: USERS.slice(1) })
    await done('PUT', '/v1/geofences/long/users', { ...CIRCLE, radius: 200 })
    await done('PUT', '/v1/geofences/long/users', { ...CIRCLE, radius: 200, userIds: USERS })
    await done('DELETE', '/v1/geofences/long/users')
    const { audit: entries } = await audit('target=long%2Fusers')
    t.strictSame(
      entries.map((entry: Json) => [entry.action, entry.leftOut]),
      [
        ['geofence.deleted', ['before.userIds']],
        ['geofence.changed', ['after.userIds']],
        ['geofence.changed', ['before.userIds']],
        ['geofence.changed', ['before.userIds', 'after.userIds']],
        ['geofence.created', ['after.userIds']],
      ],
    )
    for (const { before, after } of entries)
      for (const value of [before, after])
        if (value !== undefined) t.ok(Buffer.byteLength(JSON.stringify(value)) <= MOST_VALUE_BYTES)
    t.match(entries[0].before, { description: 'Yard', radius: 200, userIds: undefined }, 'the rest is there')
    // That nothing of `before` is missing says that it can be restored.
    const shorter = entries[1]
    await done('PUT', '/v1/geofences/long/users', shorter.before)
    t.match((await server.api('GET', '/v1/geofences/long/users')).body.geofence, { geometryRadius: 200 })
  })

  await t.test('a page of long entries ends early, and the pages have all of them', async (t) => {
    for (let i = 0; i < 30; i++)
      await done('PUT', '/v1/geofences/long/page', { ...POLYGON, description: `Bay ${i}` })
    const ids: string[] = []
    let pages = 0
    let hasMore = true
    for (let before = ''; hasMore; pages++) {
      const page = await audit(`target=long%2Fpage&limit=1000${before}`)
      t.ok(JSON.stringify(page).length < 3_000_000, `${JSON.stringify(page).length} characters`)
      ids.push(...page.audit.map(({ _id }: Json) => _id))
      hasMore = page.meta.hasMore
      before = `&before=${ids.at(-1)}`
    }
    t.equal(new Set(ids).size, 30)
    t.ok(pages > 3, `${pages} pages`)
  })

  await t.test('lists of fraud of half a megabyte can be changed, too', async (t) => {
    const blocked = USERS.slice(0, 8000)
    t.equal((await admin.call('PATCH', '/v1/settings', { fraud: { blocked } })).status, 200)
    t.equal((await admin.call('PATCH', '/v1/settings', { exitDelaySeconds: 7 })).status, 200)
    const [entry] = (await audit('action=settings.changed&limit=1')).audit
    t.strictSame(entry.leftOut, ['before.fraud', 'after.fraud'])
    t.match([entry.before.exitDelaySeconds, entry.after.exitDelaySeconds], [0, 7])
  })
})

t.test('what is kept fits, and no more than needed is left out', (t) => {
  const record = fc.dictionary(
    fc.constantFrom('geometry', 'coordinates', 'userIds', 'metadata', 'description'),
    fc
      .tuple(fc.constantFrom('x', 'ä', '😀', '"'), fc.integer({ min: 0, max: 200_000 }))
      .map(([letter, length]) => letter.repeat(length)),
  )
  fc.assert(
    fc.property(record, (value) => {
      const json = JSON.stringify(value)
      const { json: keptJson, leftOut } = boundedValue(value, json)
      if (Buffer.byteLength(keptJson) > MOST_VALUE_BYTES) return false
      if (Buffer.byteLength(json) <= MOST_VALUE_BYTES) return keptJson === json && leftOut.length === 0
      const kept = JSON.parse(keptJson)
      const gone = Object.keys(value).filter((name) => !(name in kept))
      const untold = gone.filter((name) => !leftOut.includes(name))
      // The area is still there as a definition has it, or that is told.
      if (untold.some((name) => name !== 'geometry' || value['coordinates'] === undefined)) return false
      // With the shortest of what is gone, it would not fit.
      const back = gone.map((name) => Buffer.byteLength(JSON.stringify({ ...kept, [name]: value[name] })))
      return gone.length > 0 && Math.max(...back) > MOST_VALUE_BYTES
    }),
    { numRuns: 200 },
  )
  t.end()
})

t.test('the audit of a project takes a bounded room on the disk', async (t) => {
  const clock = new ManualClock(Date.UTC(2026, 10, 20))
  const registry = openRegistry({
    folder: t.testdir({}),
    clock,
    createIndex: createGeofenceIndex,
    firstKeys: KEYS,
  })
  t.teardown(() => registry.close())
  const beacon = (id: number) =>
    parseBeacon({
      description: 'D'.repeat(1000),
      type: 'eddystone',
      uid: 'a'.repeat(20),
      instance: 'b'.repeat(12),
      coordinates: [1, 2],
      tag: 't',
      externalId: `${id}`,
    })
  for (let i = 0; i < 20; i++) {
    clock.advance(1)
    await registry.edit(() => registry.beacons.put(2, beacon(i)))
  }
  const entries = async () =>
    (await inSlices(registry.audit.listSteps(1, { action: 'beacon.created', limit: 100 }))).rows
  const { length } = (await entries())[0]!.detail
  await new AuditSweep(registry.audit, 365, Infinity, 5.5 * length).run()
  t.strictSame(
    (await entries()).map(({ target }) => target),
    ['t/19', 't/18', 't/17', 't/16', 't/15'],
    'the oldest ones are gone',
  )
})
