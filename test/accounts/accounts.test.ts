/** Accounts, roles, invitations and passwords. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { Attempts } from '../../src/accounts/attempts.ts'
import { Passwords } from '../../src/accounts/password.ts'
import { checkPassword } from '../../src/accounts/passwordRules.ts'
import type { Account } from '../../src/registry/people/rows.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { CHEAP, PASSWORD, servePeople, type PeopleServer } from './kit.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The token in the link of an invitation. */
const tokenOf = (url: string) => url.slice(url.indexOf('#invitation=') + '#invitation='.length)

t.test('an admin invites somebody, who sets a password and signs in', async (t) => {
  const { person, browser, url } = await servePeople(t)
  const ann = (await person('ann@example.com', 'admin')).browser
  const wanted = { email: 'Bob@Example.com', name: 'Bob', role: 'write' }
  const { status, body } = await ann.call('POST', '/v1/accounts', wanted)
  t.match(
    [status, body],
    [
      200,
      {
        account: {
          email: 'bob@example.com',
          name: 'Bob',
          role: 'write',
          invitedUntil: '2026-11-23T00:00:00.000Z',
        },
        invitation: { expiresAt: '2026-11-23T00:00:00.000Z' },
      },
    ],
  )
  t.ok(body.invitation.url.startsWith(`${url}/welcome#invitation=`))
  const list = (await ann.call('GET', '/v1/accounts')).body.accounts
  t.match(list, [{ email: 'ann@example.com' }, { email: 'bob@example.com', invitedUntil: String }])
  t.notOk(JSON.stringify(list).includes(tokenOf(body.invitation.url)), 'it is shown once')
  const path = `/v1/invitations/${tokenOf(body.invitation.url)}`
  const bob = browser()
  t.match(await bob.call('POST', path, { password: 'too short' }), {
    status: 400,
    body: { meta: { param: 'password' } },
  })
  t.match(await bob.call('POST', path, { password: PASSWORD, name: 'Robert' }), {
    status: 200,
    body: { account: { name: 'Robert', role: 'write' }, environments: ['test', 'live'] },
  })
  t.match(await bob.call('POST', '/v1/written'), { status: 200 })
  t.match(await browser().call('POST', path, { password: PASSWORD }), { status: 404 }, 'used')
  t.match(await ann.call('POST', '/v1/accounts', wanted), { status: 409, body: { meta: { param: 'email' } } })
})

t.test('a link is good for 72 hours, until there is a newer one', async (t) => {
  const { person, browser, clock } = await servePeople(t)
  const ann = (await person('ann@example.com', 'admin')).browser
  const invite = async (path: string, body?: object) => {
    const answer = await ann.call('POST', path, body)
    return { id: answer.body.account._id as string, token: tokenOf(answer.body.invitation.url) }
  }
  const accept = async (token: string) =>
    (await browser().call('POST', `/v1/invitations/${token}`, { password: PASSWORD })).status
  const first = await invite('/v1/accounts', { email: 'bob@example.com', name: 'Bob', role: 'read' })
  const second = await invite(`/v1/accounts/${first.id}/invitation`)
  t.equal(await accept(first.token), 404)
  clock.advance(6 * HOUR_MS)
  for (let i = 0; i < 11; i++) {
    await ann.call('GET', '/v1/accounts')
    clock.advance(6 * HOUR_MS)
  }
  t.equal(await accept(second.token), 404, 'after 72 hours')
  const third = await invite(`/v1/accounts/${first.id}/invitation`)
  clock.advance(72 * HOUR_MS - 1)
  t.equal(await accept(third.token), 200)
})

t.test('a new link ends all sessions of the account; the old password stays until it is used', async (t) => {
  const { person, browser } = await servePeople(t)
  const ann = (await person('ann@example.com', 'admin')).browser
  const bob = await person('bob@example.com', 'read')
  const { body } = await ann.call('POST', `/v1/accounts/${bob.account.id}/invitation`)
  t.match(await bob.browser.call('GET', '/v1/settings'), { status: 401 })
  const again = browser()
  const signIn = (password: string) =>
    again.call('POST', '/v1/sessions', { email: 'bob@example.com', password })
  t.match(await signIn(PASSWORD), { status: 200 })
  await browser().call('POST', `/v1/invitations/${tokenOf(body.invitation.url)}`, {
    password: 'another horse battery',
  })
  t.match(await again.call('GET', '/v1/settings'), { status: 401 }, 'so do those since then')
  t.match(await signIn(PASSWORD), { status: 401 })
  t.match(await signIn('another horse battery'), { status: 200 })
})

t.test('a role counts from the next request on, and the last enabled admin stays', async (t) => {
  const { person } = await servePeople(t)
  const ann = await person('ann@example.com', 'admin')
  const bob = await person('bob@example.com', 'read')
  const patch = async (id: string, body: object) =>
    (await ann.browser.call('PATCH', `/v1/accounts/${id}`, body)).status
  t.match(await bob.browser.call('POST', '/v1/written'), {
    status: 403,
    body: { meta: { message: /role write/ } },
  })
  t.equal(await patch(bob.account.id, { role: 'write' }), 200)
  t.match(await bob.browser.call('POST', '/v1/written'), { status: 200 })
  t.match(await bob.browser.call('GET', '/v1/accounts'), { status: 403 })
  for (const change of [{ role: 'write' }, { disabled: true }])
    t.equal(await patch(ann.account.id, change), 409, JSON.stringify(change))
  t.match(await ann.browser.call('DELETE', `/v1/accounts/${ann.account.id}`), { status: 409 })
  t.equal(await patch(ann.account.id, { name: 'Ann' }), 200)
  const invited = await ann.browser.call('POST', '/v1/accounts', {
    email: 'eve@example.com',
    name: 'Eve',
    role: 'admin',
  })
  t.equal(await patch(ann.account.id, { role: 'write' }), 409, 'Eve may never come')
  t.match(await ann.browser.call('DELETE', `/v1/accounts/${invited.body.account._id}`), { status: 200 })
  t.equal(await patch(bob.account.id, { role: 'admin' }), 200)
  t.match(await bob.browser.call('PATCH', `/v1/accounts/${ann.account.id}`, { role: 'read' }), {
    status: 200,
  })
  t.match(await ann.browser.call('GET', '/v1/accounts'), { status: 403 })
  t.equal(await patch(bob.account.id, {}), 403)
  t.match(await bob.browser.call('PATCH', `/v1/accounts/${bob.account.id}`, { email: 'x@y' }), {
    status: 400,
  })
})

t.test('a disabled account has no sessions, cannot sign in, and comes back without them', async (t) => {
  const { person, browser } = await servePeople(t)
  const ann = (await person('ann@example.com', 'admin')).browser
  const bob = await person('bob@example.com', 'read')
  const set = (disabled: boolean) => ann.call('PATCH', `/v1/accounts/${bob.account.id}`, { disabled })
  const signIn = () =>
    browser().call('POST', '/v1/sessions', { email: 'bob@example.com', password: PASSWORD })
  t.match(await set(true), { status: 200, body: { account: { disabled: true } } })
  t.match(await bob.browser.call('GET', '/v1/settings'), { status: 401 })
  t.strictSame(
    (await signIn()).body,
    (await browser().call('POST', '/v1/sessions', { email: 'no@body', password: 'x' })).body,
  )
  await set(false)
  t.match(await bob.browser.call('GET', '/v1/settings'), { status: 401 })
  t.match(await signIn(), { status: 200 })
})

t.test(
  'who is disabled, or gets another password, while a password is hashed does not sign in',
  async (t) => {
    const { person, registry, signIn } = await servePeople(t)
    const { accounts, edits } = registry.people
    await person('ann@example.com', 'admin')
    const origin = { ip: '203.0.113.7', userAgent: 'Test' }
    for (const [name, change] of [
      ['disabled', (account: Account) => accounts.change(account, { disabled: true })],
      ['deleted', (account: Account) => accounts.delete(account)],
      [
        'repassworded',
        (account: Account) => {
          const password = { ...CHEAP, salt: 'AAAA', hash: 'AAAA' }
          edits.commit(accounts.settingPassword(account, { password }))
        },
      ],
    ] as const) {
      const { account } = await person(`${name}@example.com`, 'read')
      const signing = signIn.withPassword(account.email, PASSWORD, origin)
      change(account)
      await t.rejects(signing, { code: 401 }, name)
      t.strictSame(
        registry.people.sessions.list((session) => session.account === account.id),
        [],
        name,
      )
    }
  },
)

t.test('a deleted account is gone, and its address is free', async (t) => {
  const { person } = await servePeople(t)
  const ann = (await person('ann@example.com', 'admin')).browser
  const bob = await person('bob@example.com', 'read')
  t.match(await ann.call('DELETE', `/v1/accounts/${bob.account.id}`), { status: 200 })
  t.match(await bob.browser.call('GET', '/v1/settings'), { status: 401 })
  t.match(await ann.call('DELETE', `/v1/accounts/${bob.account.id}`), { status: 404 })
  await person('bob@example.com', 'write')
})

t.test('accounts belong to one project, and keys cannot manage them', async (t) => {
  const { person, registry, keys, browser } = await servePeople(t)
  const ann = (await person('ann@example.com', 'admin')).browser
  const other = registry.keys.createProject('other')
  const eve = await person('eve@example.com', 'admin', other.project.id)
  t.match((await eve.browser.call('GET', '/v1/accounts')).body.accounts, [{ email: 'eve@example.com' }])
  for (const [method, path] of [
    ['PATCH', `/v1/accounts/${eve.account.id}`],
    ['DELETE', `/v1/accounts/${eve.account.id}`],
    ['POST', `/v1/accounts/${eve.account.id}/invitation`],
  ] as const)
    t.match(await ann.call(method, path, method === 'PATCH' ? { name: 'x' } : undefined), { status: 404 })
  t.match(await eve.browser.call('POST', '/v1/written'), { body: { scope: 2 * other.project.id } })
  const taken = await ann.call('POST', '/v1/accounts', { email: 'eve@example.com', name: 'E', role: 'read' })
  t.equal(taken.status, 409, 'one address, one account')
  t.match(await browser().call('GET', '/v1/accounts', undefined, { authorization: keys.testSecret }), {
    status: 401,
  })
})

t.test('one’s own password', async (t) => {
  const { person, browser } = await servePeople(t)
  const { browser: ann } = await person('ann@example.com', 'read')
  const elsewhere = browser()
  await elsewhere.call('POST', '/v1/sessions', { email: 'ann@example.com', password: PASSWORD })
  const change = (current: string, password: string) =>
    ann.call('PUT', '/v1/account/password', { current, password })
  t.match(await change('wrong', 'another horse battery'), { status: 401 })
  t.match(await change(PASSWORD, 'short'), { status: 400, body: { meta: { param: 'password' } } })
  t.match(await change(PASSWORD, 'ann@example.com'), { status: 400, body: { meta: { param: 'password' } } })
  t.match(await elsewhere.call('GET', '/v1/settings'), { status: 200 })
  t.match(await change(PASSWORD, 'another horse battery'), { status: 200 })
  t.match(await ann.call('GET', '/v1/settings'), { status: 200 })
  t.match(await elsewhere.call('GET', '/v1/settings'), { status: 401 })
  const signIn = async (password: string) =>
    (await browser().call('POST', '/v1/sessions', { email: 'ann@example.com', password })).status
  t.equal(await signIn(PASSWORD), 401)
  t.equal(await signIn('another horse battery'), 200)
})

t.test('new passwords: 12 to 256 characters, not the commonest, not the address', async (t) => {
  const refused = (password: string) => {
    try {
      return checkPassword(password, 'somebody@example.com')
    } catch (error) {
      return (error as ApiError).param
    }
  }
  t.equal(refused('elevenchars'), 'password')
  t.equal(refused('twelve chars'), 'twelve chars')
  t.equal(refused('\u{1F512}'.repeat(11)), 'password', 'characters, not UTF-16 units')
  t.equal(refused('\u{1F512}'.repeat(12)), '\u{1F512}'.repeat(12))
  t.equal(refused('x'.repeat(256)), 'x'.repeat(256))
  t.equal(refused('x'.repeat(257)), 'password')
  t.equal(refused('ﬃ'.repeat(4)), 'ffi'.repeat(4), 'after NFKC')
  t.equal(refused('1q2w3e4r5t6y'), 'password')
  t.equal(refused('PASSWORD1234'), 'password')
  t.equal(refused('Somebody@Example.com'), 'password')
  t.equal(refused('aaaaaaaaaaaa'), 'aaaaaaaaaaaa', 'there are no other rules')
})

t.test('hashes: scrypt with its parameters, rehashed at the next sign-in if they are weaker', async (t) => {
  const weak = new Passwords({ n: 2 ** 4, r: 8, p: 1 })
  const passwords = new Passwords(CHEAP)
  const stored = await weak.hash(PASSWORD)
  t.match(stored, { n: 16, r: 8, p: 1 })
  t.equal(Buffer.from(stored.salt, 'base64').length, 16)
  t.not((await weak.hash(PASSWORD)).salt, stored.salt)
  t.equal(await passwords.verify(PASSWORD, stored), true)
  t.equal(await passwords.verify(`${PASSWORD} `, stored), false)
  t.equal(await passwords.verify(PASSWORD, undefined), false)
  const { person, registry, browser } = await servePeople(t)
  const { account } = await person('ann@example.com', 'read')
  const { accounts, edits } = registry.people
  edits.commit(accounts.settingPassword(account, { password: stored }))
  const signIn = () =>
    browser().call('POST', '/v1/sessions', { email: 'ann@example.com', password: PASSWORD })
  t.match(await signIn(), { status: 200 })
  const { password } = accounts.get(account.id)!
  t.match(password, { ...CHEAP, salt: stored.salt }, 'with its salt, so the audit sees no other password')
  t.not(password!.hash, stored.hash)
  t.match(await signIn(), { status: 200 })
})

t.test('while a password is hashed, the event loop does other work', async (t) => {
  const passwords = new Passwords({ n: 2 ** 14, r: 8, p: 1 })
  await passwords.hash('the thread has started')
  const hashed = passwords.hash(PASSWORD).then(() => true)
  let turns = 0
  while (!(await Promise.race([hashed, nextTurn(false)]))) turns++
  t.ok(turns > 10, `${turns} turns of the event loop`)
})

t.test('the standard work: N 2^17, r 8, p 1, and two at a time', async (t) => {
  const { n, r, p } = await new Passwords().hash('x')
  t.strictSame({ n, r, p }, { n: 131_072, r: 8, p: 1 })
  const busy = new Passwords(CHEAP)
  const asked = Array.from({ length: 100 }, () => busy.hash('x'))
  const settled = await Promise.allSettled(asked)
  const refused = settled.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
  t.equal(refused.length, 58, 'two are hashed, forty wait')
  t.ok(refused.every(({ reason }) => reason instanceof ApiError && reason.code === 503))
})

/** How many attempts are answered 401 before one is answered 429. */
async function failuresUntilRefused(
  { browser }: PeopleServer,
  body: (i: number) => object,
  headers: (i: number) => Record<string, string> = () => ({}),
): Promise<number> {
  for (let i = 0; ; i++) {
    const { status } = await browser().call('POST', '/v1/sessions', body(i), headers(i))
    if (status === 429) return i
    if (status !== 401) throw new Error(`${status}`)
  }
}

t.test('brute force: 5 failures of an address, 20 from an IP address, in 15 minutes', async (t) => {
  const forwarded = (t: Test) => servePeople(t, { trustedProxies: ['127.0.0.1'] })
  const from = (ip: string) => ({ 'x-forwarded-for': ip })
  await t.test('of an e-mail address, known or not', async (t) => {
    const people = await forwarded(t)
    await people.person('ann@example.com', 'read')
    for (const email of ['ann@example.com', 'nobody@example.com'])
      t.equal(
        await failuresUntilRefused(
          people,
          () => ({ email, password: 'x' }),
          (i) => from(`1.1.1.${i}`),
        ),
        5,
      )
    const right = { email: 'ann@example.com', password: PASSWORD }
    const refused = await people.browser().call('POST', '/v1/sessions', right, from('2.2.2.2'))
    t.equal(refused.status, 429, 'also with the right password')
    t.ok(Number(refused.headers.get('retry-after')) > 890)
    people.clock.advance(15 * MINUTE_MS)
    t.match(await people.browser().call('POST', '/v1/sessions', right, from('2.2.2.2')), { status: 200 })
  })
  await t.test('from an IP address, with keys and invitations too', async (t) => {
    const people = await forwarded(t)
    const attempt = (i: number) => (i % 2 === 0 ? { email: `${i}@b`, password: 'x' } : { key: 'x' })
    for (let i = 0; i < 5; i++)
      t.match(
        await people.browser().call('POST', '/v1/invitations/x', { password: PASSWORD }, from('1.1.1.1')),
        { status: 404 },
      )
    t.equal(await failuresUntilRefused(people, attempt, () => from('1.1.1.1')), 15)
    t.match(
      await people.browser().call('POST', '/v1/invitations/x', { password: PASSWORD }, from('1.1.1.1')),
      { status: 429 },
    )
    t.match(
      await people.browser().call('POST', '/v1/sessions', { key: people.keys.testSecret }, from('1.1.1.2')),
      { status: 200 },
    )
  })
  await t.test('at the same time', async (t) => {
    const people = await forwarded(t)
    await people.person('ann@example.com', 'read')
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        people
          .browser()
          .call('POST', '/v1/sessions', { email: 'ann@example.com', password: 'x' }, from(`1.1.1.${i}`)),
      ),
    )
    t.equal(answers.filter(({ status }) => status === 401).length, 5)
  })
})

t.test('attempts: networks of IPv6, success is forgiven, memory is bounded', async (t) => {
  const clock = new ManualClock()
  const attempts = new Attempts(clock)
  for (let i = 0; i < 20; i++) attempts.begin('', `2001:db8::${i}`)
  t.throws(() => attempts.begin('', '2001:db8:0:0:ffff::1'), { code: 429 })
  t.doesNotThrow(() => attempts.begin('', '2001:db8:0:1::1'))
  for (let i = 0; i < 100; i++) attempts.begin('a@b', '1.1.1.1').succeeded()
  for (let i = 0; i < 110_000; i++) attempts.begin('', `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)
  for (let i = 0; i < 5; i++) attempts.begin('a@b', '1.1.1.1')
  t.throws(() => attempts.begin('a@b', '1.1.1.1'), { code: 429 })
  clock.time -= 60 * MINUTE_MS
  t.doesNotThrow(() => attempts.begin('a@b', '1.1.1.1'), 'a clock that was set back locks nobody out')
})

t.test('an unknown address takes as long as a wrong password', async (t) => {
  const passwords = new Passwords({ n: 2 ** 13, r: 8, p: 1 })
  const stored = await passwords.hash(PASSWORD)
  const median = async (hash: typeof stored | undefined) => {
    const times: number[] = []
    for (let i = 0; i < 9; i++) {
      const begun = performance.now()
      await passwords.verify('wrong password', hash)
      times.push(performance.now() - begun)
    }
    return times.toSorted((a, b) => a - b)[4]!
  }
  const [known, unknown] = [await median(stored), await median(undefined)]
  t.ok(unknown > known / 5 && unknown < known * 5, `${known} ms, ${unknown} ms`)
})
