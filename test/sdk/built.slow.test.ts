/** The built package: its size, and that it runs in a browser and in Node 20. */
import { execFile, spawn } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { openPage, skipWithoutChromium } from '../kit/chromium.ts'
import { KEYS, startServer, type Server } from '../kit/server.ts'
import type { Checks } from './scenario.ts'

const run = promisify(execFile)
const SDK = fileURLToPath(new URL('../../sdk/', import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'ringfence-sdk-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const compiler = createRequire(join(SDK, 'package.json')).resolve('typescript/bin/tsc')
await run(process.execPath, [compiler, '--project', SDK, '--outDir', join(folder, 'dist')])
const scenario = readFileSync(new URL('scenario.ts', import.meta.url), 'utf8')
writeFileSync(join(folder, 'scenario.js'), stripTypeScriptTypes(scenario))
writeFileSync(join(folder, 'package.json'), '{"type":"module"}')

t.test('it is small', async (t) => {
  const files = readdirSync(join(folder, 'dist'), { recursive: true, encoding: 'utf8' })
  const sources = files.filter((file) => file.endsWith('.js')).map((file) => read(join('dist', file)))
  const bytes = gzipSync(Buffer.concat(sources)).length
  t.comment(`${bytes} bytes, gzipped and not minified`)
  t.ok(bytes < 16_000, `${bytes} bytes`)
  t.ok(files.includes('index.d.ts'))
})

t.test('the examples of its README compile, and so do its types', async (t) => {
  const modules = join(folder, 'node_modules/@ringfence')
  mkdirSync(modules, { recursive: true })
  cpSync(join(SDK, 'package.json'), join(modules, 'client/package.json'))
  symlinkSync(join(folder, 'dist'), join(modules, 'client/dist'))
  const ours = fileURLToPath(new URL('../../node_modules/', import.meta.url))
  for (const name of ['@types', 'msgpackr']) symlinkSync(join(ours, name), join(folder, 'node_modules', name))
  const blocks = readFileSync(join(SDK, 'README.md'), 'utf8').matchAll(/^```ts\n(.*?)^```/gms)
  const files = Array.from(blocks, ([, source], n) => {
    const file = join(folder, `example${n}.ts`)
    writeFileSync(file, source!)
    return file
  })
  t.ok(files.length > 5)
  const flags = '--noEmit --strict --exactOptionalPropertyTypes --module nodenext --target es2022'.split(' ')
  // The sources are compiled with TypeScript 5; the code here that uses them is compiled with 7.
  const newer = join(ours, '.bin/tsc')
  const { stdout } = await run(newer, [...flags, ...files], { cwd: folder }).catch((error) => error)
  t.equal(stdout, '')
})

t.test('in a browser', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startServer(t)
  await makeGeofence(server)
  const { checks } = await page(t, server)
  report(t, await checks)
})

const node20 = await findNode20()
t.test('in Node 20', { skip: node20 === undefined && 'no Node 20 on the PATH' }, async (t) => {
  const server = await startServer(t)
  await makeGeofence(server)
  const ws = import.meta.resolve('ws')
  writeFileSync(
    join(folder, 'run.js'),
    `import { WebSocket } from ${JSON.stringify(ws)}
    import { scenario } from './scenario.js'
    import * as client from './dist/index.js'
    const restarted = () => new Promise((resolve) => process.stdin.once('data', resolve))
    const restart = () => (console.log('restart'), restarted())
    const checks = await scenario(client, { ...${surroundings(server)}, isBrowser: false, WebSocket, restart })
    console.log(JSON.stringify(checks))
    // It ends by itself, or something was left open.
    process.stdin.destroy()\n`,
  )
  const child = spawn('env', ['-u', 'NODE_OPTIONS', node20!, join(folder, 'run.js')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for await (const part of child.stdout.setEncoding('utf8')) {
    output += part
    if (part === 'restart\n') {
      await restart(server)
      child.stdin.write('done')
    }
  }
  report(t, JSON.parse(output.split('\n').at(-2) ?? '[]') as Checks)
})

function read(path: string): Buffer {
  return readFileSync(join(folder, path))
}

function surroundings(server: Server): string {
  return JSON.stringify({ url: server.url, publishableKey: KEYS.testPublishable, secretKey: KEYS.testSecret })
}

async function makeGeofence(server: Server): Promise<void> {
  await server.api('PUT', '/v1/geofences/t/1', {
    description: 'Here',
    type: 'circle',
    coordinates: [-74.0445, 40.6892],
    radius: 500,
  })
}

async function restart(server: Server): Promise<void> {
  await server.kill9()
  await server.restart()
}

function report(t: Test, checks: Checks): void {
  t.ok(checks.length > 10, `${checks.length} checks`)
  for (const [what, holds] of checks) t.ok(holds, what)
}

/** Serves and opens a page that runs the scenario and posts the results. */
async function page(t: Test, server: Server): Promise<{ checks: Promise<Checks> }> {
  const html = `<!doctype html><script type="module">
    const post = (path, body) => fetch(path, { method: 'POST', body: JSON.stringify(body) })
    try {
      const { scenario } = await import('/scenario.js')
      const restart = () => post('/restart')
      const around = { ...${surroundings(server)}, isBrowser: true, restart }
      await post('/checks', await scenario(await import('/dist/index.js'), around))
    } catch (error) {
      await post('/checks', [['the scenario ended with ' + error + ' ' + error.stack, false]])
    }
  </script>`
  let told: (checks: Checks) => void
  const checks = new Promise<Checks>((resolve) => (told = resolve))
  const answer = async (request: IncomingMessage): Promise<string | Buffer> => {
    switch (request.url) {
      case '/':
        return html
      case '/restart':
        await restart(server)
        return ''
      case '/checks':
        told(JSON.parse(await text(request)) as Checks)
        return ''
      default:
        return request.url!.endsWith('.js') ? read(request.url!) : ''
    }
  }
  const files = createServer((request, response) => {
    response.setHeader('content-type', request.url === '/' ? 'text/html' : 'text/javascript')
    void answer(request).then((content) => response.end(content))
  })
  await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    files.closeAllConnections()
    files.close()
  })
  openPage(t, `http://127.0.0.1:${(files.address() as AddressInfo).port}/`)
  return { checks }
}

async function findNode20(): Promise<string | undefined> {
  for (const place of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(place, 'node')
    const version = await run('env', ['-u', 'NODE_OPTIONS', path, '--version']).then(
      ({ stdout }) => stdout,
      () => '',
    )
    if (version.startsWith('v20.')) return path
  }
  return undefined
}
