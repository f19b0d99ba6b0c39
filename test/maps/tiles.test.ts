/** Tiles over HTTP: what they show, who gets them, wrong addresses, and regions that are replaced meanwhile. */
import { cpSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { mapRegionsFolder, readManifest, writeManifest } from '../../src/geo/extract/mapRegionFiles.ts'
import { buildWorld } from '../../src/geo/world/worldBuilder.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { cpuTicks, until } from '../kit/waiting.ts'
import { WORLD } from '../kit/world.ts'
import { featuresOf, isInRings, tileAt, type TileFeature } from './kit.ts'

// Servers of tests share it, because making it takes some seconds.
buildWorld(WORLD)
const CITY = [-56.19, -34.905] as const
const server = await startServer(t, { sample: true })
const limited = await startServer(t, { env: { RINGFENCE_RATE_LIMITS: 'on' } })

/** @param path from `/maps/tiles` on */
async function tile(path: string, headers: Record<string, string> = {}, prefix = '/v1') {
  const url = `${server.url}${prefix}/maps/tiles/${path}`
  const answer = await fetch(url, { headers: { authorization: KEYS.testPublishable, ...headers } })
  return { status: answer.status, headers: answer.headers, bytes: new Uint8Array(await answer.arrayBuffer()) }
}

async function featuresAt(
  z: number,
  [longitude, latitude]: readonly [number, number] = CITY,
): Promise<TileFeature[]> {
  const { x, y } = tileAt([longitude, latitude], z)
  const { bytes } = await tile(`${z}/${x}/${y}.mvt`)
  return featuresOf(bytes)
}

/** The address of tiles in styles, which changes with every build of a map region. */
async function tileUrl(): Promise<string> {
  const url = `${server.url}/v1/maps/styles/light?publishableKey=${KEYS.testPublishable}`
  return JSON.stringify(((await (await fetch(url)).json()) as { sources: object }).sources)
}

t.test('a city by zoom: roads by class, buildings, water, land use, places, house numbers', async (t) => {
  const kindsOf = (features: readonly TileFeature[], layer: string, name = 'kind') =>
    new Set(features.filter((one) => one.layer === layer).map(({ properties }) => properties[name]))

  const street = await featuresAt(16)
  t.ok(kindsOf(street, 'roads').has('minor_road'))
  t.ok(kindsOf(street, 'buildings').has('building'))
  t.ok(kindsOf(street, 'buildings').has('address'))
  const houses = street.filter(({ properties }) => properties['kind'] === 'address')
  t.ok(houses.length > 100, `${houses.length} house numbers`)
  t.ok(houses.every(({ properties }) => /^\d/.test(String(properties['addr_housenumber']))))
  const places = street.filter(({ layer }) => layer === 'pois')
  t.ok(places.length > 20, `${places.length} places`)
  t.ok(places.every(({ properties }) => properties['icon'] !== undefined && properties['name'] !== undefined))
  const named = street.find(({ properties }) => properties['name'] === 'Avenida 18 de Julio')
  t.match(named?.properties, { kind: 'major_road' })

  const town = await featuresAt(13)
  t.ok(kindsOf(town, 'roads', 'kind_detail').has('residential'))
  t.ok(kindsOf(town, 'landuse').size > 2)
  t.notOk(kindsOf(town, 'buildings').has('address'))
  const far = await featuresAt(7)
  t.ok(kindsOf(far, 'roads').has('major_road'))
  t.notOk(kindsOf(far, 'roads').has('minor_road'))
  t.ok(kindsOf(await featuresAt(9), 'places').has('locality'))
  t.ok(kindsOf(await featuresAt(12), 'water').size > 0)
})

t.test('the world: land, borders, names of countries in the languages of answers', async (t) => {
  const world = featuresOf((await tile('0/0/0.mvt')).bytes)
  const land = world.filter(({ layer }) => layer === 'earth').flatMap(({ parts }) => parts)
  const isLand = (longitude: number, latitude: number): boolean => {
    const y = (0.5 - Math.asinh(Math.tan((latitude * Math.PI) / 180)) / (2 * Math.PI)) * 4096
    return isInRings(land, (longitude / 360 + 0.5) * 4096, y)
  }
  for (const [name, longitude, latitude] of [
    ['Sahara', 10, 23],
    ['Siberia', 100, 60],
    ['Amazonas', -60, -5],
    ['Antarctica', 20, -80],
  ] as const)
    t.ok(isLand(longitude, latitude), name)
  for (const [name, longitude, latitude] of [
    ['Atlantic', -30, 0],
    ['Pacific', -150, 20],
  ] as const)
    t.notOk(isLand(longitude, latitude), name)
  t.ok(world.some(({ layer }) => layer === 'boundaries'))

  const { x, y } = tileAt([-56, -33], 4)
  const countries = featuresOf((await tile(`4/${x}/${y}.mvt`)).bytes)
  t.match(countries.find(({ properties }) => properties['name'] === 'Uruguay')?.properties, {
    kind: 'country',
    'name:ru': 'Уругвай',
  })
  const lagos = await featuresAt(12, [3.39, 6.45])
  t.ok(
    lagos.some(({ properties }) => properties['name'] === 'Lagos'),
    'cities without a region',
  )
})

t.test('who gets it: any key, in the header or in the URL; secret keys not in the URL', async (t) => {
  const path = '3/2/4.mvt'
  for (const prefix of ['/v1', '', '/api/v1']) t.equal((await tile(path, {}, prefix)).status, 200, prefix)
  t.equal((await tile(path, { authorization: `Bearer ${KEYS.liveSecret}` })).status, 200)
  const bare = (query: string) => fetch(`${server.url}/maps/tiles/${path}${query}`)
  t.equal((await bare('')).status, 401)
  t.equal((await bare('?publishableKey=nonsense')).status, 401)
  t.equal((await bare(`?publishableKey=${KEYS.testPublishable}`)).status, 200)
  const secret = await bare(`?publishableKey=${KEYS.testSecret}`)
  t.equal(secret.status, 403)
  t.match(await secret.json(), { meta: { code: 403, message: /Authorization header only/ } })
  const other = await fetch(`${server.url}/v1/context?coordinates=1,2&publishableKey=${KEYS.testPublishable}`)
  t.equal(other.status, 401, 'other endpoints do not read it')
})

t.test('wrong addresses are named', async (t) => {
  for (const [path, param] of [
    ['40/0/0.mvt', 'z'],
    ['17/0/0.mvt', 'z'],
    ['-1/0/0.mvt', 'z'],
    ['1e1/0/0.mvt', 'z'],
    ['0/1/0.mvt', 'x'],
    ['3/8/0.mvt', 'x'],
    ['3/0/8.mvt', 'y'],
    ['3/0/99999999999999999999.mvt', 'y'],
    ['3/0x1/0.mvt', 'x'],
    ['3/0/%00.mvt', 'y'],
    ['3/0/.mvt', 'y'],
  ] as const) {
    const { status, bytes } = await tile(path)
    t.equal(status, 400, path)
    t.match(JSON.parse(new TextDecoder().decode(bytes)), { meta: { code: 400, param } }, path)
  }
  for (const path of ['3/0/1.png', '3/0/1', '3/0', '3/0/1.mvt/2'])
    t.equal((await tile(path)).status, 404, path)
})

t.test('compressed if the client wants it; answered 304 if it has it', async (t) => {
  const { x, y } = tileAt(CITY, 14)
  const path = `14/${x}/${y}.mvt`
  const packed = await tile(path)
  t.equal(packed.headers.get('content-encoding'), 'gzip')
  t.equal(packed.headers.get('content-type'), 'application/vnd.mapbox-vector-tile')
  t.equal(packed.headers.get('access-control-allow-origin'), '*')
  const plain = await tile(path, { 'accept-encoding': 'identity' })
  t.equal(plain.headers.get('content-encoding'), null)
  t.strictSame(plain.bytes, packed.bytes)
  t.equal((await tile(path, { 'accept-encoding': 'gzip;q=0' })).headers.get('content-encoding'), null)
  const again = await tile(path, { 'if-none-match': packed.headers.get('etag')! })
  t.equal(again.status, 304)
  t.equal(packed.headers.get('cache-control'), 'public, no-cache', 'without a version')
})

t.test('not counted in quotas; 200 a second for each address', async (t) => {
  const statuses = await Promise.all(
    Array.from({ length: 260 }, async (_, i) => {
      const answer = await fetch(`${limited.url}${i % 2 === 0 ? '/v1' : ''}/maps/tiles/40/0/0.mvt`, {
        headers: { authorization: KEYS.testPublishable },
      })
      await answer.arrayBuffer()
      return answer.status
    }),
  )
  t.ok(statuses.filter((status) => status === 400).length >= 200)
  t.ok(statuses.includes(429), 'both paths together')
  const { body } = await limited.api('GET', '/v1/openapi.json')
  t.match(body.paths['/v1/maps/tiles/{z}/{x}/{y}.mvt'].get.description, /200 requests a second/)
})

t.test('a flood of different tiles is bounded, and tracking goes on', async (t) => {
  const { x, y } = tileAt(CITY, 16)
  const over = new AbortController()
  // On a starved machine, the same work takes longer.
  const cpuMs = () => 10 * Number(cpuTicks(server.pid))
  let slowest = 0
  const tracking = (async () => {
    for (let i = 0; !over.signal.aborted; i++) {
      const before = cpuMs()
      const update = { deviceId: `d${i % 10}`, latitude: -34.9, longitude: -56.19, accuracy: 5 }
      t.equal((await server.api('POST', '/v1/track', update)).status, 200)
      slowest = Math.max(slowest, cpuMs() - before)
    }
  })()
  const answers = await Promise.all(
    Array.from({ length: 1500 }, (_, i) => tile(`16/${x + (i % 40)}/${y + Math.floor(i / 40)}.mvt`)),
  )
  over.abort()
  await tracking
  const refused = answers.filter(({ status }) => status !== 200)
  for (const { status, headers, bytes } of refused) {
    t.equal(status, 503)
    t.equal(headers.get('retry-after'), '1')
    t.match(JSON.parse(new TextDecoder().decode(bytes)), { meta: { message: /at once/ } })
  }
  t.ok(refused.length < answers.length, `${refused.length} of ${answers.length} were refused`)
  t.ok(slowest < 2000, `during an update the server had ${slowest} ms of the processor`)
  t.equal((await tile(`16/${x}/${y}.mvt`)).status, 200, 'it is over')
})

t.test('a region that comes and goes while tiles are asked for', async (t) => {
  const folder = mapRegionsFolder(server.data)
  const manifest = readManifest(folder)
  const stop = new AbortController()
  const seen = new Set<number>()
  const { x, y } = tileAt(CITY, 15)
  const asking = (async () => {
    for (let i = 0; !stop.signal.aborted; i++) {
      // Others each time, so that they must be cut.
      const answer = await tile(`15/${x + (i % 20)}/${y - (Math.floor(i / 20) % 20)}.mvt`)
      seen.add(answer.status)
    }
  })()
  const roads = async () => (await featuresAt(15)).filter(({ layer }) => layer === 'roads').length
  t.ok((await roads()) > 0)
  writeManifest(folder, { ...manifest, regions: [] })
  await until(async () => (await roads()) === 0)
  writeManifest(folder, manifest)
  await until(async () => (await roads()) > 0)
  // Its files are away for a moment: tiles fail openly, and come again.
  const build = join(folder, manifest.regions[0]!.folder)
  writeManifest(folder, { ...manifest, regions: [] })
  await until(async () => (await roads()) === 0)
  renameSync(build, `${build}.away`)
  writeManifest(folder, manifest)
  renameSync(`${build}.away`, build)
  await until(async () => (await roads()) > 0)
  // An import of the same name replaces it: the manifest names another build.
  const [region] = manifest.regions
  const folderOfOther = region!.folder.replace(/[0-9a-f]{8}$/, 'feedbeef')
  cpSync(build, join(folder, folderOfOther), { recursive: true })
  const before = await tileUrl()
  writeManifest(folder, { ...manifest, regions: [{ ...region!, folder: folderOfOther }] })
  let leastRoads = Infinity
  await until(async () => {
    leastRoads = Math.min(leastRoads, await roads())
    return (await tileUrl()) !== before
  })
  t.ok(Math.min(leastRoads, await roads()) > 0, 'there is a map all the time')
  stop.abort()
  await asking
  t.strictSame([...seen], [200])
})
