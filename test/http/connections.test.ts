/** Limits of connections: in total, per address, and by the system's limit of open files. */
import t, { type Test } from 'tap'
import { Connections, connectionsOf, type ConnectionLimits } from '../../src/http/connections.ts'
import type { ConnectionRefusal } from '../../src/http/connections.ts'
import { connectionRoom, openFileLimit } from '../../src/runtime/openFiles.ts'
import fc from '../kit/fastCheck.ts'
import { eventually, RawConnection, toyServer, type Toy } from './toy.ts'

const GET = 'GET /v1/things/special HTTP/1.1\r\nHost: x\r\n\r\n'

async function isServed(connection: RawConnection): Promise<boolean> {
  connection.write(GET)
  return connection.answers(1).then(
    () => true,
    () => false,
  )
}

async function open(t: Test, toy: Toy, count: number, from?: string): Promise<RawConnection[]> {
  const all: RawConnection[] = []
  for (let i = 0; i < count; i++) all.push(await RawConnection.open(t, toy.port, from))
  return all
}

t.test('one connection too many is closed; when one has ended, another is accepted', async (t) => {
  const refusals: ConnectionRefusal[] = []
  const toy = await toyServer(t, {
    maxConnections: 3,
    refusedConnection: (refusal) => refusals.push(refusal),
  })
  const three = await open(t, toy, 3)
  for (const one of three) t.ok(await isServed(one))
  for (let i = 0; i < 5; i++) {
    const [late] = await open(t, toy, 1)
    t.notOk(await isServed(late!), 'closed without an answer')
  }
  t.equal(toy.server.connections, 3)
  t.equal(toy.server.refusedConnections, 5)
  t.strictSame(refusals, [{ address: '127.0.0.1', bound: 'all', open: 4 }], 'told once a minute')
  three[0]!.socket.destroy()
  await eventually(() => toy.server.connections === 2)
  t.ok(await isServed((await open(t, toy, 1))[0]!))
  for (const one of three.slice(1)) t.ok(await isServed(one), 'those that were there before are served on')
})

const isLinux = process.platform === 'linux'

t.test(
  'an address has its share, and others have theirs',
  { skip: isLinux ? false : 'needs /proc' },
  async (t) => {
    const refusals: ConnectionRefusal[] = []
    const toy = await toyServer(t, {
      maxConnectionsPerAddress: 4,
      trustedProxies: ['127.0.0.9'],
      refusedConnection: (refusal) => refusals.push(refusal),
    })
    // A client that reconnects is not counted twice: ten times its share, one connection after another.
    for (let i = 0; i < 40; i++) {
      const [one] = await open(t, toy, 1)
      t.ok(await isServed(one!))
      one!.socket.destroy()
      await eventually(() => toy.server.connections === 0)
    }
    const [passing] = await open(t, toy, 1, '127.0.0.2')
    const mine = await open(t, toy, 4)
    for (const one of mine) t.ok(await isServed(one))
    t.notOk(await isServed((await open(t, toy, 1))[0]!))
    t.strictSame(refusals, [{ address: '127.0.0.1', bound: 'address', open: 6 }])
    t.ok(await isServed(passing!), 'another address is served')
    for (const one of await open(t, toy, 9, '127.0.0.9'))
      t.ok(await isServed(one), 'a trusted proxy is not counted')
  },
)

t.test(
  'a client with a new connection for every request does not count as many',
  { skip: isLinux ? false : 'needs /proc' },
  async (t) => {
    const toy = await toyServer(t, { maxConnectionsPerAddress: 20 })
    const clients = async (): Promise<number> => {
      let served = 0
      const client = async () => {
        for (let i = 0; i < 30; i++) {
          const [one] = await open(t, toy, 1)
          if (await isServed(one!)) served++
          one!.socket.destroy()
        }
      }
      await Promise.all(Array.from({ length: 8 }, client))
      return served
    }
    const [held] = await open(t, toy, 1)
    t.equal(await clients(), 240, 'beside one that stays')
    const others = await open(t, toy, 20, '127.0.0.2')
    t.equal(await clients(), 240, 'beside as many of another as that may have')
    t.equal(toy.server.refusedConnections, 0)
    for (const one of [held!, ...others]) t.ok(await isServed(one))
  },
)

t.test('what the system reports', { skip: isLinux ? false : 'needs /proc' }, async (t) => {
  const toy = await toyServer(t)
  const text = (bytes: ArrayBuffer) => new Uint8Array(bytes).join('.')
  t.strictSame(connectionsOf(toy.port, text), new Map())
  const some = [...(await open(t, toy, 3)), ...(await open(t, toy, 2, '127.0.0.7'))]
  for (const one of some) await isServed(one)
  t.strictSame(
    connectionsOf(toy.port, text),
    new Map([
      ['127.0.0.1', 3],
      ['127.0.0.7', 2],
    ]),
  )
})

t.test('counting', (t) => {
  let now = 0
  let census: ReadonlyMap<string, number> | undefined = new Map()
  let counts = 0
  const limits: ConnectionLimits = {
    max: 100,
    maxPerAddress: 2,
    exempt: (peer) => peer === 'proxy',
    census: () => {
      counts++
      return census
    },
    now: () => now,
  }
  const connections = new Connections(limits)
  const come = (peer: string) => {
    const admitted = connections.connected(peer)
    if (!admitted) connections.disconnected()
    return admitted
  }
  t.strictSame([come('a'), come('a'), come('b')], [true, true, true])
  for (let i = 0; i < 50; i++) t.notOk(come('a'))
  t.equal(counts, 0, 'a flood of whom is full for certain asks for no count')
  connections.disconnected()
  census = new Map([
    ['a', 3],
    ['b', 0],
  ])
  t.notOk(come('a'), 'another has gone')
  t.equal(counts, 1)
  connections.disconnected()
  census = new Map([['a', 1]])
  t.ok(come('a'), 'who may be let in is, while it is too early to count')
  t.equal(counts, 1)
  now = 50
  census = new Map([['a', 2]])
  t.ok(come('proxy'))
  connections.disconnected()
  t.ok(come('b'))
  t.ok(come('a'))
  t.equal(counts, 2)
  for (let i = 0; i < 50; i++) t.ok(come('proxy'))
  t.equal(connections.open, 54)
  t.equal(connections.refusals, 51)

  now = 1000
  connections.disconnected()
  census = undefined
  t.ok(come('a'), 'where the system does not tell, nobody is refused')
  for (let i = 0; i < 10; i++) t.ok(come('a'))
  t.end()
})

t.test('no connection is refused wrongly, and the limit holds but for those closed since a count', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(2), fc.nat(20)), { maxLength: 300 }),
      fc.integer({ min: 0, max: 20 }),
      (steps, costMs) => {
        const MAX = 5
        const present: string[] = []
        let now = 0
        let spentMs = 0
        let gone = 0
        const of = (peer: string) => present.filter((one) => one === peer).length
        const connections = new Connections({
          max: 1000,
          maxPerAddress: MAX,
          exempt: () => false,
          census: () => {
            gone = 0
            spentMs += costMs
            now += costMs
            return new Map(['a', 'b', 'c'].map((peer) => [peer, of(peer)]))
          },
          now: () => now,
        })
        const goneAtOnce = new Map<string, number>()
        const leave = (at: number) => {
          present.splice(at, 1)
          gone++
          for (const peer of 'abc') goneAtOnce.set(peer, Math.max(goneAtOnce.get(peer) ?? 0, gone))
          connections.disconnected()
        }
        for (const [peer, kind, number] of steps) {
          now += number
          if (kind === 0 && present.length > 0) leave(number % present.length)
          else {
            present.push(peer)
            if (connections.connected(peer)) {
              if (of(peer) > MAX + (goneAtOnce.get(peer) ?? 0)) return false
            } else {
              if (of(peer) <= MAX) return false
              leave(present.length - 1)
            }
          }
        }
        return spentMs <= costMs + now / 20
      },
    ),
    { numRuns: Number(process.env.RINGFENCE_TEST_RUNS ?? 300) },
  )
  t.end()
})

t.test('open files leave room for connections', (t) => {
  t.ok(openFileLimit() > 256)
  t.equal(connectionRoom(10_000, Infinity), 10_000)
  t.equal(connectionRoom(10_000, 1024), 768)
  t.equal(connectionRoom(100, 1024), 100)
  t.equal(connectionRoom(10_000, 20), 1)
  t.end()
})
