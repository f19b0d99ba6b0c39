/** Segments of users against an evaluator that keeps every event and counts them all for each update. */
import t from 'tap'
import { CONVERSION } from '../../src/actor/conversion.ts'
import type { SegmentDefinition } from '../../src/model/segment.ts'
import { numbered } from '../../src/registry/settings/segmentSettings.ts'
import { findUser } from '../../src/users/userQueries.ts'
import fc from '../kit/fastCheck.ts'
import { aGeofence, applied, Engine, MINUTE, removeRecord, runs, SALT } from './kit.ts'
import { SegmentOracle } from './oracleSegments.ts'
import { RandomAtlas } from './randomAtlas.ts'
import { randomSegments } from './randomSegments.ts'
import { moved, Random, randomBeacon, randomEdit, randomGeofence, randomRanged } from './world.ts'

const DAY = 24 * 60 * MINUTE
const DEVICES = 5
const ROUNDS = 40

t.test('property: users are in the segments that a count of the whole log gives', async (t) => {
  const counts = { updates: 0, member: 0, counted: 0, conversions: 0, zones: 0 }
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const random = new Random(seed)
      const place = { latitude: random.between(-60, 60), longitude: random.between(-179, 179) }
      const spread = random.magnitude(100, 2000)
      const atlas = new RandomAtlas(random, place, spread)
      let engine = new Engine({ atlas })
      const { world, clock } = engine
      world.set(0, { places: true, regions: true, nearbyPlaceChains: ['ants'], nearbyPlaceChainMeters: 100 })
      world.set(0, numbered(randomSegments(random), world.scope(0).settings))
      for (let id = 1; id <= 8; id++) world.put(randomGeofence(random, id, place, spread, clock.now()))
      for (let id = 1; id <= 3; id++) world.putBeacon(randomBeacon(random, id, place, spread))
      const oracle = new SegmentOracle()
      const devices = Array.from({ length: DEVICES }, (_, i) => ({
        deviceId: `device-${i}`,
        at: place,
        metadata: undefined as Record<string, number | boolean> | undefined,
        time: 0,
      }))
      for (let round = 0; round < ROUNDS; round++) {
        clock.advance(Math.round(random.magnitude(MINUTE, 2 * DAY)))
        if (random.chance(0.2)) {
          const { segments, segmentsSet } = world.scope(0).settings
          randomEdit(random, engine, place, spread)
          const { regions, places } = world.scope(0).settings
          // Regions and places are mostly on.
          world.set(0, {
            segments,
            segmentsSet,
            regions: regions || random.chance(0.7),
            places: places || random.chance(0.7),
          })
        }
        if (random.chance(0.2)) {
          // Some rules stay as they are and keep their counts.
          const { settings } = world.scope(0)
          const kept = settings.segments.filter(() => random.chance(0.7))
          const fresh = randomSegments(random).filter(
            ({ externalId }) => !kept.some((one) => one.externalId === externalId),
          )
          world.set(0, numbered([...kept, ...fresh], settings))
        }
        if (random.chance(0.2)) await engine.snapshot()
        if (random.chance(0.2)) engine = engine.restarted()
        const { settings } = world.scope(0)
        oracle.see(settings)
        for (const device of devices) {
          if (random.chance(0.3)) device.metadata = { team: random.below(3), night: random.chance(0.5) }
          if (random.chance(0.6)) {
            const step = random.pick([1, 60, spread])
            device.at = moved(
              random.chance(0.2) ? place : device.at,
              random.between(-step, step),
              random.between(-step, step),
            )
          }
          const hits = engine.partitions.reduce((sum, { zoneHits }) => sum + zoneHits, 0)
          const beacons = random.chance(0.3) ? randomRanged(random, world.beacons(0).values()) : undefined
          const reply = applied(
            await engine.track(
              engine.update({
                deviceId: device.deviceId,
                ...device.at,
                metadata: random.chance(0.5) ? device.metadata : undefined,
                stopped: random.chance(0.5),
                accuracy: random.pick([5, 10, 40]),
                ...(beacons && { beacons }),
              }),
            ),
          )
          counts.zones += engine.partitions.reduce((sum, { zoneHits }) => sum + zoneHits, 0) - hits
          counts.updates++
          const { segments, ...user } = JSON.parse(reply.user)
          for (const event of reply.events) oracle.happened(user._id, JSON.parse(event))
          const wanted = oracle.of(user, Date.parse(user.updatedAt), user.metadata, settings)
          if (JSON.stringify(segments) !== JSON.stringify(wanted))
            throw new Error(
              `${JSON.stringify(segments)} instead of ${JSON.stringify(wanted)}: ${JSON.stringify(settings.segments)}`,
            )
          if (random.chance(0.2)) {
            const json = await engine.host.execute(
              CONVERSION,
              {
                scope: 0,
                deviceId: device.deviceId,
                name: random.pick(['bought', 'shared']),
                createdAt: clock.now() - random.pick([0, 0, MINUTE, 3 * DAY]),
                receivedAt: clock.now(),
              },
              0,
            )
            oracle.happened(user._id, JSON.parse(json))
            counts.conversions++
          }
          if (random.chance(0.02)) await removeRecord(engine.host, user._id)
        }
      }
      counts.member += oracle.counts.member
      counts.counted += oracle.counts.counted
    }),
    { ...runs(12), endOnFailure: true },
  )
  t.comment(JSON.stringify(counts))
  for (const [what, count] of Object.entries(counts)) t.ok(count > counts.updates / 50, `${count} ${what}`)
})

async function visits(engine: Engine, times: number): Promise<string[]> {
  let user = ''
  for (let i = 0; i < times; i++) {
    for (const latitude of [0, 1]) {
      engine.clock.advance(MINUTE)
      user = applied(await engine.track(engine.update({ deviceId: 'd', latitude, longitude: 0 }))).user
    }
  }
  return JSON.parse(user).segments.map((one: { externalId: string }) => one.externalId)
}

function visitors(externalId: string, atLeast: number, withinDays = 30): SegmentDefinition {
  const event = { type: 'user.entered_geofence', withinDays, atLeast }
  return { description: externalId, externalId, rule: { event } }
}

t.test('a user leaves a segment when events are too old, without moving', async (t) => {
  const engine = new Engine()
  const { world, clock } = engine
  world.put(aGeofence(1))
  world.set(0, numbered([visitors('two', 2, 2), visitors('three', 3)], world.scope(0).settings))
  t.strictSame(await visits(engine, 1), [])
  t.strictSame(await visits(engine, 1), ['two'])
  const stay = async () => {
    const { user } = applied(await engine.track(engine.update({ deviceId: 'd', latitude: 1, longitude: 0 })))
    return JSON.parse(user).segments.length
  }
  // The first of the two was at minute 1, and minute 4 is over.
  clock.advance(2 * DAY - 3 * MINUTE)
  t.equal(await stay(), 1, 'two days later it counts')
  clock.advance(1)
  t.equal(await stay(), 0, 'and no longer')
})

t.test('a rule counts since it was set; while it stays as it is, so do its counts', async (t) => {
  const engine = new Engine()
  const { world } = engine
  const set = (...segments: SegmentDefinition[]) => world.set(0, numbered(segments, world.scope(0).settings))
  world.put(aGeofence(1))
  await visits(engine, 1)
  set(visitors('a', 1))
  engine.clock.advance(MINUTE)
  const there = engine.update({ deviceId: 'd', latitude: 1, longitude: 0 })
  t.match(
    JSON.parse(applied(await engine.track(there)).user),
    { segments: [] },
    'the visit before does not count',
  )
  t.strictSame(await visits(engine, 1), ['a'])
  set({ ...visitors('a', 1), description: 'another' }, visitors('b', 2))
  t.strictSame(await visits(engine, 1), ['a'])
  set(visitors('b', 2))
  t.strictSame(await visits(engine, 1), ['b'])
  set(visitors('b', 3))
  t.strictSame(await visits(engine, 2), [], 'another rule under the same id counts anew')
  set()
  set(visitors('b', 3))
  t.strictSame(await visits(engine, 2), [], 'so does one that was removed')
  t.strictSame(await visits(engine, 1), ['b'])
})

t.test('what is kept of a user is bounded, survives a restart, and goes with the user', async (t) => {
  let engine = new Engine()
  const { world } = engine
  world.put(aGeofence(1))
  world.set(0, numbered([visitors('a', 3), visitors('b', 100)], world.scope(0).settings))
  await visits(engine, 5)
  engine = engine.restarted()
  const { partition, row } = findUser(engine.host, SALT, 0, 'd')!
  const { id, segments } = partition.table.profile(row)
  t.strictSame(
    segments.counts.map(({ times }) => times.length),
    [3, 5],
  )
  t.strictSame(segments.members.length, 1)
  t.ok(await removeRecord(engine.host, id))
  t.strictSame(await visits(engine, 2), [], 'counted anew')
})
