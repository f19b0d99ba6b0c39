import t from 'tap'
import { FLAG_SETTLED } from '../../src/actor/deviceFlags.ts'
import type { Partition } from '../../src/actor/partition.ts'
import { stateBefore } from '../../src/actor/profile.ts'
import type { Profile } from '../../src/model/device.ts'
import { fetched } from '../../src/rules/atlas.ts'
import { explainUser } from '../../src/users/explain.ts'
import { findUser } from '../../src/users/userQueries.ts'
import fc from '../kit/fastCheck.ts'
import { applied, Engine, MINUTE, runs, SALT } from './kit.ts'
import { Oracle } from './oracle.ts'
import { RandomAtlas } from './randomAtlas.ts'
import { randomFullSettings, Visitor } from './randomContext.ts'
import { Random, randomBeacon, randomEdit, randomGeofence, randomPlace } from './world.ts'
import { Track } from './track.ts'

const GEOFENCES = 24
const BEACONS = 6
const DEVICES = 14
const UPDATES = 10

/**
 * The profile, with the crossings of the last update. The profile does not contain them if that update changed
 * nothing in it.
 */
function profileNow({ table }: Partition, row: number): Profile {
  const profile = table.peek(row)
  const settled = (table.flags(row) & FLAG_SETTLED) !== 0
  return { ...profile, crossed: stateBefore(profile, settled).crossed }
}

/** The explanation of the last update must name exactly the geofence events and crossings that it caused. */
async function explains(engine: Engine, id: string, events: readonly any[]): Promise<void> {
  const { partition, row } = findUser(engine.host, SALT, 0, id)!
  const {
    candidates,
    regions = [],
    place,
  } = await fetched(() => explainUser(partition, row, engine.world.scope(0)))
  const explained = [...candidates].flatMap(({ outcome, event, confidence, geofence }: any) => [
    ...(outcome === 'crossed' ? [`crossed ${geofence._id}`] : []),
    ...(event === undefined ? [] : [`${event} ${geofence._id} ${confidence}`]),
  ])
  const { crossed } = profileNow(partition, row)
  const made = [
    ...crossed.map((one) => `crossed ${one}`),
    ...events.flatMap(({ type, geofence, confidence }) =>
      geofence === undefined || crossed.includes(geofence._id)
        ? []
        : [`${type} ${geofence._id} ${confidence}`],
    ),
  ]
  if (explained.sort().join() !== made.sort().join())
    throw new Error(`explained ${explained.join()}, made ${made.join()}: ${JSON.stringify(candidates)}`)
  const visits = events.map(({ type }) => type).filter((type) => /(entered|exited)_place/.test(type))
  if ((place?.events ?? []).join() !== visits.join())
    throw new Error(`explained ${JSON.stringify(place)}, made ${visits.join()}`)
  for (const { region, confidence } of events.filter((event) => event.region !== undefined)) {
    const why = regions.find(({ type }) => type === region.type)
    if (why?.outcome !== 'changed' || why.confidence !== confidence)
      throw new Error(`explained ${JSON.stringify(why)}, made ${JSON.stringify(region)}`)
  }
}

t.test('random worlds: the engine gives the answers of the slow evaluator', async (t) => {
  const total = { pairs: 0, updates: 0, decisions: 0, ambiguous: 0 }
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const random = new Random(seed)
      const place = randomPlace(random)
      const spread = random.magnitude(60, 20_000)
      const atlas = new RandomAtlas(random, place, spread)
      atlas.fetches = random.chance(0.5)
      let engine = new Engine({ atlas })
      const { world, clock } = engine
      const ids: string[] = []
      const settingsOf = () => randomFullSettings(random, ids)
      world.set(0, settingsOf())
      for (let id = 1; id <= GEOFENCES; id++)
        world.put(randomGeofence(random, id, place, spread, clock.now()))
      for (let id = 1; id <= BEACONS; id++) world.putBeacon(randomBeacon(random, id, place, spread))
      const oracle = new Oracle({
        geofences: world.geofences(0),
        beacons: world.beacons(0),
        settings: () => world.scope(0).settings,
        regions: atlas,
      })
      const style = { spread, jumps: random.pick([0.2, 0.6]), changes: 0.4 }
      const tracks = Array.from({ length: DEVICES }, (_, i) => new Track(random, `device-${i}`, place, style))

      const visitors = tracks.map(() => new Visitor(random, atlas.places.all))

      let events = 0
      for (let i = 0; i < UPDATES; i++) {
        clock.advance(Math.round(random.magnitude(1000, random.chance(0.1) ? 10 * 60 * MINUTE : 10 * MINUTE)))
        if (random.chance(0.4)) randomEdit(random, engine, place, spread, settingsOf)
        if (random.chance(0.2)) await engine.snapshot()
        if (random.chance(0.2)) engine = engine.restarted()
        if (random.chance(0.1)) atlas.revision++
        if (random.chance(0.2)) atlas.places.change(random, atlas)
        const geofences = [...world.geofences(0).values()]
        const updates = tracks.map((track, j) => visitors[j]!.next(track.next(engine, geofences)))
        const told = await Promise.all(updates.map((update) => engine.track(update)))
        for (const [j, update] of updates.entries()) {
          const reply = applied(told[j]!)
          events += reply.events.length
          const user = JSON.parse(reply.user)
          if (!ids.includes(user._id)) ids.push(user._id)
          const eventsOfReply = reply.events.map((json) => JSON.parse(json))
          const { partition, row } = findUser(engine.host, SALT, 0, user._id)!
          oracle.check(update, { user, events: eventsOfReply, profile: profileNow(partition, row) })
          await explains(engine, user._id, eventsOfReply)
        }
      }
      if (engine.events.all.length !== events)
        throw new Error('the event log holds other events than were told')
      total.pairs += GEOFENCES * DEVICES
      total.updates += DEVICES * UPDATES
      total.decisions += oracle.decisions
      total.ambiguous += oracle.ambiguous
      for (const [what, count] of Object.entries(oracle.counts)) counts[what] = (counts[what] ?? 0) + count
    }),
    { ...runs(16), endOnFailure: true },
  )
  t.comment(JSON.stringify({ ...total, ...counts }))
  t.ok(total.pairs >= 5000 * Math.min(1, runs(16).numRuns / 16), 'pairs of geofence and track')
  t.ok(total.ambiguous / total.decisions < 0.03, 'few decisions were too near to call')
  // Counts that only some of the worlds contribute to vary much.
  for (const [what, count] of Object.entries(counts)) t.ok(count > total.updates / 1000, `${count} ${what}`)
})
