/** The operator's commands, with a running server and with a folder that no server uses. */
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { OptionError } from '../../config/option.ts'
import { loadOptions } from '../../config/options.ts'
import { controlAddress } from '../../src/cli/control/address.ts'
import { connectControl } from '../../src/cli/control/client.ts'
import { openStore } from '../../src/log/store.ts'
import { ACCOUNTS_USAGE } from '../../src/cli/accountCommands.ts'
import { KEYS_USAGE, PROJECTS_USAGE } from '../../src/cli/registryCommands.ts'
import { commandHelp, operate } from '../../src/cli/operator.ts'
import { failureSentence } from '../../src/runtime/errors.ts'
import { command, type Ended } from './command.ts'
import { KEYS, startServer, type Server } from '../kit/server.ts'

const USAGES = { keys: KEYS_USAGE, projects: PROJECTS_USAGE, accounts: ACCOUNTS_USAGE }

/** A path that is short in every environment, because the path of a test folder is too long for a socket. */
function folder(t: { teardown(work: () => void): void }): string {
  const path = mkdtempSync(join(tmpdir(), 'ringfence-op-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

async function status(server: Server, key: string): Promise<number> {
  return (await server.api('GET', '/v1/geofences', undefined, key)).status
}

/** Runs `npm run <line> -- --data <data>` in this process, with the same result. */
function run(data: string, ...line: string[]): Promise<Ended> {
  return main([...line, '--data', data])
}

/** What src/main.ts does with these arguments, if they do not start a server. An error is what it would print. */
async function main(argv: readonly string[]): Promise<Ended> {
  const lines: string[] = []
  try {
    const readFile = (path: string) => readFileSync(path, 'utf8')
    const { options, positionals } = loadOptions({ argv, env: {}, readFile })
    const code = await operate(positionals, options, (text) => lines.push(text))
    return { code, output: lines.join('\n') }
  } catch (error) {
    return { code: (error as Partial<OptionError>).exitCode ?? 1, output: failureSentence(error) }
  }
}

t.test('commands have the same effect with a running server and with a stopped one', async (t) => {
  const data = folder(t)
  const server = await startServer(t, { data })
  for (const running of [true, false]) {
    const second = running ? '2' : '3'
    const name = `Shop ${second}`
    if (!running) await server.stop()
    const list = await run(data, 'keys', 'list')
    t.match(list, { code: 0, output: /^Project 1: default\n {2}testPublishable {2}…1111 {2}since 2/ })
    t.notMatch(list.output, /prj_/, 'no key is shown')
    const made = await run(data, 'projects', 'create', name)
    t.match(made, { code: 0, output: `Project ${second}: ${name}. Its keys, shown only now:` })
    const old = /prj_test_sk_[0-9a-f]{40}/.exec(made.output)![0]
    t.match(await run(data, 'projects', 'create', name), {
      code: 2,
      output: `Project ${second} has the name ${name} already`,
    })
    t.match(await run(data, 'projects', 'usage', second), {
      code: 0,
      output: /has not made any requests yet/,
    })
    const rotated = await run(data, 'keys', 'rotate', 'testSecret', second)
    const fresh = /prj_test_sk_[0-9a-f]{40}/.exec(rotated.output)![0]
    const soon = new Date(Date.now() + 3_600_000).toISOString()
    const overlapping = await run(data, 'keys', 'rotate', 'testSecret', second, 'until', soon)
    t.match(overlapping, { code: 0, output: `The old key stays valid until ${soon}.` })
    t.match(await run(data, 'keys', 'list'), {
      code: 0,
      output: new RegExp(
        `testSecret .*\\n {2}testSecret .*…${fresh.slice(-4)} .* replaced, valid until ${soon}`,
      ),
    })
    for (const [date, sentence] of [
      ['2020-01-01', 'Nothing was changed. The date must be in the future.'],
      ['2099-01-01', 'Nothing was changed. The date must be at most 90 days from now.'],
    ] as const) {
      const refused = await run(data, 'keys', 'rotate', 'testSecret', second, 'until', date)
      t.strictSame(refused, { code: 2, output: sentence })
    }
    t.match(await run(data, 'projects', 'quota', second, '2000'), {
      code: 0,
      output: `Project ${second} may make 2000 requests a month.`,
    })
    t.match(await run(data, 'projects', 'quota', second, '1'), {
      code: 0,
      output: 'may make 1 request a month',
    })
    t.match(await run(data, 'projects', 'disable', second), { code: 0, output: `${second} is disabled` })
    t.match(await run(data, 'projects', 'list'), {
      code: 0,
      output: `Project ${second}: ${name} (disabled)\n  0 requests this month, of 1 a month`,
    })
    for (const line of [
      ['keys', 'rotate', 'liveSecret', '9'],
      ['projects', 'disable', '9'],
      ['projects', 'quota', '9', '5'],
      ['projects', 'usage', '9'],
    ]) {
      t.match(await run(data, ...line), { code: 2, output: 'There is no project 9.' }, line.join(' '))
    }
    if (!running) await server.restart()
    t.equal(await status(server, old), 401, 'the old key is invalid')
    t.equal(await status(server, fresh), 402, 'the project is disabled')
    t.match(await run(data, 'projects', 'enable', second), { code: 0, output: `${second} is enabled` })
    t.equal(await status(server, fresh), 200)
    t.equal(await status(server, fresh), 402, 'the quota is used up')
    t.match(await run(data, 'projects', 'usage', second), { code: 0, output: /^20\d\d-\d\d {2}1$/ })
    t.match(await run(data, 'projects', 'quota', second, 'none'), {
      code: 0,
      output: 'any number of requests',
    })
    t.equal(await status(server, fresh), 200)
  }
})

t.test('accounts: the first admin gets a link, with a running server and with a stopped one', async (t) => {
  const data = folder(t)
  const server = await startServer(t, { data, env: { RINGFENCE_PUBLIC_URL: 'https://fleet.example.com' } })
  t.match(await run(data, 'accounts', 'list'), { code: 0, output: /^There are no accounts yet/ })
  for (const running of [true, false]) {
    if (!running) await server.stop()
    const email = running ? 'ann@example.com' : 'bob@example.com'
    const added = await run(data, 'accounts', 'add', email.toUpperCase())
    t.match(added, { code: 0, output: `${email} has the role admin in project 1.` })
    // The address of a stopped server is in the settings of the command, of which this test gives none.
    const site = running ? 'https://fleet.example.com' : 'http://127.0.0.1:8080'
    t.match(added.output, `${site}/welcome#invitation=`)
    t.match(await run(data, 'accounts', 'add', email), {
      code: 2,
      output: `${email} has an account already. A new link for its password: npm run accounts -- link ${email}`,
    })
    t.match(await run(data, 'accounts', 'add', 'x@y', 'read', '9'), {
      code: 2,
      output: 'There is no project 9.',
    })
    t.match(await run(data, 'accounts', 'disable', 'x@y'), { code: 2, output: 'There is no account x@y.' })
    const link = await run(data, 'accounts', 'link', email)
    t.match(link, { code: 0, output: /welcome#invitation=/ })
    if (!running) await server.restart()
    const token = /#invitation=([\w-]+)/.exec(link.output)![1]
    const accepted = await server.api(
      'POST',
      `/v1/invitations/${token}`,
      { password: 'correct horse battery' },
      null,
    )
    t.match(accepted, { status: 200, body: { account: { email, role: 'admin' } } })
  }
  t.match(await run(data, 'accounts', 'role', 'bob@example.com', 'read'), {
    code: 0,
    output: 'bob@example.com has the role read.',
  })
  t.match(await run(data, 'accounts', 'disable', 'ann@example.com'), {
    code: 2,
    output: /last enabled admin/,
  })
  t.match(await run(data, 'accounts', 'disable', 'bob@example.com'), { code: 0 })
  t.match(await run(data, 'accounts', 'list'), {
    code: 0,
    output:
      /^Project 1: ann@example\.com {2}admin {2}20\S+\nProject 1: bob@example\.com {2}read \(disabled\) {2}20/,
  })
  t.match(await run(data, 'accounts', 'delete', 'bob@example.com'), { code: 0 })
})

t.test('a wrong command is answered with the list of commands, whatever the folder', async (t) => {
  const data = folder(t)
  const WRONG = [
    [['keys', 'rotate'], 'rotate needs the kind of a key, not nothing.'],
    [['keys', 'rotate', 'secret'], 'rotate needs the kind of a key, not "secret".'],
    [['keys', 'rotate', 'liveSecret', 'x'], 'rotate needs the number of a project, not "x".'],
    [['keys', 'rotate', 'liveSecret', '1', '2'], 'rotate does not accept the argument "2".'],
    [
      ['keys', 'rotate', 'liveSecret', 'until'],
      'rotate needs a date such as 2026-12-24 after "until", not nothing.',
    ],
    [
      ['keys', 'rotate', 'liveSecret', '1', 'until', '2026-02-30'],
      'rotate needs a date such as 2026-12-24 after "until", not "2026-02-30".',
    ],
    [
      ['keys', 'rotate', 'liveSecret', 'until', '2099-01-01', '2'],
      'rotate does not accept the argument "2".',
    ],
    [['keys', 'list', 'x'], 'list does not accept the argument "x".'],
    [['projects', 'list', 'x'], 'list does not accept the argument "x".'],
    [['accounts', 'list', 'x'], 'list does not accept the argument "x".'],
    [['projects', 'create', ' '], 'create needs a name.'],
    [['projects', 'create', 'Second', 'shop'], 'Put the name into quotes: "Second shop".'],
    [['projects', 'create', 'x'.repeat(257)], 'A name has at most 256 characters, on one line.'],
    [['projects', 'create', 'a\nProject 9: b'], 'A name has at most 256 characters, on one line.'],
    [['projects', 'create', '\u001b[31mred'], 'A name has at most 256 characters, on one line.'],
    [['keys', 'frob'], 'Unknown command "frob".'],
    [['projects', 'help'], 'Unknown command "help".'],
    [['projects', 'disable'], 'disable needs the number of a project, not nothing.'],
    [['projects', 'disable', '-1'], 'disable needs the number of a project, not "-1".'],
    [['projects', 'usage', 'x'], 'usage needs the number of a project, not "x".'],
    [['projects', 'quota', '1'], 'quota needs a whole number of requests, or none, not nothing.'],
    [['projects', 'quota', '1', '1.5'], 'quota needs a whole number of requests, or none, not "1.5".'],
    [['projects', 'quota', '1', '1e3'], 'quota needs a whole number of requests, or none, not "1e3".'],
    [['accounts', 'frob'], 'Unknown command "frob".'],
    [['accounts', 'add'], 'add needs an e-mail address, not nothing.'],
    [['accounts', 'add', 'ann'], 'add needs an e-mail address, not "ann".'],
    [['accounts', 'add', 'a@b', 'boss'], 'add needs a role (read, write, admin), not "boss".'],
    [['accounts', 'add', 'a@b', 'read', 'x'], 'add needs the number of a project, not "x".'],
    [['accounts', 'role', 'a@b'], 'role needs a role (read, write, admin), not nothing.'],
    [['accounts', 'delete', 'a@b', 'c'], 'delete does not accept the argument "c".'],
  ] as const
  for (const [line, sentence] of WRONG) {
    const output = `${sentence}\n\n${USAGES[line[0]]}`
    t.strictSame(await run(data, ...line), { code: 2, output }, line.join(' '))
  }
  for (const name of ['keys', 'projects', 'accounts'] as const) {
    t.strictSame(await run(data, name), { code: 2, output: USAGES[name] })
    t.equal(commandHelp(name), USAGES[name])
  }
  for (const name of ['backup', 'restore']) t.match(commandHelp(name), `Usage: npm run ${name} --`)
  t.equal(commandHelp('constructor'), undefined)
  t.strictSame(await command(['keys', '--help']), { code: 0, output: `${KEYS_USAGE}\n` })
  t.match(await run(data, 'projects', 'quota', '2', '-5'), {
    code: 2,
    output: /^quota needs a whole number of requests, or none, not "-5"\./,
  })
  t.match(await run(data, 'backup'), {
    code: 2,
    output: /^backup needs a folder\.\n\nUsage: npm run backup/,
  })
  t.match(await run(data, 'backup', 'a', 'b'), {
    code: 2,
    output: /^backup does not accept the argument "b"\.\n\nUsage: npm run backup/,
  })
  t.match(await run(data, 'restore', 'a', 'b'), {
    code: 2,
    output: /^restore does not accept the argument "b"\.\n\nUsage: npm run restore/,
  })
  t.match(await run(data, 'keyz'), { code: 2, output: /unknown command "keyz"/ })
  const under = import.meta.filename
  t.match(await run(under, 'keys', 'list'), {
    code: 1,
    output: `${under}/control.sock: a part of its path is not a folder.`,
  })
  const unusable = /: the data folder cannot be (?:made|read and written): /
  writeFileSync(join(data, 'file'), '')
  mkdirSync(join(data, 'odd', 'lock'), { recursive: true })
  for (const path of ['file', 'file/below', 'odd']) {
    t.throws(() => openStore(join(data, path), { partitions: 1 }), { message: unusable }, path)
  }
  // A folder where Node's mkdir with `recursive` never returns.
  t.match(await command(['--data', '/proc/ringfence']), { code: 1, output: unusable })
  t.match(await main(['--config', join(data, 'none.json')]), {
    code: 2,
    output: /none\.json: cannot be read: there is no such file or folder/,
  })
  t.match(await run(data, 'restore', join(data, 'none')), { code: 1, output: /there is no such folder/ })
  const none = /There is no .*registry\.sqlite: start the server once/
  t.match(await run(data, 'keys', 'list'), { code: 1, output: none })
  t.match(await command(['keys', 'list', '--data', data]), { code: 1, output: none })
  t.match(await run(join(data, 'none'), 'keys', 'list'), { code: 1, output: none })
})

t.test('a folder whose first start never listened has no project, and the command says so', async (t) => {
  const data = folder(t)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  t.match(await command(['--data', data, '--port', String(port)]), {
    code: 1,
    output: /Cannot listen on .*--port \(RINGFENCE_PORT\)/,
  })
  taken.close()
  for (const name of ['keys', 'projects']) {
    t.match(await run(data, name, 'list'), { code: 0, output: /^There is no project yet/ })
  }
})

t.test('the socket', async (t) => {
  const home = folder(t)
  await t.test('is only for its owner, and is replaced if a killed server left it', async (t) => {
    const data = join(home, 'data')
    const server = await startServer(t, { data })
    const path = join(data, 'control.sock')
    t.equal(statSync(path).mode & 0o777, 0o600)
    await t.test('survives clients that send nonsense or incomplete requests', async (t) => {
      const say = async (text: string): Promise<string> => {
        const socket = connect({ path: join(data, 'control.sock'), allowHalfOpen: true })
        socket.write(text)
        let said = ''
        socket.setEncoding('utf8').on('data', (part: string) => (said += part))
        if (!text.includes('\n')) socket.end()
        await once(socket, 'end')
        socket.end()
        return said
      }
      t.equal(await say('no JSON\n'), '{"refused":"The command must be a JSON object on one line."}\n')
      const unknown = 'The server does not know this command. Is it another version?'
      for (const text of [
        '{"neither":1}',
        'null',
        '5',
        '"run"',
        '[]',
        '{"run":"x"}',
        '{"run":[1]}',
        '{"hold":1}',
      ])
        t.equal(await say(`${text}\n`), `{"refused":"${unknown}"}\n`, text)
      t.match(await say('{"run":["frob"]}\n'), /^{"print":"Usage/)
      t.equal(await say('{"run":'), '')
      t.equal((await server.api('GET', '/v1/geofences')).status, 200)
    })
    await server.kill9()
    t.ok(existsSync(path))
    t.equal(await connectControl(data), undefined, 'nobody answers')
    t.match(await run(data, 'keys', 'list'), { code: 0 })
    await server.restart()
    t.match(await run(data, 'keys', 'list'), { code: 0 })
    await server.stop()
    t.notOk(existsSync(path))
  })

  await t.test('is in another place if the path of the folder is too long, for both sides', async (t) => {
    const data = join(home, 'x'.repeat(90), 'data')
    const server = await startServer(t, { data })
    const address = controlAddress(data)
    t.ok(Buffer.byteLength(address) <= 100 && !address.startsWith(realpathSync(data)))
    t.match(await run(data, 'keys', 'rotate', 'testSecret'), { code: 0 })
    t.equal(await status(server, KEYS.testSecret), 401)
    await server.stop()
    const socketFolder = join(address, '..')
    chmodSync(socketFolder, 0o777)
    t.throws(() => controlAddress(data), { name: 'SocketFolderUnsafe' })
    rmSync(socketFolder, { recursive: true })
  })

  await t.test('does not prevent a start if it cannot be made', async (t) => {
    const data = join(home, 'blocked')
    mkdirSync(join(data, 'control.sock'), { recursive: true })
    writeFileSync(join(data, 'control.sock', 'file'), '')
    const server = await startServer(t, { data })
    t.match(server.output, /no operator socket: operator commands only work while the server is stopped/)
    t.match(await run(data, 'keys', 'list'), { code: 1, output: /in use by another process/ })
  })
})
