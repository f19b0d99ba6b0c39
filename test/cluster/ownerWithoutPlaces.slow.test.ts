/**
 * An owner of devices that lacks the map region which it had, as a real process with a real NATS server: users keep their
 * places, nobody enters one, and /readyz of the owner says so.
 */
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Cluster } from '../../cluster/cluster.ts'
import { mapRegionsFolder } from '../../src/geo/extract/mapRegionFiles.ts'
import { destination } from '../../src/geometry/distance.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { addSample } from '../kit/sampleRegion.ts'
import { KEYS } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const skip = await skipWithout(NATS_SERVER)

t.test('an owner without the map region of its users', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-owner-'))
  let cluster: Cluster | undefined
  t.teardown(async () => {
    await cluster?.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  for (const name of ['gateway-1', 'actors-1']) await addSample(join(folder, name))
  cluster = await Cluster.start({
    folder,
    nats: 1,
    gateways: 1,
    actors: 1,
    deliveries: 0,
    env: { RINGFENCE_KEYS: Object.values(KEYS).join(','), RINGFENCE_PARTITIONS: '8' },
  })
  const [gateway] = cluster.gateways
  const [owner] = cluster.actors
  const call = async (method: string, path: string, body?: object): Promise<Json> => {
    const answer = await fetch(`${gateway!.options.url}/v1/${path}`, {
      method,
      headers: { authorization: KEYS.testSecret, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${text}`)
    return JSON.parse(text)
  }
  const placesOf = async ({ options: { url } }: { options: { url: string } }): Promise<string> => {
    const { checks }: Json = await (await fetch(`${url}/readyz`)).json()
    return checks.find(({ name }: Json) => name === 'places').detail
  }
  await call('PATCH', 'settings', { places: true })
  const [cafe] = (
    await call('GET', 'search/places?near=-34.9061,-56.1934&radius=10000&limit=1&categories=cafe')
  ).places
  const [longitude, latitude] = cafe.location.coordinates
  const track = async (deviceId: string, meters: number): Promise<Json> => {
    const at = destination(latitude, longitude, 90, meters)
    const { user, events } = await call('POST', 'track', { deviceId, ...at, accuracy: 5, stopped: true })
    return { place: user.place?._id, types: events.map(({ type }: Json) => type) }
  }
  // The owner may learn of the setting later than the gateway.
  await until(async () => (await placesOf(owner!)) !== 'visits to places are off in the settings')
  const { place } = await track('stays', 0)
  t.type(place, 'string')
  t.equal((await track('leaves', 0)).place, place)

  const regions = mapRegionsFolder(join(folder, 'actors-1'))
  await owner!.end('SIGTERM')
  renameSync(regions, `${regions}.away`)
  owner!.start()
  await owner!.ready()
  await until(async () => /no map region with places/.test(await placesOf(owner!)))
  t.equal(
    await placesOf(owner!),
    'no map region with places on this machine: users keep their places and enter none',
  )
  t.match(await placesOf(gateway!), /montevideo|sample/i, 'the gateway has it')
  t.strictSame(await track('stays', 10), { place, types: [] }, 'the user stays in the place')
  t.strictSame(await track('new', 0), { place: undefined, types: [] }, 'nobody enters')
  t.strictSame(
    await track('leaves', 3000),
    { place: undefined, types: ['user.exited_place'] },
    'who is far beyond all of its ground has left it',
  )

  await owner!.end('SIGTERM')
  renameSync(`${regions}.away`, regions)
  owner!.start()
  await owner!.ready()
  t.strictSame(await track('stays', 10), { place, types: [] }, 'back: still in it')
  t.strictSame(await track('new', 0), { place, types: ['user.entered_place'] })
  t.strictSame(await cluster.stop(), [])
})
