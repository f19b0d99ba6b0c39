/** The public inspector of the protocol, as its users run it on the command line: over stdio and over HTTP. */
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { TOOLS } from '../../src/mcp/tools.ts'
import { skipUnless } from '../kit/goServers.ts'
import { npmPackages } from '../kit/npmPackages.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const run = promisify(execFile)
const MCP = fileURLToPath(new URL('../../src/cli/mcp.ts', import.meta.url))
const PACKAGE = '@modelcontextprotocol/inspector'
const PLACE = { latitude: 47.14, longitude: 9.52 }

const inspector = () => npmPackages('inspector', [`${PACKAGE}@2.12.0`])

const skip = await skipUnless(inspector)
const program = skip === false ? join(await inspector(), PACKAGE, 'clients/launcher/build/index.js') : ''
const home = mkdtempSync(join(tmpdir(), 'ringfence-inspector-'))
t.teardown(() => rmSync(home, { recursive: true, force: true }))
const server = await startServer(t, { sample: true })
const circle = { type: 'circle', coordinates: [PLACE.longitude, PLACE.latitude], radius: 100 }
await server.api('PUT', '/v1/geofences/store/open', { ...circle, description: 'Open' })
// 150 m north of the centre.
const near = { ...PLACE, latitude: PLACE.latitude + 0.00135 }
await server.api('POST', '/v1/track', { deviceId: 'near', userId: 'near-user', ...near, accuracy: 60 })

/** What it prints, of a server that is named by the arguments. */
async function inspect(target: readonly string[], ...more: string[]): Promise<Json> {
  const { stdout } = await run(process.execPath, [program, '--cli', ...target, ...more], {
    env: { ...process.env, NODE_OPTIONS: '', HOME: home },
    maxBuffer: 16 * 1024 * 1024,
  })
  return JSON.parse(stdout)
}

async function checked(test: typeof t, target: readonly string[]): Promise<void> {
  const { tools } = await inspect(target, '--method', 'tools/list')
  const reading = TOOLS.map(({ name }) => name).filter((name) => name !== 'put_geofence')
  test.strictSame(tools.map(({ name }: Json) => name).sort(), reading.sort())
  test.ok(tools.every(({ inputSchema }: Json) => inputSchema.type === 'object'))
  const call = async (name: string, ...args: string[]) => {
    const pairs = args.length === 0 ? [] : ['--tool-arg', ...args]
    const { content, isError } = await inspect(
      target,
      '--method',
      'tools/call',
      '--tool-name',
      name,
      ...pairs,
    )
    return isError ? { error: content[0].text } : JSON.parse(content[0].text)
  }
  const { explanation } = await call('explain_user', 'id=near')
  test.match(
    explanation.candidates.find(({ geofence }: Json) => geofence.externalId === 'open'),
    { outcome: 'outside', reason: /outside/ },
  )
  test.match(await call('find_geofences_near', `near=${PLACE.latitude},${PLACE.longitude}`, 'tags=store'), {
    geofences: [{ externalId: 'open' }],
  })
  const city = '-34.9055,-56.1851'
  test.match(await call('what_is_here', `coordinates=${city}`), { context: { country: { code: 'UY' } } })
  test.match(await call('reverse_geocode', `coordinates=${city}`), { addresses: [{ countryCode: 'UY' }] })
  test.match(await call('geocode', 'query=Plaza Independencia, Montevideo'), {
    addresses: [{ city: 'Montevideo', countryCode: 'UY' }],
  })
  const ends = [`origin=${city}`, 'destination=-34.9055,-56.1751', 'modes=foot,car', 'units=metric']
  const { routes } = await call('route', ...ends)
  for (const mode of ['foot', 'car']) test.ok(routes[mode].distance.value > 500, mode)
  test.ok(
    (await call('search_places', `near=${city}`, 'categories=food-beverage', 'radius=2000')).places.length >
      0,
  )
}

t.test('over stdio', { skip }, async (test) => {
  const target = [process.execPath, MCP, '--url', server.url, '-e', `RINGFENCE_KEY=${KEYS.testSecret}`]
  await checked(test as typeof t, target)
})

t.test('over HTTP', { skip }, async (test) => {
  const mcp = spawn(process.execPath, [MCP, '--url', server.url, '--port', '0'], {
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  test.teardown(() => mcp.kill())
  let output = ''
  mcp.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await until(() => output.includes('/mcp'))
  const url = /http:\S+/.exec(output)![0]
  await checked(test as typeof t, [
    url,
    '--transport',
    'http',
    '--header',
    `Authorization: Bearer ${KEYS.testSecret}`,
  ])
})
