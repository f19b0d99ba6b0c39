/** Changes of many records: an edit of the registry of one process is made at once, so others would wait for all of them. */
import t from 'tap'
import { answeredWith, type Answer } from '../../src/http/route.ts'
import { BEACONS } from '../../src/registry/beacons/beaconEntity.ts'
import { parseBeacon } from '../../src/registry/beacons/parseBeacon.ts'
import { bulkRoutes } from '../../src/registry/records/bulkRoutes.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { KEYS } from '../kit/server.ts'

const SCOPE = 2
const COUNT = 2400
/** Of 200 records each. */
const COMMITS = 12

t.test('others have a turn after each commit', async (t) => {
  const registry = openRegistry({
    folder: t.testdir({}),
    clock: systemClock,
    createIndex: createGeofenceIndex,
    firstKeys: KEYS,
  })
  t.teardown(() => registry.close())
  const { beacons } = registry
  const definitions = Array.from({ length: COUNT }, (_, i) =>
    parseBeacon({
      description: 'Door',
      type: 'eddystone',
      uid: 'a'.repeat(20),
      instance: 'b'.repeat(12),
      coordinates: [1, 2],
      tag: 'door',
      externalId: `${i}`,
    }),
  )
  for (let at = 0; at < COUNT; at += 400)
    await registry.edit(() => beacons.putMany(SCOPE, definitions.slice(at, at + 400)))

  // The turns in which the number of records has become smaller since the turn before.
  let turns = 0
  let before = COUNT
  const turn = () => {
    const { size } = beacons.store(SCOPE).records
    if (size < before) turns++
    before = size
    handle = setImmediate(turn)
  }
  let handle = setImmediate(turn)
  const routes = answeredWith(bulkRoutes(BEACONS), { collection: beacons })
  const remove = routes.find(({ method }) => method === 'DELETE')!
  const call = { credentials: { scope: SCOPE }, query: { all: true, expectedCount: COUNT } }
  const handler = remove.handler as unknown as (given: object) => Promise<Answer>
  const { body } = await handler(call)
  clearImmediate(handle)
  t.strictSame(body, { count: COUNT })
  t.equal(beacons.store(SCOPE).records.size, 0)
  t.ok(turns >= COMMITS - 1, `${turns} turns`)
})
