/** Hooks of areas and roaming in the distributed engine: real processes, NATS and Tile38, each of which is killed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { Cluster } from '../../cluster/cluster.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { KEYS } from '../kit/server.ts'
import { tile38Command, WITHOUT_FOLLOWERS } from '../kit/tile38.ts'
import { until } from '../kit/waiting.ts'
import { HookReader, placeOf, type Json, type Position } from './hookKit.ts'

const skip = (await skipWithout(NATS_SERVER)) || (WITHOUT_FOLLOWERS && 'the stand-in has no roaming fences')
/** A corner of the walks at the antimeridian. */
const CORNER = 1
const HERE = placeOf(CORNER, 0, 0)
const FAR = placeOf(CORNER, 20_000, 20_000)
const DEVICES = Array.from({ length: 12 }, (_, i) => `d${i}`)

t.test('what changes while a part of the cluster is gone is told, once', { skip }, async (t) => {
  const { cluster, api, reader } = await startCluster(t)
  const [delivery] = cluster.deliveries
  const [first] = cluster.actors
  const [tile38] = cluster.tile38
  const endpoint = { url: cluster.nats[0]!.options.url, subject: 'hooks.places' }
  const put = async (name: string, body: object) => {
    const answer = await api('PUT', `hooks/place/${name}`, { ...body, endpoint })
    t.equal(answer.status, 200, `${name} is put`)
  }
  const standing = async (name: string) => (await api('GET', `hooks/place/${name}`)).body.hook
  /** Acknowledged, but perhaps not in Tile38 yet. Apart from each other, except for the last two. */
  const move = async (names: readonly string[], [longitude, latitude]: Position) => {
    for (const deviceId of names) {
      const apart = Math.min(DEVICES.indexOf(deviceId), 10) * 0.0005
      const update = { deviceId, longitude, latitude: latitude - apart, accuracy: 5 }
      t.match(await api('POST', 'track', update), { status: 200 }, `${deviceId} is moved`)
    }
  }
  const copied = () =>
    until(async () => {
      const running = cluster.actors.filter(({ isRunning }) => isRunning)
      const texts = running.map(async ({ options }) => (await fetch(`${options.url}/metrics`)).text())
      return (await Promise.all(texts)).every((text) => /^ringfence_tile38_waiting 0$/m.test(text))
    })
  /** What both areas are to tell so far. */
  const told: string[] = []
  const agrees = async (when: string, ...more: readonly string[]) => {
    told.push(...more)
    for (const name of ['circle', 'ring']) {
      const messages = await reader.messages(name, told.length)
      t.strictSame(messages.map(textOf).toSorted(), told.toSorted(), `${name}: ${when}`)
    }
  }
  const all = (word: string) => DEVICES.map((deviceId) => `${word}_area ${deviceId}`)
  const encounters = async () => (await reader.messages('roam', 0)).map(textOf)

  await move(DEVICES, FAR)
  await copied()
  await put('circle', { area: { type: 'circle', center: HERE, radius: 2000 } })
  const ring = [
    [-2000, -2000],
    [2000, -2000],
    [2000, 2000],
    [-2000, 2000],
    [-2000, -2000],
  ].map(([east, north]) => placeOf(CORNER, east!, north!))
  await put('ring', { area: { type: 'polygon', coordinates: [ring] } })
  // The last two devices are near each other already, which is told once one of them moves.
  await put('roam', { roam: { meters: 15 } })
  await move(DEVICES, HERE)
  await agrees('nothing is killed', ...all('entered'))
  await reader.messages('roam', 1)

  // Everything is acknowledged, and the process that tells it is gone.
  await delivery!.end('SIGKILL')
  await move(DEVICES.slice(0, -1), FAR)
  await copied()
  delivery!.start()
  await move(DEVICES.slice(-1), FAR)
  await agrees('the process that delivers is killed', ...all('exited'))

  // Everything is acknowledged, and an owner dies before Tile38 has it.
  await move(DEVICES, HERE)
  await first!.end('SIGKILL')
  await agrees('an owner is killed', ...all('entered'))
  first!.start()
  await first!.ready()

  // Tile38 is killed and comes back with nothing.
  await tile38!.end('SIGKILL')
  await until(async () => (await standing('ring')).status === 'failing')
  t.match(await standing('ring'), { reason: 'Tile38 is not connected.' })
  await move(DEVICES, FAR)
  rmSync(join(tile38!.options.logFile, '..', 'tile38'), { recursive: true, force: true })
  tile38!.start()
  await tile38!.ready()
  await agrees('Tile38 is killed and has lost everything', ...all('exited'))
  await until(async () => (await standing('ring')).status === 'active')

  // A pair that parts and meets again, after all of that.
  const [one, other] = DEVICES.slice(-2) as [string, string]
  const pair = `${one} ${other}`
  await move([one], HERE)
  await until(async () => (await encounters()).at(-1) === `faraway ${pair}`)
  await move([other], HERE)
  await until(async () => (await encounters()).at(-1) === `nearby ${pair}`)
  await agrees('in the end', `entered_area ${one}`, `entered_area ${other}`)
  const met = await encounters()
  const expected = met.map((_, i) => `${i % 2 === 0 ? 'nearby' : 'faraway'} ${pair}`)
  t.strictSame(met, expected, 'no other pair met, and this one was near and far in turn')
  for (const name of ['circle', 'ring', 'roam'])
    await until(async () => {
      const { status, pending } = await standing(name)
      return status === 'active' && pending === 0
    })
  t.strictSame(await cluster.stop(), [])
})

/** A word, and the devices in order. */
function textOf({ type, user, other }: Json): string {
  const devices = [user.deviceId, other?.user.deviceId].filter((deviceId) => deviceId !== undefined)
  return `${type.replace('user.', '')} ${devices.toSorted().join(' ')}`
}

async function startCluster(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-cluster-'))
  let cluster: Cluster | undefined
  t.teardown(async () => {
    if (!t.passing())
      for (const member of cluster?.members ?? []) console.error(`${member.options.name}:\n${member.output}`)
    await cluster?.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  const env = {
    RINGFENCE_KEYS: Object.values(KEYS).join(','),
    RINGFENCE_RATE_LIMITS: 'off',
    RINGFENCE_PARTITIONS: '8',
    RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8,::1',
  }
  const counts = { nats: 1, gateways: 1, actors: 2, deliveries: 1 }
  const started = await Cluster.start({ folder, ...counts, tile38: tile38Command, env })
  cluster = started
  const connection = await connect({ servers: started.nats[0]!.options.url })
  t.teardown(() => connection.close())
  const api = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${started.gateways[0]!.options.url}/v1/${path}`, {
      method,
      headers: { Authorization: KEYS.testSecret, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Json }
  }
  return { cluster: started, api, reader: await HookReader.open(connection) }
}
