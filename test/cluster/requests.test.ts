/** Requests with headers over a real NATS server. */
import { headers, type Msg } from '@nats-io/transport-node'
import t from 'tap'
import { Requests } from '../../src/cluster/nats/requests.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer } from '../kit/nats.ts'
import { until } from '../kit/waiting.ts'
import { reconnecting } from './jetStreamKit.ts'

const skip = await skipWithout(NATS_SERVER)
const LONG_MS = 20_000
const NOTHING = new Uint8Array(0)

t.test('requests with headers', { skip }, async (t) => {
  const server = await natsServer(t)
  const connection = await reconnecting(t, [server])
  const other = await reconnecting(t, [server])
  const requests = Requests.of(connection)
  t.equal(Requests.of(connection), requests, 'a connection has one')
  const heard: Msg[] = []
  other.subscribe('echo.*', { callback: (_, message) => void heard.push(message) })
  await other.flush()

  const asked = ['a', 'b', 'c'].map((name) =>
    requests.ask(
      `echo.${name}`,
      Buffer.from(`data of ${name}`),
      { 'Some-Name': name, Other: 'x y' },
      LONG_MS,
    ),
  )
  requests.send('echo.d', NOTHING, { 'Some-Name': 'd' })
  await connection.flush()
  await other.flush()
  t.strictSame(
    heard.map(({ headers: head }) => [head?.get('Some-Name'), head?.get('Other')]),
    [
      ['a', 'x y'],
      ['b', 'x y'],
      ['c', 'x y'],
      ['d', ''],
    ],
  )
  t.equal(heard[3]!.reply, '', 'a message that is only sent wants no answer')
  for (const message of heard.slice(0, 3).toReversed())
    message.respond(Buffer.concat([Buffer.from('answer to '), message.data]))
  t.strictSame(
    (await Promise.all(asked)).map((answer) => answer.string()),
    ['answer to data of a', 'answer to data of b', 'answer to data of c'],
    'each gets its own answer, in whatever order they come',
  )

  const overdue = requests.ask('echo.late', NOTHING, {}, 100)
  await t.rejects(overdue, { name: 'RequestOverdue', message: 'echo.late was not answered in 100 ms.' })
  const next = requests.ask('echo.next', NOTHING, {}, LONG_MS)
  await connection.flush()
  await other.flush()
  const [late, newest] = heard.slice(-2)
  late!.respond(Buffer.from('late'))
  const head = headers()
  head.set('Of', 'the answer')
  newest!.respond(Buffer.from('next'), { headers: head })
  const answer = await next
  t.equal(answer.string(), 'next', 'a late answer is nobody’s')
  t.equal(answer.headers?.get('Of'), 'the answer')

  const unheard = await requests.ask('nobody.listens', NOTHING, {}, LONG_MS)
  t.equal(unheard.headers?.code, 503)

  const lost = t.rejects(requests.ask('echo.lost', NOTHING, {}, LONG_MS), { name: 'ConnectionLost' })
  await connection.flush()
  await server.kill9()
  await lost
  await server.start()
  for (const one of [connection, other])
    await until(() =>
      one.rtt().then(
        () => true,
        () => false,
      ),
    )
  const last = requests.ask('echo.again', NOTHING, {}, LONG_MS)
  await connection.flush()
  await other.flush()
  heard.at(-1)!.respond(Buffer.from('again'))
  t.equal((await last).string(), 'again', 'the same inbox is heard over the next connection')
})
