import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { helpText } from '../../config/help.ts'
import { KEYS, Server, startServer } from '../kit/server.ts'

const ROOT = new URL('../../', import.meta.url)

/** Runs src/main.ts to its end. A SIGTERM ends it once stdout matches `until`. */
async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}, until?: RegExp) {
  const main = fileURLToPath(new URL('src/main.ts', ROOT))
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    if (until?.test(stdout)) child.kill('SIGTERM')
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  await once(child, 'close')
  return { code: child.exitCode, stdout, stderr }
}

const TRACK = { deviceId: 'phone', latitude: 52.52, longitude: 13.405, accuracy: 5 }

t.test('--help and --version print and end', async (t) => {
  t.strictSame(await run(['--help']), { code: 0, stdout: `${helpText()}\n`, stderr: '' })
  const { version } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'))
  t.strictSame(await run(['--version']), { code: 0, stdout: `${version}\n`, stderr: '' })
})

t.test('a setting that cannot be used: exit code 2 and a message that names it', async (t) => {
  const data = t.testdir()
  t.match(await run(['--prot', '1', '--data', data]), {
    code: 2,
    stdout: '',
    stderr: /unknown option --prot/,
  })
  t.match(await run(['--data', data], { RINGFENCE_PORT: 'http' }), { code: 2, stderr: /RINGFENCE_PORT/ })
})

t.test('a first start that cannot listen keeps no keys from the next one', async (t) => {
  const data = t.testdir()
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const port = String((taken.address() as AddressInfo).port)
  t.match(await run(['--data', data, '--port', port]), { code: 1, stdout: '', stderr: /Cannot listen on/ })
  await new Promise((resolve) => taken.close(resolve))
  const shown = await run(['--data', data, '--port', port], {}, /Ctrl-C stops the server/)
  t.match(shown, { code: 0, stdout: /prj_test_pk_\w{40}[^]*prj_live_sk_\w{40}[^]*curl http/ })

  t.comment('the next start says where the reference is, and by which command the keys are seen')
  const next = await run(['--data', data, '--port', port], {}, /npm run keys -- rotate/)
  t.match(next, { code: 0, stdout: `http://127.0.0.1:${port}/docs\n` })
  t.notMatch(next.stdout, /prj_/)
  const [, line] = /npm run (keys -- list .*)/.exec(next.stdout)!
  const command = line!.replace(' -- ', ' ').split(' ')
  t.match(await run(command.map((word) => (word.startsWith('"') ? JSON.parse(word) : word))), {
    code: 0,
    stdout: /^Project 1: default\n {2}testPublishable/,
  })
})

t.test('two servers do not share a port: the second one ends, and says why', async (t) => {
  const server = await startServer(t)
  const args = ['--data', t.testdir(), '--port', String(server.port)]
  const refused = { code: 1, stdout: '', stderr: /Cannot listen on [^]*another program uses the port/ }
  t.match(await run([...args, '--host', '127.0.0.1']), refused)
  t.match(await run(args), refused, 'on all addresses of the machine')
  t.match(await server.api('POST', '/v1/track', TRACK), { status: 200 })
})

t.test('one data folder: its updates survive, and a second process is refused', async (t) => {
  const server = await startServer(t)
  t.match(await server.api('POST', '/v1/track', TRACK), {
    status: 200,
    body: { user: { deviceId: 'phone' } },
  })

  t.comment('a second start is refused, and the first goes on')
  await t.rejects(Server.start({ data: server.data }), /exited with 1[^]*in use by another process/)
  t.match(await server.api('POST', '/v1/track', { ...TRACK, deviceId: 'second' }), { status: 200 })

  t.comment('SIGTERM ends the process with 0 although a client holds a connection open')
  const idle = connect(server.port, '127.0.0.1')
  idle.on('error', () => {})
  const closed = once(idle, 'close')
  await once(idle, 'connect')
  await server.stop()
  await closed

  t.comment('other partitions than the folder was made with are refused by the name of the file')
  await t.rejects(
    Server.start({ data: server.data, args: ['--partitions', '8'] }),
    /exited with 1[^]*store\.json/,
  )

  t.comment('what was acknowledged is there after SIGTERM and after kill -9')
  await server.restart()
  t.match(await server.api('GET', '/v1/users/phone'), { status: 200, body: { user: { deviceId: 'phone' } } })
  t.match(await server.api('POST', '/v1/track', { ...TRACK, deviceId: 'third' }), { status: 200 })
  await server.kill9()
  await server.restart()
  for (const deviceId of ['phone', 'second', 'third']) {
    t.match(await server.api('GET', `/v1/users/${deviceId}`), { status: 200, body: { user: { deviceId } } })
  }
  for (const key of Object.values(KEYS)) t.notOk(server.output.includes(key), 'no key in the output')
})
