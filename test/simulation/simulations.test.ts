/** A simulated city over HTTP: it drives, it ends, and it leaves nothing behind that it made. */
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'

t.test('a simulated city', async (t) => {
  const server = await startServer(t)
  const count = async (path: string, name: string) => (await server.api('GET', path)).body[name].length

  await t.test('devices drive through geofences, with events', async (t) => {
    t.strictSame((await server.api('GET', '/v1/simulations')).body.simulation, undefined)
    const { body } = await server.api('POST', '/v1/simulations', { devices: 60 })
    t.equal(body.simulation.devices, 60)
    t.ok(Date.parse(body.simulation.endsAt) > Date.now() + 29 * 60_000)
    t.equal(await count('/v1/geofences?tag=city', 'geofences'), 24)
    await until(async () => (await count('/v1/users?limit=1000', 'users')) === 60)
    await until(async () => (await count('/v1/events', 'events')) > 0)
    const place = async () =>
      JSON.stringify(
        (await server.api('GET', '/v1/users?limit=5')).body.users.map((user: never) => user['location']),
      )
    const before = await place()
    await until(async () => (await place()) !== before)
    const now = (await server.api('GET', '/v1/simulations')).body.simulation
    t.ok(now.updates >= 60)
  })

  await t.test('beginning anew makes no second geofences', async (t) => {
    const before = (await server.api('GET', '/v1/geofences/city/1')).body.geofence
    await server.api('POST', '/v1/simulations', { devices: 5 })
    t.equal(await count('/v1/geofences?tag=city', 'geofences'), 24)
    t.equal((await server.api('GET', '/v1/geofences/city/1')).body.geofence._id, before._id)
    t.equal((await server.api('GET', '/v1/simulations')).body.simulation.devices, 5)
  })

  await t.test('ending it removes what it made, and nothing else', async (t) => {
    await server.api('POST', '/v1/track', {
      deviceId: 'own',
      latitude: -34.9,
      longitude: -56.17,
      accuracy: 5,
    })
    await server.api('PUT', '/v1/geofences/city/own', {
      description: 'Own',
      type: 'circle',
      coordinates: [0, 0],
      radius: 100,
    })
    t.equal((await server.api('DELETE', '/v1/simulations')).status, 200)
    t.strictSame(
      (await server.api('GET', '/v1/users?limit=1000')).body.users.map(
        ({ deviceId }: { deviceId: string }) => deviceId,
      ),
      ['own'],
    )
    t.strictSame(
      (await server.api('GET', '/v1/geofences?tag=city')).body.geofences.map(
        (one: { externalId: string }) => one.externalId,
      ),
      ['own'],
    )
    t.equal((await server.api('GET', '/v1/simulations')).body.simulation, undefined)
    t.equal((await server.api('DELETE', '/v1/simulations')).status, 200, 'a second time is no error')
  })

  await t.test('it ends by itself', async (t) => {
    await server.api('POST', '/v1/simulations', { devices: 2, minutes: 0.02 })
    await until(async () => (await server.api('GET', '/v1/simulations')).body.simulation === undefined)
    t.pass()
  })

  await t.test('not in live, and not with a publishable key', async (t) => {
    t.equal((await server.api('POST', '/v1/simulations', {}, KEYS.liveSecret)).status, 403)
    t.equal((await server.api('POST', '/v1/simulations', {}, KEYS.testPublishable)).status, 403)
  })

  await t.test('the server stops while it drives', async (t) => {
    await server.api('POST', '/v1/simulations', { devices: 50 })
    await server.stop()
    await server.restart()
    t.equal((await server.api('GET', '/v1/simulations')).body.simulation, undefined)
  })
})
