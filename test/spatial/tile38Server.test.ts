import t from 'tap'
import { startServer } from '../kit/server.ts'
import { TILE38_NAME, tile38Server, until } from '../kit/tile38.ts'

t.setTimeout(60_000)

t.test(`${TILE38_NAME}: a server copies its geofences and positions, and goes on without`, async (t) => {
  const tile38 = await tile38Server(t, 'open sesame')
  const server = await startServer(t, {
    env: { RINGFENCE_TILE38_URL: tile38.url, RINGFENCE_TILE38_PASSWORD: 'open sesame' },
  })
  const connection = tile38.connect(t)
  await until(() => connection.isConnected)
  const { storeId } = await import(`${server.data}/store.json`, { with: { type: 'json' } }).then(
    (module) => module.default,
  )
  const inCollection = async (name: string) => {
    const key = `ringfence:${storeId}:2:${name}`
    const [reply] = await connection.send([['SCAN', key, 'LIMIT', '1000', 'IDS']])
    return (reply as readonly [unknown, readonly string[]])[1].toSorted()
  }
  const put = async (externalId: string) => {
    const answer = await server.api('PUT', `/v1/geofences/shops/${externalId}`, {
      description: externalId,
      type: 'circle',
      coordinates: [13.4, 52.5],
      radius: 100,
    })
    t.equal(answer.status, 200)
    return answer.body.geofence._id as string
  }
  const track = async (deviceId: string) => {
    const update = { deviceId, latitude: 52.5, longitude: 13.4, accuracy: 5 }
    const { status, body } = await server.api('POST', '/v1/track', update)
    t.equal(status, 200)
    return body
  }
  const detail = async () => {
    const { body } = await server.api('GET', '/readyz', undefined, null)
    return body.checks.find((check: { name: string }) => check.name === 'Tile38')
  }
  const metric = async (name: string) => {
    const { body } = await server.api('GET', '/metrics', undefined, null)
    return new RegExp(`^ringfence_${name} (\\S+)$`, 'm').exec(body)?.[1]
  }

  const ids = [await put('1'), await put('2'), await put('3')]
  await track('anna')
  await track('bert')
  await until(async () => (await inCollection('geofences')).join() === ids.toSorted().join())
  await until(async () => (await inCollection('devices')).join() === 'anna,bert')
  t.equal((await server.api('DELETE', '/v1/geofences/shops/2')).status, 200)
  t.equal((await server.api('DELETE', '/v1/users/anna')).status, 200)
  await until(async () => (await inCollection('geofences')).length === 2)
  await until(async () => (await inCollection('devices')).join() === 'bert')
  await until(async () => (await metric('tile38_waiting')) === '0')
  t.match(await detail(), { ok: true, detail: /^connected to .*; 0 changes behind$/ })

  await tile38.kill9()
  tile38.wipe()
  await until(async () => (await metric('tile38_connected')) === '0')
  const { events } = await track('cleo')
  t.equal(events.length, 2, 'it evaluates as before')
  t.match(await detail(), { ok: true, detail: /^not connected: / })
  await server.kill9()
  await server.restart()
  await tile38.start()
  await until(() => connection.isConnected)
  await until(async () => (await inCollection('geofences')).length === 2)
  await until(async () => (await inCollection('devices')).join() === 'bert,cleo')
  t.notMatch(server.output, /sesame/, 'the password is not logged')
  await server.stop()
})
