import fc from 'fast-check'
import t from 'tap'
import { applied, Engine, MINUTE, runs } from './kit.ts'
import { Oracle } from './oracle.ts'
import { Random, randomEdit, randomGeofence, randomPlace, randomSettings, Track } from './world.ts'

const GEOFENCES = 24
const DEVICES = 14
const UPDATES = 10

t.test('random worlds: the engine answers as the slow evaluator does', async (t) => {
  const total = { pairs: 0, updates: 0, decisions: 0, ambiguous: 0, entered: 0, exited: 0, dwelled: 0 }
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const random = new Random(seed)
      const engine = new Engine()
      const { world, clock } = engine
      const place = randomPlace(random)
      const spread = random.magnitude(60, 20_000)
      world.set(0, randomSettings(random))
      for (let id = 1; id <= GEOFENCES; id++)
        world.put(randomGeofence(random, id, place, spread, clock.now()))
      const oracle = new Oracle(world.geofences(0), () => world.scope(0).settings)
      const style = { spread, jumps: random.pick([0.2, 0.6]), changes: 0.4 }
      const tracks = Array.from({ length: DEVICES }, (_, i) => new Track(random, `device-${i}`, place, style))

      let events = 0
      for (let i = 0; i < UPDATES; i++) {
        clock.advance(Math.round(random.magnitude(1000, random.chance(0.1) ? 10 * 60 * MINUTE : 10 * MINUTE)))
        if (random.chance(0.4)) randomEdit(random, engine, place, spread)
        const geofences = [...world.geofences(0).values()]
        const updates = tracks.map((track) => track.next(engine, geofences))
        const told = await Promise.all(updates.map((update) => engine.track(update)))
        updates.forEach((update, j) => {
          const reply = applied(told[j]!)
          events += reply.events.length
          oracle.check(update, {
            user: JSON.parse(reply.user),
            events: reply.events.map((json) => JSON.parse(json)),
          })
        })
      }
      if (engine.events.all.length !== events)
        throw new Error('the event log holds other events than were told')
      total.pairs += GEOFENCES * DEVICES
      total.updates += DEVICES * UPDATES
      total.decisions += oracle.decisions
      total.ambiguous += oracle.ambiguous
      total.entered += oracle.events.entered
      total.exited += oracle.events.exited
      total.dwelled += oracle.events.dwelled
    }),
    { ...runs(32), endOnFailure: true },
  )
  t.comment(JSON.stringify(total))
  t.ok(total.pairs >= 10_000 * Math.min(1, runs(32).numRuns / 32), 'pairs of geofence and track')
  t.ok(total.ambiguous / total.decisions < 0.03, 'few decisions were too near to call')
  for (const kind of ['entered', 'exited', 'dwelled'] as const)
    t.ok(total[kind] > total.updates / 50, `${total[kind]} ${kind}`)
})
