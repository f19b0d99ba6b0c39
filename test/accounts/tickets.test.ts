/** Streams of people who signed in: tickets, roles, and how a stream ends. */
import { once } from 'node:events'
import t from 'tap'
import { WebSocket } from 'ws'
import { Tickets } from '../../src/accounts/tickets.ts'
import type { Credentials } from '../../src/http/credentials.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { startServer } from '../kit/server.ts'
import { Browser } from './kit.ts'
import { seedPeople, type SeededPerson } from './seeded.ts'

const data = t.testdir({})
const people = seedPeople(data)
const server = await startServer(t, { data })

function browserOf({ token }: SeededPerson): Browser {
  const browser = new Browser(server.url)
  browser.cookie = `ringfence_session=${token}`
  return browser
}

/** Opens a stream as pages do; the code of the answer if it is refused. */
async function open(protocols: string[]): Promise<WebSocket | number> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/stream`, protocols)
  return Promise.race([
    once(socket, 'open').then(() => socket),
    once(socket, 'unexpected-response').then(([request, answer]) => {
      request.destroy()
      return answer.statusCode as number
    }),
  ])
}

async function ticketOf(browser: Browser): Promise<string> {
  const { status, body } = await browser.call('POST', '/v1/sessions/current/ticket')
  if (status !== 200) throw new Error(JSON.stringify(body))
  return `ringfence.ticket.${body.ticket}`
}

/** Sends a message; resolves to the next one of the server. */
async function say(socket: WebSocket, message: object) {
  const answered = once(socket, 'message')
  socket.send(JSON.stringify(message))
  const [bytes] = await answered
  return JSON.parse(String(bytes))
}

t.test('a ticket opens one stream', async (t) => {
  const browser = browserOf(people.read)
  const ticket = await ticketOf(browser)
  const socket = (await open(['ringfence.json', ticket])) as WebSocket
  t.equal(socket.protocol, 'ringfence.json')
  t.match(await say(socket, { type: 'ping' }), { type: 'pong' })
  t.equal(await open(['ringfence.json', ticket]), 401, 'it is used up')
  t.equal(await open(['ringfence.json', 'ringfence.ticket.here.x']), 401)
  t.equal(await open(['ringfence.json', 'ringfence.ticket.elsewhere.x']), 401)
  const alone = await ticketOf(browser)
  const second = (await open([alone])) as WebSocket
  t.equal(second.protocol, alone, 'a browser needs an answer to what it offered')
  t.equal(await open(['ringfence.xml', await ticketOf(browser)]), 400)
  for (const one of [socket, second]) one.terminate()
})

t.test('a plain request does not use a ticket up', async (t) => {
  const ticket = await ticketOf(browserOf(people.read))
  const headers = { 'sec-websocket-protocol': `ringfence.json, ${ticket}` }
  t.equal((await fetch(`${server.url}/v1/stream`, { headers })).status, 426)
  const socket = (await open(['ringfence.json', ticket])) as WebSocket
  socket.terminate()
})

t.test('the cookie does not open a stream', async (t) => {
  const { cookie } = browserOf(people.admin)
  const headers = { cookie, 'x-ringfence-environment': 'test', origin: server.url }
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/stream`, { headers })
  const [request, answer] = await once(socket, 'unexpected-response')
  request.destroy()
  t.equal(answer.statusCode, 401)
})

t.test('who may only read watches and subscribes, but sends no updates', async (t) => {
  const update = { deviceId: 'van-7', latitude: 1, longitude: 2, accuracy: 3 }
  const reader = (await open(['ringfence.json', await ticketOf(browserOf(people.read))])) as WebSocket
  const area = { type: 'box', box: [0, 0, 5, 5] }
  t.match(await say(reader, { type: 'watch', id: 'w', area }), { type: 'watching' })
  t.match(await say(reader, { type: 'subscribe', id: 's' }), { type: 'subscribed' })
  t.match(await say(reader, { type: 'track', id: 1, updates: [update] }), { type: 'error', id: 1, code: 403 })
  const writer = (await open(['ringfence.json', await ticketOf(browserOf(people.write))])) as WebSocket
  t.match(await say(writer, { type: 'track', id: 1, updates: [update] }), { type: 'ack', id: 1 })
  for (const one of [reader, writer]) one.terminate()
})

t.test('a stream sees the environment of its ticket alone', async (t) => {
  const browser = browserOf(people.write)
  browser.environment = 'live'
  const live = (await open(['ringfence.json', await ticketOf(browser)])) as WebSocket
  await say(live, {
    type: 'track',
    id: 1,
    updates: [{ deviceId: 'live', latitude: 1, longitude: 2, accuracy: 3 }],
  })
  t.equal((await browser.call('GET', '/v1/users/live')).status, 200)
  browser.environment = 'test'
  t.equal((await browser.call('GET', '/v1/users/live')).status, 404)
  live.terminate()
})

t.test('a stream ends with its session, and when the role changes', async (t) => {
  const admin = browserOf(people.admin)
  const [reader, writer] = await Promise.all(
    [people.read, people.write].map(
      async (person) => (await open(['ringfence.json', await ticketOf(browserOf(person))])) as WebSocket,
    ),
  )
  const closed = Promise.all([once(reader!, 'close'), once(writer!, 'close')])
  t.match(await admin.call('PATCH', `/v1/accounts/${people.write.id}`, { role: 'read' }), { status: 200 })
  t.match(await browserOf(people.read).call('DELETE', '/v1/sessions/current'), { status: 200 })
  t.match(await closed, [[4401], [4401]])
})

t.test('with a disabled account, its tickets open nothing and its streams end', async (t) => {
  const browser = browserOf(people.write)
  const stream = (await open(['ringfence.json', await ticketOf(browser)])) as WebSocket
  const unused = await ticketOf(browser)
  const closed = once(stream, 'close')
  const admin = browserOf(people.admin)
  const disabled = await admin.call('PATCH', `/v1/accounts/${people.write.id}`, { disabled: true })
  t.equal(disabled.status, 200)
  t.equal(await open(['ringfence.json', unused]), 401)
  t.match(await closed, [4401])
})

t.test('tickets last 30 seconds, and a session has 32 at most', (t) => {
  const clock = new ManualClock()
  const tickets = new Tickets({ process: 'here', clock })
  const credentials: Credentials = {
    scope: 3,
    level: 'secret',
    keyId: 'account:a',
    session: { id: 'a', role: 'read' },
  }
  const first = tickets.issue(credentials)
  t.equal(first.expiresAt, clock.now() + 30_000)
  clock.advance(29_999)
  t.strictSame(tickets.take(first.ticket), { session: 'a', live: true })
  const second = tickets.issue(credentials)
  clock.advance(30_000)
  t.equal(tickets.take(second.ticket), undefined)
  const many = Array.from({ length: 33 }, () => tickets.issue(credentials).ticket)
  t.equal(tickets.take(many[0]!), undefined)
  t.ok(tickets.take(many[1]!))
  t.ok(tickets.take(many[32]!))
  t.equal(tickets.take('here.unknown'), undefined)
  t.equal(tickets.take('nonsense'), undefined)
  t.end()
})
