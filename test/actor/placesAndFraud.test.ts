/**
 * Places and fraud alone against the slow evaluator, in worlds without geofences: many more visits, with pauses of
 * seconds, than in engine.test.ts.
 */
import t from 'tap'
import { findUser } from '../../src/users/userQueries.ts'
import fc from '../kit/fastCheck.ts'
import { applied, Engine, MINUTE, runs, SALT } from './kit.ts'
import { Oracle } from './oracle.ts'
import { RandomAtlas } from './randomAtlas.ts'
import { randomFullSettings, Visitor } from './randomContext.ts'
import { Random, randomPlace } from './world.ts'
import { Track } from './track.ts'

const DEVICES = 6
const ROUNDS = 60

t.test('property: places and fraud are those of the slow evaluator', async (t) => {
  const counts = { updates: 0, enteredPlace: 0, exitedPlace: 0, nearbyChain: 0, failedFraud: 0, zones: 0 }
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const random = new Random(seed)
      const place = randomPlace(random)
      const spread = random.magnitude(60, 2000)
      const atlas = new RandomAtlas(random, place, spread)
      let engine = new Engine({ atlas })
      const { world, clock } = engine
      const ids: string[] = []
      const change = () => world.set(0, { ...randomFullSettings(random, ids), regions: false })
      change()
      const oracle = new Oracle({
        geofences: world.geofences(0),
        beacons: world.beacons(0),
        settings: () => world.scope(0).settings,
        regions: atlas,
      })
      const style = { spread, jumps: 0.1, changes: 0.2 }
      const devices = Array.from({ length: DEVICES }, (_, i) => ({
        track: new Track(random, `device-${i}`, place, style),
        visitor: new Visitor(random, atlas.places.all),
      }))
      for (let round = 0; round < ROUNDS; round++) {
        clock.advance(Math.round(random.magnitude(1000, random.chance(0.1) ? 600 * MINUTE : 2 * MINUTE)))
        if (random.chance(0.08)) change()
        if (random.chance(0.15)) atlas.places.change(random, atlas)
        if (random.chance(0.05)) await engine.snapshot()
        if (random.chance(0.05)) engine = engine.restarted()
        const updates = devices.map(({ track, visitor }) => visitor.next(track.next(engine, [])))
        const told = await Promise.all(updates.map((update) => engine.track(update)))
        for (const [i, update] of updates.entries()) {
          const reply = applied(told[i]!)
          const user = JSON.parse(reply.user)
          if (!ids.includes(user._id)) ids.push(user._id)
          const events = reply.events.map((json) => JSON.parse(json))
          const { partition, row } = findUser(engine.host, SALT, 0, user._id)!
          oracle.check(update, { user, events, profile: { ...partition.table.peek(row), crossed: [] } })
        }
      }
      counts.updates += DEVICES * ROUNDS
      counts.zones += engine.partitions.reduce((sum, { zoneHits }) => sum + zoneHits, 0)
      for (const what of ['enteredPlace', 'exitedPlace', 'nearbyChain', 'failedFraud'] as const)
        counts[what] += oracle.counts[what]
    }),
    { ...runs(24), endOnFailure: true },
  )
  t.comment(JSON.stringify(counts))
  for (const [what, count] of Object.entries(counts)) t.ok(count > counts.updates / 200, `${count} ${what}`)
})
