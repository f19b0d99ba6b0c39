import fc from 'fast-check'
import t from 'tap'
import { explainUser } from '../../src/users/explain.ts'
import { findUser } from '../../src/users/userQueries.ts'
import { applied, Engine, MINUTE, runs, SALT, TIMEOUT } from './kit.ts'
import { Oracle } from './oracle.ts'
import { Random, randomEdit, randomGeofence, randomPlace, randomSettings, Track } from './world.ts'

t.setTimeout(TIMEOUT)

const GEOFENCES = 24
const DEVICES = 14
const UPDATES = 10

/** The explanation of the last update names the very events that it made. */
function explains(engine: Engine, id: string, events: readonly any[]): void {
  const { partition, row } = findUser(engine.host, SALT, 0, id)!
  const { candidates } = explainUser(partition, row, engine.world.scope(0))
  const explained = candidates.flatMap((one: any) =>
    one.event === undefined ? [] : [`${one.event} ${one.geofence._id} ${one.confidence}`],
  )
  const made = events.map((event) => `${event.type} ${event.geofence._id} ${event.confidence}`)
  if (explained.sort().join() !== made.sort().join())
    throw new Error(`explained ${explained.join()}, made ${made.join()}: ${JSON.stringify(candidates)}`)
}

t.test('random worlds: the engine answers as the slow evaluator does', async (t) => {
  const total = { pairs: 0, updates: 0, decisions: 0, ambiguous: 0, entered: 0, exited: 0, dwelled: 0 }
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const random = new Random(seed)
      let engine = new Engine()
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
        if (random.chance(0.2)) await engine.snapshot()
        if (random.chance(0.2)) engine = engine.restarted()
        const geofences = [...world.geofences(0).values()]
        const updates = tracks.map((track) => track.next(engine, geofences))
        const told = await Promise.all(updates.map((update) => engine.track(update)))
        updates.forEach((update, j) => {
          const reply = applied(told[j]!)
          events += reply.events.length
          const user = JSON.parse(reply.user)
          const eventsOfReply = reply.events.map((json) => JSON.parse(json))
          oracle.check(update, { user, events: eventsOfReply })
          explains(engine, user._id, eventsOfReply)
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
    t.ok(total[kind] > total.updates / 100, `${total[kind]} ${kind}`)
})
