/** A start that fails prints one or two lines that name what to change, and never a stack trace. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { OptionError } from '../../config/option.ts'
import { loadOptions } from '../../config/options.ts'
import { lockStore, openStore } from '../../src/log/store.ts'
import { failureFields, failureSentence } from '../../src/runtime/errors.ts'
import { freePort } from '../kit/freePort.ts'

t.setTimeout(120_000)

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** A process of `npm start` that ends by itself or when the test ends. */
function start(t: Test, args: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Without the settings of the tests themselves, which a server would warn about.
    env: { ...withoutOwn(process.env), RINGFENCE_SAMPLE_REGION: 'off', RINGFENCE_DASHBOARD: 'off' },
  })
  const told = { text: '' }
  const more = new EventTarget()
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told.text += text
    more.dispatchEvent(new Event('text'))
  })
  const closed = once(child, 'close')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await closed
  })
  const until = async (pattern: RegExp): Promise<string> => {
    while (!pattern.test(told.text)) await once(more, 'text')
    return told.text
  }
  return { told, until, ended: closed.then(() => child.exitCode) }
}

async function listening(t: Test, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('a failed start prints one line that says what to change', async (t) => {
  const data = t.testdir({
    file: '',
    'broken.json': '{"port":',
    'list.json': '[]',
    'wrong.json': '{"prot":1}',
  })
  const taken = await listening(t, createServer())
  const locked = join(data, 'locked')
  mkdirSync(locked)
  t.teardown(lockStore(locked))
  const nats = ['--nats-url', 'nats://127.0.0.1:1']
  const CASES: readonly (readonly [args: readonly string[], code: number, sentence: RegExp])[] = [
    [['--port', taken.split(':')[1]!], 1, /another program uses the port\. .*--port \(RINGFENCE_PORT\)/],
    [['--host', '203.0.113.1'], 1, /does not belong to this machine\. .*--host \(RINGFENCE_HOST\)/],
    [['--host', 'no-such-host.invalid'], 1, /Cannot listen on .*--host \(RINGFENCE_HOST\)/],
    [
      ['--data', join(data, 'file', 'below')],
      1,
      /the data folder cannot be made: .*--data \(RINGFENCE_DATA\)/,
    ],
    [['--data', locked], 1, /in use by another process/],
    [['--data', locked, '--engine', 'distributed', ...nats], 1, /in use by another process/],
    [['--config', join(data, 'broken.json')], 2, /broken\.json: cannot be read as JSON/],
    [['8081'], 2, /unknown command "8081"; settings are written as --name value/],
    [['--engine', 'distributed'], 2, /--nats-url nats:\/\/HOST:PORT \(RINGFENCE_NATS_URL\)/],
    [[...nats, '--nats-credentials', join(data, 'absent')], 2, /natsCredentials: .*absent cannot be read/],
  ]
  await Promise.all(
    CASES.map(async ([args, code, sentence], i) => {
      const { told, ended } = start(t, ['--data', join(data, `free-${i}`), '--port', '0', ...args])
      t.equal(await ended, code, args.join(' '))
      t.match(told.text, sentence)
      t.match(told.text, /^ringfence: [^\n]*\n$/, 'one line')
    }),
  )
  // These fail in the same place as one of the above: what that process would print is known without it.
  const readFile = (path: string) => readFileSync(path, 'utf8')
  const SETTINGS: readonly (readonly [args: readonly string[], sentence: RegExp])[] = [
    [['--config', join(data, 'none.json')], /none\.json: cannot be read: there is no such file or folder/],
    [['--config', join(data, 'list.json')], /list\.json: must hold a JSON object of settings/],
    [['--config', join(data, 'wrong.json')], /wrong\.json: unknown setting "prot"/],
    [['--port'], /--port needs a value/],
  ]
  for (const [argv, sentence] of SETTINGS)
    try {
      loadOptions({ argv, env: {}, readFile })
      t.fail(argv.join(' '))
    } catch (error) {
      t.match(failureSentence(error), sentence)
      t.notMatch(failureSentence(error), '\n')
      t.equal((error as Partial<OptionError>).exitCode, 2)
    }
  const unusable = /a file is in its place\. .*--data \(RINGFENCE_DATA\)/
  t.throws(() => openStore(join(data, 'file'), { partitions: 1 }), { message: unusable })
})

t.test('a start that waits for another server prints one line with the reason', async (t) => {
  const http = await listening(t, createHttpServer())
  const data = t.testdir()
  const nobody = `127.0.0.1:${await freePort()}`
  const nats = (way: string) => ['--nats-url', way]
  const distributed = (way: string) => [...nats(way), '--engine', 'distributed']
  const refused = /"reason":"127\.0\.0\.1:\d+: connection refused; check that the server runs/
  const notNats = /"reason":"[^"]*: no NATS server has answered; check the port/
  const unknown = /"reason":"no-such-host\.invalid:4222: the host name cannot be resolved"/
  const CASES: readonly (readonly [args: readonly string[], line: RegExp])[] = [
    [nats(`nats://someone:secret-word@${nobody}`), refused],
    [nats(`nats://${http}`), notNats],
    [nats('nats://no-such-host.invalid'), unknown],
    [distributed(`nats://someone:secret-word@${nobody}`), refused],
    [['--tile38-url', `tile38://${nobody}`], /"reason":"connection refused; check that the server runs/],
    [['--tile38-url', `tile38://${http}`], /"reason":"it does not answer as Tile38 does; check the port"/],
  ]
  await Promise.all(
    CASES.map(async ([args, line], i) => {
      const text = await start(t, ['--data', join(data, `${i}`), '--port', '0', ...args]).until(line)
      t.match(text, /"level":"warn"[^\n]*cannot (?:connect|publish)[^\n]*; retrying"/, args.join(' '))
      t.notMatch(text, /"stack"|\bat .*\.[jt]s:\d/, 'no stack')
      t.notMatch(text, 'secret-word')
    }),
  )
})

t.test('a connected server that cannot be used is reported in one line with the reason', async (t) => {
  // A NATS server that answers every request with an error.
  const nats = await listening(
    t,
    createServer((socket) => {
      socket.write(
        'INFO {"server_id":"A","version":"2.12.0","headers":true,"max_payload":1048576,"jetstream":true}\r\n',
      )
      socket.on('error', () => {})
      let heard = ''
      socket.setEncoding('latin1').on('data', (text: string) => {
        heard += text
        for (let end = heard.indexOf('\r\n'); end >= 0; end = heard.indexOf('\r\n')) {
          const [verb, , reply] = heard.slice(0, end).split(' ')
          heard = heard.slice(end + 2)
          if (verb === 'PING') socket.write('PONG\r\n')
          if (verb !== 'PUB' && verb !== 'HPUB') continue
          const answer =
            '{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}'
          socket.write(`MSG ${reply} 1 ${answer.length}\r\n${answer}\r\n`)
        }
      })
    }),
  )
  const args = [
    '--data',
    t.testdir(),
    '--port',
    '0',
    '--nats-url',
    `nats://${nats}`,
    '--engine',
    'distributed',
  ]
  const text = await start(t, args).until(/failed; retrying/)
  t.match(text, /"reason":"[^"]*JetStream system temporarily unavailable[^"]*","msg":"failed; retrying"/)
  t.notMatch(text, /"stack"|\bat .*\.[jt]s:\d/, 'no stack')
})

t.test('a stack trace only for our own faults', async (t) => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' })
  t.match(failureFields(refused), { reason: /^connection refused; check/ })
  t.strictSame(failureFields(new Error('another host was faster')), { reason: 'another host was faster' })
  for (const fault of [new TypeError('x is not a function'), new RangeError('Invalid'), 'text', undefined])
    t.strictSame(failureFields(fault), { err: fault })
})

function withoutOwn(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('RINGFENCE_')))
}
