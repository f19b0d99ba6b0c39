import t from 'tap'
import { MAX_RECORDS } from '../../src/actor/refusal.ts'
import { userText } from '../../src/actor/updateResult.ts'
import type { Geofence } from '../../src/model/geofence.ts'
import type { Update } from '../../src/model/update.ts'
import { findUser } from '../../src/users/userQueries.ts'
import {
  aGeofence,
  applied,
  AWAY,
  Engine,
  engineWithGeofence,
  HERE,
  kinds,
  MINUTE,
  NOON,
  SALT,
  stateOf,
} from './kit.ts'

/** What is kept from one update to the next: identity, times, and visits while geofences are edited. */

t.test('identity: records of a device', async (t) => {
  const engine = engineWithGeofence()
  const send = async (who: Partial<Update>) => {
    engine.clock.advance(1000)
    const result = applied(await engine.track(engine.update({ deviceId: 'd', ...HERE, ...who })))
    return `${JSON.parse(result.user)._id} ${kinds(result).join()}`
  }
  const anonymous = await send({})
  const id = anonymous.split(' ')[0]!
  t.match(anonymous, / entered$/)
  t.equal(await send({ userId: 'ann' }), `${id} `, 'the first user attaches, with the state')
  const bob = await send({ userId: 'bob' })
  t.match(bob, / entered$/, 'another user is another record')
  t.equal(await send({ userId: 'ann' }), `${id} `)
  const out = await send({})
  t.match(out, / entered$/, 'logged out is a record of its own')
  const cy = await send({ userId: 'cy' })
  t.equal(cy.split(' ')[0], out.split(' ')[0], 'and the next user attaches to it')
  t.equal(new Set([anonymous, bob, out].map((text) => text.split(' ')[0])).size, 3)

  const one = await send({ userId: 'ann', installId: 'i1' })
  t.equal(one, `${id} `, 'an install does not separate from a record without one')
  const two = await send({ userId: 'ann', installId: 'i2' })
  t.match(two, / entered$/, 'two different installs do')
  t.equal((await send({ userId: 'ann' })).split(' ')[0], two.split(' ')[0], 'of several, the latest updated')
  t.equal(await send({ userId: 'ann', installId: 'i1' }), `${id} `)
  t.equal(await send({ userId: 'ann' }), `${id} `)
})

t.test('a device has a bounded number of users', async (t) => {
  const engine = engineWithGeofence()
  const send = (userId: string) => engine.track(engine.update({ deviceId: 'd', ...HERE, userId }), false)
  for (let i = 0; i < MAX_RECORDS; i++) applied(await send(`u${i}`))
  const state = stateOf(engine.partitions)
  t.match(await send('one more'), { code: 400, param: 'userId' })
  t.same(stateOf(engine.partitions), state)
  applied(await send('u7'))
  applied(await engine.track(engine.update({ deviceId: 'another', ...HERE, userId: 'one more' }), false))
})

t.test('edits: what the next update and reads before it see', async (t) => {
  const start = async (change: Partial<Geofence> = {}) => {
    const engine = new Engine()
    const fence = aGeofence(1, change)
    engine.world.put(fence)
    const send = async (who: Partial<Update> = {}) => {
      engine.clock.advance(MINUTE)
      return kinds(applied(await engine.track(engine.update({ deviceId: 'd', ...HERE, ...who })))).join()
    }
    const inside = () => {
      const { partition, row } = findUser(engine.host, SALT, 0, 'd')!
      const { geofences } = JSON.parse(
        userText(partition.table, row, engine.world.scope(0), engine.clock.now()),
      ) as {
        geofences: { _id: string }[]
      }
      return geofences.map(({ _id }) => _id)
    }
    t.equal(await send(), 'entered')
    t.same(inside(), [fence.id])
    // The second update has a safe zone, if any update has.
    t.equal(await send(), '')
    return { engine, fence, send, inside }
  }

  t.test('disabled: hidden at once, removed with the next update, entered again', async (t) => {
    const { engine, fence, send, inside } = await start()
    engine.world.put({ ...fence, enabled: false })
    t.same(inside(), [])
    t.equal(await send(), '')
    engine.world.put(fence)
    t.same(inside(), [])
    t.equal(await send(), 'entered')
    t.same(inside(), [fence.id])
  })

  t.test('disabling and enabling between two updates has no effect', async (t) => {
    const { engine, fence, send, inside } = await start()
    engine.world.put({ ...fence, enabled: false })
    engine.world.put(fence)
    t.same(inside(), [fence.id])
    t.equal(await send(), '')
    const [exited] = applied(await engine.track(engine.update({ deviceId: 'd', ...AWAY }))).events
    t.equal(JSON.parse(exited!).duration, 2, 'the same visit')
  })

  t.test('deleted: hidden at once, removed without an event; created again, it is entered', async (t) => {
    const { engine, fence, send, inside } = await start()
    engine.world.remove(fence)
    t.same(inside(), [])
    engine.world.put(aGeofence(2))
    t.equal(await send(), 'entered')
    t.same(inside(), [aGeofence(2).id])
  })

  t.test('another shape and type: the visit stays until the next update decides', async (t) => {
    const { engine, fence, send, inside } = await start()
    const square = (east: number): Geofence => ({
      ...fence,
      type: 'polygon',
      shape: {
        kind: 'polygon',
        ring: [
          [east - 0.001, -0.001],
          [east + 0.001, -0.001],
          [east + 0.001, 0.001],
          [east - 0.001, 0.001],
          [east - 0.001, -0.001],
        ],
      },
    })
    engine.world.put(square(0))
    t.same(inside(), [fence.id])
    t.equal(await send(), '')
    engine.world.put(square(0.5))
    t.same(inside(), [fence.id])
    t.equal(await send(), 'exited')
    engine.world.put(square(0))
    t.equal(await send(), 'entered')
  })

  t.test('disableAfter and deleteAfter: hidden from their millisecond, and dropped silently', async (t) => {
    for (const date of ['disableAfter', 'deleteAfter']) {
      const { engine, fence, send, inside } = await start({ [date]: NOON + 10 * MINUTE })
      engine.clock.time = NOON + 10 * MINUTE - 1
      t.same(inside(), [fence.id], date)
      engine.clock.time++
      t.same(inside(), [], date)
      t.equal(await send(AWAY), '', date)
      t.equal(await send(), '', date)
    }
  })

  t.test('for other users now: hidden at once, removed without an event', async (t) => {
    const { engine, fence, send, inside } = await start()
    engine.world.put({ ...fence, userIds: ['ann'] })
    t.same(inside(), [])
    t.equal(await send(AWAY), '')
    t.equal(await send({ userId: 'ann' }), 'entered')
    t.same(inside(), [fence.id])
  })

  t.test('settings reach the next update', async (t) => {
    const { engine, send } = await start()
    engine.world.set(0, { dwellEvents: true, dwellThreshold: 1 })
    t.equal(await send(), 'dwelled')
    t.equal(await send(), '')
    engine.world.set(0, { maxAccuracyMeters: 50 })
    t.equal(await send({ ...AWAY, accuracy: 51 }), '')
    t.equal(await send({ ...AWAY, accuracy: 50 }), 'exited')
  })
})

t.test('time: the one from the device, unless it is missing or runs backwards', async (t) => {
  const engine = engineWithGeofence()
  const { clock } = engine
  const noon = clock.now()
  const at = async (updatedAt?: number, who: Partial<Update> = {}) => {
    const result = applied(await engine.track(engine.update({ deviceId: 'd', ...AWAY, updatedAt, ...who })))
    return Date.parse(JSON.parse(result.user).updatedAt) - noon
  }
  t.equal(await at(noon - 5000), -5000)
  t.equal(await at(noon - 5000), -5000, 'equal is in order')
  t.equal(await at(noon - 5001), 0, 'earlier: the server’s')
  t.equal(await at(), 0, 'missing: the server’s')
  t.equal(await at(noon + 60_000), 60_000)
  clock.advance(1000)
  t.equal(await at(), 60_000, 'never below the last')
  t.equal(await at(noon + 30_000), 60_000)
  t.equal(await at(undefined, { userId: 'ann' }), 60_000)
  t.equal(await at(undefined, { userId: 'bob' }), 60_000, 'the last of the device, whoever is logged in')
  t.equal(await at(undefined, { deviceId: 'e' }), 1000)
})
