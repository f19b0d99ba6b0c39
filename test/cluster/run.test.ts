/** `npm run cluster`, as far as it goes without servers: what it refuses, and whose answers it believes. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { Member } from '../../cluster/member.ts'
import { lockStore } from '../../src/log/store.ts'
import { freePort } from '../kit/freePort.ts'
import { serverBinary } from '../kit/goServers.ts'
import { until } from '../kit/waiting.ts'

const RUN = fileURLToPath(new URL('../../cluster/run.ts', import.meta.url))

/** A server of somebody else, which answers everything with 200. Returns its port. */
async function stranger(t: Test): Promise<number> {
  const server = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Runs the command until it ends. */
function run(...options: readonly string[]): Promise<{ code: unknown; output: string }> {
  return new Promise((resolve) =>
    execFile(process.execPath, [RUN, ...options], (error, stdout, stderr) =>
      resolve({ code: error?.code, output: stdout + stderr }),
    ),
  )
}

t.test('a port that another program uses is refused before anything starts', async (t) => {
  const port = await stranger(t)
  const { code, output } = await run('--port', `${port}`)
  t.equal(code, 1)
  t.match(output, `--port ${port}: another program uses this port. Choose another one.`)
  t.notMatch(output, 'Starting')
})

t.test('a folder that another cluster uses is refused before anything starts', async (t) => {
  const folder = t.testdir()
  const unlock = lockStore(folder)
  const { code, output } = await run('--port', `${await freePort()}`, '--folder', folder)
  unlock()
  t.equal(code, 1)
  t.match(output, `${folder} is in use by another process`)
  t.notMatch(output, 'Starting')
  t.strictSame(
    readdirSync(folder).filter((name) => name !== 'lock'),
    [],
  )
})

t.test('a process is not taken for ready because another program answers in its place', async (t) => {
  const url = `http://127.0.0.1:${await stranger(t)}`
  const listens = /"msg":"listening"/
  const member = (words: string) =>
    new Member({
      name: 'gateway-1',
      command: process.execPath,
      args: ['-e', words],
      env: {},
      logFile: join(t.testdirName, 'log'),
      url,
      readyUrl: url,
      listens,
    })
  t.testdir({ log: '{"msg":"listening"} of an earlier run\n' })
  const ending = member('setTimeout(() => process.exit(3), 300)')
  ending.start()
  await t.rejects(ending.ready(), /gateway-1 has ended/)
  const listening = member('console.log(\'{"msg":"listening"}\'); setInterval(() => {}, 1000)')
  listening.start()
  await listening.ready()
  await listening.end('SIGKILL')
})

t.test('who waits for a process is told what it says is missing', async (t) => {
  const sentences = [
    ['nats', { error: 'JetStream has not established contact with a meta leader' }],
    ['gateway', { meta: { code: 503, message: 'Not ready: registry.' }, checks: [] }],
  ] as const
  const folder = t.testdir({ nats: '', gateway: '' })
  const wait = async ([name, answer]: (typeof sentences)[number]) => {
    const told: string[] = []
    const server = createServer((_, response) => {
      response.statusCode = told.length === 0 ? 503 : 200
      response.end(JSON.stringify(answer))
    }).listen(0, '127.0.0.1')
    t.teardown(() => server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const member = new Member({
      name,
      command: process.execPath,
      args: ['-e', 'setInterval(() => {}, 1000)'],
      env: {},
      logFile: join(folder, name),
      url,
      readyUrl: url,
    })
    t.teardown(() => member.end('SIGKILL'))
    member.start()
    await member.ready((sentence) => told.push(sentence))
    return told
  }
  t.match(await Promise.all(sentences.map(wait)), [
    [/^nats is not ready after \d+ s: JetStream has not established contact with a meta leader$/],
    [/^gateway is not ready after \d+ s: Not ready: registry\.$/],
  ])
})

t.test('the processes of a cluster end when who started them is killed, and all of its group', async (t) => {
  const logFile = join(t.testdir(), 'log')
  const url = new URL('../../cluster/member.ts', import.meta.url)
  const program = `
    import { Member } from '${url}'
    const member = () => new Member({
      name: 'one', command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'],
      env: {}, logFile: ${JSON.stringify(logFile)}, url: '', readyUrl: '',
    })
    const [ended, lasting] = [member(), member()]
    ended.start()
    lasting.start()
    await ended.end('SIGKILL')
    console.log(lasting.pid)
    setInterval(() => {}, 1000)`
  const starter = spawn(process.execPath, ['--input-type=module', '-e', program], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(starter.stdout.setEncoding('utf8'), 'data')
  const pid = Number(line)
  t.ok(isAlive(pid))
  process.kill(-starter.pid!, 'SIGKILL')
  await until(() => !isAlive(pid))
  t.pass('it is gone')
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

t.test('why a server cannot be built', async (t) => {
  const server = { name: 'ringfence-no-such-server', package: 'example.invalid/none@latest' }
  const folder = t.testdir()
  const { PATH } = process.env
  t.teardown(() => void (process.env.PATH = PATH))
  process.env.PATH = folder
  await t.rejects(serverBinary(server), {
    name: 'ServerMissing',
    message: /^ringfence-no-such-server is not on the PATH, and there is no Go toolchain to build it/,
  })
  const source = join(folder, 'nowhere')
  await t.rejects(serverBinary({ ...server, source }), {
    name: 'ServerMissing',
    message: `ringfence-no-such-server is not on the PATH, and its source ${source} does not exist`,
  })
  const go = join(folder, 'go')
  writeFileSync(go, '#!/bin/sh\necho "module lookup is off" >&2\nexit 1\n')
  chmodSync(go, 0o755)
  await t.rejects(serverBinary(server), {
    name: 'ServerMissing',
    message: /^ringfence-no-such-server is not on the PATH, and building it failed: module lookup is off/,
  })
})
