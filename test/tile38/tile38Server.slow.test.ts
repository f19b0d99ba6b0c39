import t from 'tap'
import { deviceOf } from '../../src/tile38/tile38Texts.ts'
import { startServer } from '../kit/server.ts'
import { TILE38_NAME, tile38Server } from '../kit/tile38.ts'
import { until } from '../kit/waiting.ts'

t.test(`${TILE38_NAME}: a server copies its positions, and continues without it`, async (t) => {
  const tile38 = await tile38Server(t, 'open sesame')
  const server = await startServer(t, {
    env: { RINGFENCE_TILE38_URL: tile38.url, RINGFENCE_TILE38_PASSWORD: 'open sesame' },
  })
  const connection = tile38.connect(t)
  await until(() => connection.isConnected)
  const { storeId } = await import(`${server.data}/store.json`, { with: { type: 'json' } }).then(
    (module) => module.default,
  )
  const idsIn = async (key: string) => {
    const [reply] = await connection.send([['SCAN', key, 'LIMIT', '1000', 'IDS']])
    return (reply as readonly [unknown, readonly string[]])[1].toSorted()
  }
  const devices = async () => (await idsIn(`ringfence:${storeId}:2:devices`)).map(deviceOf).toSorted()
  const put = async (externalId: string) => {
    const answer = await server.api('PUT', `/v1/geofences/shops/${externalId}`, {
      description: externalId,
      type: 'circle',
      coordinates: [13.4, 52.5],
      radius: 100,
    })
    t.equal(answer.status, 200)
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

  for (const name of ['1', '2', '3']) await put(name)
  await track('anna')
  await track('bert')
  await until(async () => (await devices()).join() === 'anna,bert')
  t.equal((await server.api('DELETE', '/v1/geofences/shops/2')).status, 200)
  t.equal((await server.api('DELETE', '/v1/users/anna')).status, 200)
  await until(async () => (await devices()).join() === 'bert')
  await until(async () => (await metric('tile38_waiting')) === '0')
  t.match(await detail(), { ok: true, detail: /^connected; 0 changes pending$/ })

  await tile38.kill9()
  tile38.wipe()
  await until(async () => (await metric('tile38_connected')) === '0')
  const { events } = await track('cleo')
  t.equal(events.length, 2, 'it evaluates as before')
  t.match(await detail(), { ok: true, detail: /^not connected; / })
  await server.kill9()
  await server.restart()
  await tile38.start()
  await until(() => connection.isConnected)
  await until(async () => (await devices()).join() === 'bert,cleo')
  t.notMatch(server.output, /sesame/, 'the password is not logged')
  await server.stop()
})

t.test(
  `${TILE38_NAME}: a server that takes no writes is told of in few lines, and written when it does`,
  async (t) => {
    const tile38 = await tile38Server(t)
    const server = await startServer(t, { env: { RINGFENCE_TILE38_URL: tile38.url } })
    const connection = tile38.connect(t)
    await until(() => connection.isConnected)
    await connection.send([['READONLY', 'yes']])
    const track = (deviceId: string) =>
      server.api('POST', '/v1/track', { deviceId, latitude: 52.5, longitude: 13.4, accuracy: 5 })
    const refusals = () => server.output.split('\n').filter((line) => line.includes('Tile38 refuses'))
    for (let i = 0; i < 100; i++) t.equal((await track(`device${i}`)).status, 200)
    const times = () => refusals().map((line) => Number(JSON.parse(line).times))
    await until(() => times().some((count) => count > 3))
    t.ok(refusals().length <= 6, refusals().join('\n'))
    t.match(JSON.parse(refusals()[0]!), { level: 'error', reason: /Tile38 refused \w+: .*read only/i })
    await connection.send([['READONLY', 'no']])
    const waiting = async () => {
      const { body } = await server.api('GET', '/metrics', undefined, null)
      return /^ringfence_tile38_waiting (\S+)$/m.exec(body)?.[1]
    }
    await until(async () => (await waiting()) === '0')
  },
)
