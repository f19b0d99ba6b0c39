/** How the NATS bridge connects, what it needs from NATS, and what subscribers get, as the guide says. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { connect, credsAuthenticator, nkeys } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { PublishRefused, NatsStream, NatsUnreachable } from '../../src/delivery/natsStream.ts'
import { natsConnectionOptions } from '../../src/cluster/nats/natsConnection.ts'
import { makeCertificates, withoutOpenssl } from '../kit/certificates.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer } from '../kit/nats.ts'
import { natsOperator } from '../kit/natsCredentials.ts'
import { caughtUp, event, ids, withBridge } from './natsKit.ts'
import { until } from '../kit/waiting.ts'

const skip = await skipWithout(NATS_SERVER)
const GUIDE = readFileSync(new URL('../../docs/guides/nats.md', import.meta.url), 'utf8')

const NO_FILES = { natsCredentials: '', natsTlsCa: '', natsTlsCertificate: '', natsTlsKey: '' }

function folder(t: Test, parent = tmpdir()): string {
  const path = mkdtempSync(join(parent, 'ringfence-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function message(id: string) {
  return { subject: 'events.1.test.a.b', id, data: Buffer.from(id) }
}

t.test('two writers cannot both append: the fence stops the one that is behind', { skip }, async (t) => {
  const nats = await natsServer(t)
  const address = { servers: nats.address }
  const [first, second] = [await NatsStream.open(address), await NatsStream.open(address)]
  await first.append([message('a'), message('b')])
  await t.rejects(second.append([message('c'), message('d'), message('e')]), PublishRefused)
  await t.rejects(second.append([message('f')]), PublishRefused)
  await first.append([message('g')])
  await t.rejects(
    first.append([message('h'), message('a')]),
    PublishRefused,
    'all or nothing: a is a duplicate',
  )
  t.strictSame(await ids(nats), ['a', 'b', 'g'])

  const third = await NatsStream.open(address)
  t.match(await third.lastMessage(), { id: 'g', subject: 'events.1.test.a.b' })
  const seen: string[] = []
  for await (const { id } of third.newest(2)) seen.push(id)
  t.strictSame(seen, ['g', 'b'])
  await nats.kill9()
  await until(async () => third.ended.aborted)
  t.type(third.ended.reason, NatsUnreachable)
  await Promise.all([first, second, third].map((stream) => stream.close()))
  await t.rejects(NatsStream.open(address), NatsUnreachable)
})

t.test('a credentials file, and an account that may do no more than the guide says', { skip }, async (t) => {
  const operator = natsOperator()
  const credentialsOf = (permissions: object) => {
    const file = join(folder(t), 'nats.creds')
    writeFileSync(file, operator.credentials(permissions))
    return file
  }
  const paragraph = /The account needs ([^]*?)\n\n/.exec(GUIDE)![1]!
  const [publish, subscribe] = paragraph
    .split(', and to subscribe')
    .map((part) => [...part.matchAll(/`([^`]+)`/g)].map(([, subject]) => subject!))
  t.equal(publish!.length, 5)
  const mayAll = credentialsOf({ pub: {}, sub: {} })
  const nats = await natsServer(t, {
    config: operator.config,
    client: { authenticator: credsAuthenticator(readFileSync(mayAll)) },
  })
  const credentials = credentialsOf({ pub: { allow: publish }, sub: { allow: subscribe } })
  const server = await withBridge(t, nats, { RINGFENCE_NATS_CREDENTIALS: credentials })
  const made = [await event(server), await event(server)]
  await caughtUp(server)
  t.strictSame(await ids(nats), made)
  await nats.kill9()
  await nats.start()
  made.push(await event(server))
  await caughtUp(server)
  t.strictSame(await ids(nats), made, 'and it may read where to go on')
})

t.test('an nkey, whose file may be replaced', { skip }, async (t) => {
  const [first, second] = [nkeys.createUser(), nkeys.createUser()]
  const users = [first, second].map((user) => `{ nkey: ${user.getPublicKey()} }`)
  const nats = await natsServer(t, { config: `authorization { users: [ ${users.join(', ')} ] }` })
  const file = join(folder(t), 'seed.nk')
  const seedOf = (user: typeof first) => Buffer.from(user.getSeed()).toString()
  writeFileSync(file, `${seedOf(first)}\n`)
  const options = natsConnectionOptions({
    ...NO_FILES,
    natsUrl: [`nats://${nats.address}`],
    natsCredentials: file,
  })
  const nameOf = async () => {
    const connection = await connect(options)
    const { data } = (await connection.request('$SYS.REQ.USER.INFO')).json<{ data: { user: string } }>()
    await connection.close()
    return data.user
  }
  t.equal(await nameOf(), first.getPublicKey())
  writeFileSync(file, `-----BEGIN USER NKEY SEED-----\n${seedOf(second)}\n------END USER NKEY SEED------\n`)
  t.equal(await nameOf(), second.getPublicKey())
  rmSync(file)
  t.equal(await nameOf(), second.getPublicKey(), 'what was there last, while there is none')
})

t.test('settings that cannot be used are reported without the content of the files', async (t) => {
  const path = folder(t)
  const file = (name: string, text: string) => {
    writeFileSync(join(path, name), text)
    return join(path, name)
  }
  const seed = Buffer.from(nkeys.createUser().getSeed()).toString()
  const broken = `${seed.slice(0, -4)}AAAA`
  const [tls, plain] = [{ natsUrl: ['tls://a'] }, { natsUrl: ['nats://a'] }]
  const absent = join(path, 'absent')
  for (const [settings, problem] of [
    [{ natsCredentials: absent }, /^natsCredentials: .*absent cannot be read: there is no such file/],
    [{ natsCredentials: path }, /^natsCredentials: .* cannot be read: it is a folder/],
    [{ natsCredentials: file('empty', '') }, /must hold credentials \(\.creds\) or the seed/],
    [{ natsCredentials: file('account', 'SAAB') }, /must hold credentials/],
    [{ natsCredentials: file('seed', broken) }, /must hold credentials/],
    [{ natsCredentials: file('creds', `-----BEGIN NATS USER JWT-----\n${seed}\n`) }, /must hold credentials/],
    [{ natsTlsCa: absent }, /^natsTlsCa: .* cannot be read/],
    [{ natsTlsCertificate: absent, natsTlsKey: absent }, /^natsTlsCertificate: .* cannot be read/],
    [{ natsTlsKey: absent }, /^natsTlsCertificate and natsTlsKey belong together/],
    [{ natsTlsCa: absent, ...plain }, /are for tls:\/\//],
  ] as const) {
    try {
      natsConnectionOptions({ ...NO_FILES, ...tls, ...settings })
      t.fail(`used: ${JSON.stringify(settings)}`)
    } catch (error) {
      t.match(error, { message: problem, exitCode: 2 })
      t.notMatch(inspect(error), seed.slice(4, -4))
    }
  }
  const { user, pass, servers } = natsConnectionOptions({
    ...NO_FILES,
    natsUrl: ['nats://a', 'nats://us%40r:p%3Ass@b:1'],
  })
  t.strictSame([user, pass, servers], ['us@r', 'p:ss', ['a:4222', 'b:1']])
  t.match(natsConnectionOptions({ ...NO_FILES, natsUrl: ['nats://token@a'] }), { token: 'token' })
})

t.test('TLS', { skip: skip || withoutOpenssl() }, async (t) => {
  const { ca, certificate, key } = await makeCertificates(folder(t))
  const tls = { caFile: ca, certFile: certificate, keyFile: key }
  const nats = await natsServer(t, {
    config: `tls { ca_file: "${ca}", cert_file: "${certificate}", key_file: "${key}", verify: true }`,
    client: { tls },
  })
  const localhost = nats.address.replace('127.0.0.1', 'localhost')
  const server = await withBridge(t, nats, {
    RINGFENCE_NATS_URL: `tls://${localhost}`,
    RINGFENCE_NATS_TLS_CA: ca,
    RINGFENCE_NATS_TLS_CERTIFICATE: certificate,
    RINGFENCE_NATS_TLS_KEY: key,
  })
  const made = await event(server)
  await caughtUp(server)
  t.strictSame(await ids(nats), [made])

  const plain = await natsServer(t)
  const refusal = (servers: string, options: object) =>
    NatsStream.open({ servers, tls: options }).then(
      () => 'none',
      (error: Error) => error.message,
    )
  t.match(await refusal(localhost, {}), /verify the first certificate/)
  t.match(await refusal(plain.address, tls), /server does not support 'tls'/)
  // Either the server's TLS alert arrives, or the connection ends before the alert is read. Both happen.
  for (let run = 0; run < 50; run++)
    t.match(
      await refusal(localhost, { caFile: ca }),
      /alert certificate required|may require a client certificate \(natsTlsCertificate\)/,
    )
})

t.test('the subscriber of the guide gets the events that it asks for', { skip }, async (t) => {
  const nats = await natsServer(t)
  const server = await withBridge(t, nats)
  const made = [
    await event(server, { name: 'signed.up', deviceId: 'van-7' }),
    await event(server, { name: 'other', deviceId: 'van-7' }),
    await event(server, { name: 'signed.up', deviceId: 'b c' }),
  ]
  await caughtUp(server)
  const code = /```js\n([^]*?)```/.exec(GUIDE)![1]!.replace('nats://127.0.0.1:4222', `nats://${nats.address}`)
  // A folder inside the project, so that Node finds its packages.
  const cache = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url))
  const file = join(folder(t, cache), 'subscriber.mjs')
  writeFileSync(file, code)
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await until(async () => output.split('\n').length > 2)
  child.kill('SIGKILL')
  await once(child, 'close')
  t.equal(output, `${made[0]} signed.up van-7\n${made[2]} signed.up b c\n`)
})
