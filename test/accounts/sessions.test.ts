/** Signing in and out, and what a cookie is worth. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { openRegistry } from '../../src/registry/registry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { PASSWORD, servePeople, START } from './kit.ts'

const HOUR_MS = 3_600_000

t.test('signing in with a secret key works before there is any account', async (t) => {
  const { keys, browser } = await servePeople(t)
  const ann = browser()
  t.match((await ann.call('GET', '/v1/sign-in')).body, { password: false, key: true })
  const opened = await ann.call('POST', '/v1/sessions', { key: keys.testSecret })
  t.match(opened, {
    status: 200,
    body: {
      key: keys.testSecret.slice(-4),
      role: 'admin',
      environments: ['test'],
      session: { ip: '127.0.0.1', userAgent: 'Test', createdAt: '2026-11-20T00:00:00.000Z', current: true },
    },
  })
  const cookie = opened.headers.get('set-cookie')!
  t.match(
    cookie,
    /^ringfence_session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    'without Secure, because the connection is not encrypted',
  )
  t.match(await ann.call('GET', '/v1/settings'), { status: 200 })
  t.match((await ann.call('GET', '/v1/sessions/current')).body, { role: 'admin', environments: ['test'] })
  t.match(await ann.call('PATCH', '/v1/settings', { dwellEvents: true }), { status: 200 }, 'it is an admin')
  t.match(await ann.call('GET', '/v1/keys'), { status: 200 }, 'of keys it may read the list')
  t.match(await ann.call('POST', '/v1/keys/secret/rotate', {}), { status: 403 })
  t.match(await ann.call('GET', '/v1/accounts'), { status: 403, body: { meta: { message: /with a key/ } } })
  ann.environment = 'live'
  t.match(await ann.call('GET', '/v1/settings'), { status: 403 }, 'a test key has no live environment')
  ann.environment = 'test'
  t.match(await ann.call('DELETE', '/v1/sessions/current'), { status: 200 })
  t.equal(ann.cookie, 'ringfence_session=')
  t.match(await ann.call('GET', '/v1/settings'), { status: 401 })
  ann.cookie = cookie.slice(0, cookie.indexOf(';'))
  t.match(
    await ann.call('GET', '/v1/settings'),
    { status: 401 },
    'the session has ended, not only the cookie',
  )
})

t.test('a session of a key ends with the key', async (t) => {
  const { keys, browser, registry, clock } = await servePeople(t)
  const ann = browser()
  await ann.call('POST', '/v1/sessions', { key: keys.liveSecret })
  ann.environment = 'live'
  t.match(await ann.call('GET', '/v1/settings'), { status: 200 })
  registry.keys.rotate(1, 'liveSecret', clock.now() + 60_000)
  t.match(await ann.call('GET', '/v1/settings'), { status: 200 }, 'an old key that is still valid')
  clock.advance(60_000)
  t.match(await ann.call('GET', '/v1/settings'), { status: 401 })
})

t.test('unknown and replaced keys do not sign in, with one answer', async (t) => {
  const { keys, browser, registry } = await servePeople(t)
  registry.keys.rotate(1, 'testSecret')
  const answers = []
  for (const key of [keys.testSecret, 'prj_test_sk_unknown', 'prj_test_sk_', ''])
    answers.push(await browser().call('POST', '/v1/sessions', { key }))
  for (const { status, body, headers } of answers) {
    t.equal(status, 401)
    t.strictSame(body, answers[0]!.body)
    t.equal(headers.get('set-cookie'), null)
  }
})

t.test('signing in with a key can be turned off', async (t) => {
  const { keys, browser } = await servePeople(t, { byKey: false })
  t.match(await browser().call('POST', '/v1/sessions', { key: keys.testSecret }), { status: 403 })
  t.match((await browser().call('GET', '/v1/sign-in')).body, { key: false })
})

t.test('signing in with e-mail and password', async (t) => {
  const { browser, person } = await servePeople(t)
  const { account } = await person('ann@example.com', 'write')
  const ann = browser()
  const { status, body } = await ann.call('POST', '/v1/sessions', {
    email: ' Ann@Example.com ',
    password: PASSWORD,
  })
  t.match(
    [status, body],
    [
      200,
      {
        account: { _id: account.id, email: 'ann@example.com', role: 'write', disabled: false },
        role: 'write',
        environments: ['test', 'live'],
      },
    ],
  )
  t.equal(body.account.lastSignInAt, '2026-11-20T00:00:00.000Z')
  t.equal(JSON.stringify(body).includes('hash'), false)
  for (const environment of ['test', 'live']) {
    ann.environment = environment
    t.match((await ann.call('POST', '/v1/written')).body, { scope: environment === 'live' ? 3 : 2 })
  }
  t.match((await ann.call('GET', '/v1/sign-in')).body, { password: true })
})

t.test('composed and decomposed characters are the same password', async (t) => {
  const { browser, registry } = await servePeople(t)
  const { token } = registry.people.accounts.create(1, 'a@b', 'a', 'read')
  const password = 'Ångström Ångström'
  await browser().call('POST', `/v1/invitations/${token}`, { password: password.normalize('NFD') })
  const opened = await browser().call('POST', '/v1/sessions', {
    email: 'a@b',
    password: password.normalize('NFC'),
  })
  t.equal(opened.status, 200)
})

t.test('what is wrong with a sign-in is told only where it tells nothing', async (t) => {
  const { browser, person, keys } = await servePeople(t)
  await person('ann@example.com', 'write')
  const call = async (body: object) => {
    const answer = await browser().call('POST', '/v1/sessions', body)
    return [answer.status, answer.body.meta.param ?? answer.body.meta.message]
  }
  const [, wrong] = await call({ email: 'ann@example.com', password: 'x' })
  t.strictSame(await call({ email: 'bob@example.com', password: 'x' }), [401, wrong])
  t.strictSame(await call({ email: 'ann@example.com', password: PASSWORD.toUpperCase() }), [401, wrong])
  t.equal(wrong, 'The e-mail address or the password is wrong.')
  t.strictSame(await call({ key: 'prj_test_sk_unknown' }), [401, 'The key is wrong.'])
  for (const key of [keys.testPublishable, 'prj_live_pk_unknown'])
    t.strictSame(await call({ key }), [401, 'This is a publishable key. Sign in with a secret key.'])
  t.strictSame(await call({ email: 'ann', password: 'x' }), [400, 'email'])
  t.strictSame(await call({ email: 'ann@example.com', password: 'x', key: keys.testSecret }), [400, 'key'])
})

t.test('the cookie counts only beside the environment header, and on writes an own Origin', async (t) => {
  const { person, url, keys } = await servePeople(t)
  const { browser } = await person('ann@example.com', 'admin')
  const status = async (method: string, headers: Record<string, string | undefined>) =>
    (await browser.call(method, method === 'GET' ? '/v1/settings' : '/v1/written', undefined, headers)).status
  t.equal(await status('GET', {}), 200)
  t.equal(await status('GET', { 'x-ringfence-environment': undefined }), 401)
  t.match(
    await browser.call('GET', '/v1/settings', undefined, { 'x-ringfence-environment': undefined }),
    { body: { meta: { message: /beside the header X-Ringfence-Environment/ } } },
    'whoever forgets the header is told',
  )
  t.equal(await status('GET', { 'x-ringfence-environment': 'staging' }), 400)
  t.equal(await status('POST', {}), 200)
  t.equal(await status('POST', { 'x-ringfence-environment': undefined }), 401)
  t.equal(await status('POST', { origin: undefined }), 403)
  t.equal(await status('POST', { origin: 'null' }), 403)
  t.equal(await status('POST', { origin: 'https://evil.example' }), 403)
  t.equal(await status('POST', { origin: `${url}.evil.example` }), 403)
  t.equal(await status('POST', { origin: `${url}/` }), 403)
  t.equal(await status('POST', { cookie: 'ringfence_session=x' }), 401)
  t.equal(await status('POST', { cookie: undefined }), 401)
  const both = { authorization: keys.testPublishable }
  t.equal(await status('GET', both), 403, 'beside Authorization the cookie is not read')
  const other = { cookie: `theme=dark; x${browser.cookie}; ${browser.cookie}; b=c` }
  t.equal(await status('GET', other), 200, 'among other cookies')
})

t.test('a page of another origin can neither sign in nor be let through by a preflight', async (t) => {
  const { url, keys, browser } = await servePeople(t)
  const foreign = { origin: 'https://evil.example' }
  t.match(await browser().call('POST', '/v1/sessions', { key: keys.testSecret }, foreign), { status: 403 })
  t.match(await browser().call('POST', '/v1/invitations/x', { password: PASSWORD }, foreign), { status: 403 })
  const preflight = await fetch(`${url}/v1/settings`, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://evil.example',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'x-ringfence-environment',
    },
  })
  t.notMatch(preflight.headers.get('access-control-allow-headers'), /environment/i)
  t.equal(preflight.headers.get('access-control-allow-credentials'), null)
})

t.test('over HTTPS the cookie is __Host- and Secure', async (t) => {
  const SECURE = /^__Host-ringfence_session=[\w-]+; .*; Secure$/
  await t.test('where publicUrl says so', async (t) => {
    const { browser, keys } = await servePeople(t, { publicUrl: 'https://fleet.example.com' })
    const ann = browser()
    const own = { origin: 'https://fleet.example.com' }
    const opened = await ann.call('POST', '/v1/sessions', { key: keys.testSecret }, own)
    t.match(opened.headers.get('set-cookie'), SECURE)
    t.match(await ann.call('POST', '/v1/written', undefined, own), { status: 200 })
    t.match(await ann.call('POST', '/v1/written'), { status: 403 }, 'the Host header does not count')
    const plain = { cookie: ann.cookie.replace('__Host-', '') }
    t.match(await ann.call('GET', '/v1/settings', undefined, plain), { status: 401 })
  })
  await t.test('where a trusted proxy says so', async (t) => {
    const { browser, keys, url } = await servePeople(t, { trustedProxies: ['127.0.0.1'] })
    const ann = browser()
    const own = { 'x-forwarded-proto': 'https', origin: url.replace('http:', 'https:') }
    const opened = await ann.call('POST', '/v1/sessions', { key: keys.testSecret }, own)
    t.match(opened.headers.get('set-cookie'), SECURE)
    t.match(await ann.call('POST', '/v1/written', undefined, own), { status: 200 })
    t.match(await ann.call('POST', '/v1/written', undefined, { ...own, origin: url }), { status: 403 })
  })
  await t.test('anybody else may say what he likes', async (t) => {
    const { browser, keys, url } = await servePeople(t)
    const said = { 'x-forwarded-proto': 'https', origin: url.replace('http:', 'https:') }
    const opened = await browser().call('POST', '/v1/sessions', { key: keys.testSecret }, said)
    t.match(opened.headers.get('set-cookie'), /^ringfence_session=/)
  })
})

t.test('a session ends after 12 hours without use, and after 7 days in any case', async (t) => {
  const { person, clock, registry } = await servePeople(t)
  const { browser } = await person('ann@example.com', 'admin')
  const status = async () => (await browser.call('GET', '/v1/settings')).status
  for (let hours = 0; hours < 7 * 24 - 11; hours += 11) {
    t.equal(await status(), 200, `after ${hours} hours`)
    clock.advance(11 * HOUR_MS)
  }
  t.equal(await status(), 200)
  clock.time = START + 7 * 24 * HOUR_MS - 1
  t.equal(await status(), 200)
  clock.advance(1)
  t.equal(await status(), 401)
  const again = await person('bob@example.com', 'admin')
  clock.advance(12 * HOUR_MS - 1)
  t.equal((await again.browser.call('GET', '/v1/settings')).status, 200)
  clock.advance(12 * HOUR_MS)
  t.equal((await again.browser.call('GET', '/v1/settings')).status, 401)
  registry.people.sweep()
  t.strictSame(
    registry.people.sessions.list(() => true),
    [],
  )
})

t.test('the last use is written at most every five minutes', async (t) => {
  const { person, clock, registry } = await servePeople(t)
  const { browser } = await person('ann@example.com', 'admin')
  const before = registry.revision
  for (let i = 0; i < 20; i++) {
    clock.advance(30_000)
    await browser.call('GET', '/v1/settings')
  }
  t.equal(registry.revision, before + 2, 'in ten minutes')
})

t.test('sessions, and only hashes of their tokens, survive a restart', async (t) => {
  const folder = t.testdir({})
  let cookie = ''
  await t.test('before', async (t) => {
    const { person, url } = await servePeople(t, { folder })
    const { browser } = await person('ann@example.com', 'admin')
    cookie = browser.cookie
    t.ok(url)
  })
  const token = cookie.slice(cookie.indexOf('=') + 1)
  const stored = readFileSync(`${folder}/registry.sqlite`, 'latin1')
  t.notOk(stored.includes(token))
  t.notOk(stored.includes(PASSWORD))
  const registry = openRegistry({ folder, clock: new ManualClock(START), createIndex: createGeofenceIndex })
  t.match(registry.people.sessions.find(token, true), {
    scope: 3,
    session: { role: 'admin', account: { email: 'ann@example.com' } },
  })
  registry.close()
})

t.test('one’s own sessions are listed and ended; admins see those of the project', async (t) => {
  const { person, browser, registry, keys } = await servePeople(t)
  const ann = await person('ann@example.com', 'admin')
  const bob = await person('bob@example.com', 'read')
  const bobAgain = browser()
  await bobAgain.call('POST', '/v1/sessions', { email: 'bob@example.com', password: PASSWORD })
  const program = browser()
  await program.call('POST', '/v1/sessions', { key: keys.testSecret })
  const other = registry.keys.createProject('other')
  await person('eve@example.com', 'admin', other.project.id)
  const list = async (who: typeof program) => (await who.call('GET', '/v1/sessions')).body.sessions
  t.equal((await list(ann.browser)).length, 4)
  t.equal((await list(program)).length, 1)
  const own = await list(bob.browser)
  t.match(
    own.map((one: { account: object; current: boolean }) => [one.account, one.current]),
    [
      [{ email: 'bob@example.com' }, Boolean],
      [{ email: 'bob@example.com' }, Boolean],
    ],
  )
  t.equal(own.filter((one: { current: boolean }) => one.current).length, 1)
  const annsId = (await list(ann.browser)).find((one: { current: boolean }) => one.current)._id
  t.match(await bob.browser.call('DELETE', `/v1/sessions/${annsId}`), { status: 404 })
  const second = own.find((one: { current: boolean }) => !one.current)._id
  t.match(await bob.browser.call('DELETE', `/v1/sessions/${second}`), { status: 200 })
  t.match(await bobAgain.call('GET', '/v1/settings'), { status: 401 })
  t.match(
    await ann.browser.call(
      'DELETE',
      `/v1/sessions/${own.find((one: { current: boolean }) => one.current)._id}`,
    ),
    {
      status: 200,
    },
  )
  t.match(await bob.browser.call('GET', '/v1/settings'), { status: 401 })
})

t.test('an account has at most 100 sessions; the one that was used least recently ends', async (t) => {
  const { person, clock, registry } = await servePeople(t)
  const { account, browser } = await person('ann@example.com', 'admin')
  const { people } = registry
  for (let i = 0; i < 105; i++) {
    clock.advance(1000)
    if (i === 50) await browser.call('GET', '/v1/settings')
    people.edits.commit(
      people.sessions.opening(1, { account: account.id }, { ip: '', userAgent: '' }).changes,
    )
  }
  t.equal(people.sessions.list(() => true).length, 100)
  t.equal((await browser.call('GET', '/v1/settings')).status, 200)
})
