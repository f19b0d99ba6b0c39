/** An anonymous update amid very many geofences waits before it is evaluated, and others do not. */
import t from 'tap'
import { trackAnonymously } from '../../src/ingest/anonymous.ts'
import { anonymousStays } from '../../src/ingest/anonymousStays.ts'
import { CROWD } from '../../src/rules/crowded.ts'
import { AWAY, aGeofence, Engine, HERE } from '../actor/kit.ts'

/** The result of an update, and a wait that begins if there is one. */
async function tracked(engine: Engine, place: typeof HERE, geofenceIds: string[] = []) {
  const view = engine.world.scope(0)
  const update = engine.update({ deviceId: 'anonymous', ...place })
  let waits = 0
  let isDone = false
  const { promise: turn, resolve: comes } = Promise.withResolvers<void>()
  const crowded = (): Promise<void> => {
    waits++
    return turn
  }
  const stays = await anonymousStays({ geofenceIds }, view)
  const result = trackAnonymously(stays, update, view, undefined, crowded)
  void result.then(() => (isDone = true))
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
  return { waits, isDone, comes, result }
}

t.test('amid a crowd of geofences', async (t) => {
  const engine = new Engine()
  for (let i = 0; i < CROWD - 1; i++) engine.world.put(aGeofence(i))
  const before = await tracked(engine, HERE)
  t.match(before, { waits: 0, isDone: true })
  t.equal((await before.result).transitions.length, CROWD - 1)
  engine.world.put(aGeofence(CROWD))
  const amid = await tracked(engine, HERE)
  t.match(amid, { waits: 1, isDone: false }, 'nothing is evaluated meanwhile')
  amid.comes()
  t.equal((await amid.result).transitions.length, CROWD, 'then everything is')
  t.match(await tracked(engine, AWAY), { waits: 0, isDone: true })
})

t.test('with as many stays', async (t) => {
  const engine = new Engine()
  const ids = Array.from({ length: CROWD }, (_, i) => i.toString(16).padStart(24, '0'))
  for (const id of ids) engine.world.put(aGeofence(id))
  const leaving = await tracked(engine, AWAY, ids)
  t.match(leaving, { waits: 1, isDone: false })
  leaving.comes()
  t.equal((await leaving.result).transitions.length, CROWD)
})
