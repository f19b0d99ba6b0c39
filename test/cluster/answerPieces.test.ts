/**
 * Answers of hosts to questions that go to all of them come in pieces, so that neither process works on a long one
 * without a pause (G7).
 */
import { Packr } from 'msgpackr'
import t from 'tap'
import type { FoundUser, LivePosition } from '../../src/actor/port.ts'
import { HostPositions } from '../../src/actor/hostPositions.ts'
import { RemotePositions } from '../../src/cluster/gateway/remotePositions.ts'
import { PositionServer } from '../../src/cluster/owner/positionServer.ts'
import { lookSubject, usersSubject } from '../../src/cluster/nats/subjects.ts'
import type { Calls } from '../../src/cluster/nats/calls.ts'
import { isPiece, ReceivedPieces, sendInPieces } from '../../src/cluster/protocol/answerPieces.ts'
import { encodeJson, LOOK_FORMAT } from '../../src/cluster/protocol/positionProtocol.ts'
import {
  decodeQuestion,
  decodePlainAnswer,
  decodeWholeUsers,
  encodeQuestion,
  encodePlainAnswer,
  encodeWholeUsers,
  USERS_FORMAT,
} from '../../src/cluster/protocol/questionProtocol.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { HERE, NOON } from '../actor/kit.ts'
import { Random } from '../actor/world.ts'
import { update } from './contract.ts'
import {
  FAIR,
  fixedWorld,
  gatewayOf,
  Hosts,
  outcome,
  PARTITIONS,
  plain,
  SimulatedCalls,
  track,
} from './kit.ts'

/** No message has more than a piece, and one item more. */
const MOST_BYTES = 100_000
const USERS = 300
const NOTE = 'x'.repeat(4000)

const packr = new Packr({ useRecords: false })

function users(count: number): FoundUser[] {
  return Array.from({ length: count }, (_, i) => ({
    order: [i, 0.5],
    id: `id-${i}`,
    deviceId: `device-${i}`,
    user: [`{"n":${i},"note":"${NOTE}"}`],
    explanation: [],
  }))
}

/** A user whose texts are whole, however they were divided. */
function joined({ user, explanation, ...others }: FoundUser) {
  return { ...others, user: user.join(''), explanation: explanation.join('') }
}

async function piecesOf(items: readonly FoundUser[]): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = []
  const head = { hasMore: true, total: 7 }
  await sendInPieces({ partitions: [1, 2], head, items }, USERS_FORMAT, (piece) => {
    pieces.push(Uint8Array.from(piece))
  })
  return pieces
}

t.test('an answer is whole once all of its pieces are there, in any order', async (t) => {
  const random = new Random(5)
  for (const count of [0, 1, 300]) {
    const pieces = await piecesOf(users(count))
    for (const piece of pieces) t.ok(piece.length < MOST_BYTES && isPiece(piece))
    if (count === 300) t.ok(pieces.length > 10)
    const doubled = [...pieces, ...pieces.slice(1)].toSorted(() => random.next() - 0.5)
    const received = new ReceivedPieces(USERS_FORMAT)
    const answers = []
    for (const piece of doubled) answers.push(await received.take(piece))
    const whole = answers.filter((answer) => answer !== undefined)
    t.strictSame(whole[0], { partitions: [1, 2], head: { hasMore: true, total: 7 }, items: users(count) })
    t.equal(whole.length, 1)
  }
  const long = {
    order: [1],
    id: 'i',
    deviceId: 'd',
    user: ['\u{1f4a5}x'.repeat(200_000), 'y'],
    explanation: [NOTE.repeat(200)],
  }
  const received = new ReceivedPieces(USERS_FORMAT)
  const pieces = await piecesOf([...users(1), long, ...users(1)])
  t.ok(Math.max(...pieces.map(({ length }) => length)) < 4 * MOST_BYTES, 'a long text has several pieces')
  const answers = []
  for (const piece of pieces) answers.push(await received.take(piece))
  t.strictSame(answers.at(-1)?.items.map(joined), [...users(1), long, ...users(1)].map(joined))
  t.equal(answers.filter((answer) => answer !== undefined).length, 1)
})

t.test('an answer of which a piece is lost never comes', async (t) => {
  const [, ...rest] = await piecesOf(users(300))
  const received = new ReceivedPieces(USERS_FORMAT)
  for (const piece of rest) t.equal(await received.take(piece), undefined, 'one is lost')
})

/** Remembers the longest answer to questions with a subject. */
function watched(calls: SimulatedCalls, subject: string): { longest: number; count: number } {
  const seen = { longest: 0, count: 0 }
  const serve = calls.serve.bind(calls)
  calls.serve = (at, asked) =>
    serve(at, (question, answer) =>
      asked(question, (bytes) => {
        if (at === subject) {
          seen.longest = Math.max(seen.longest, bytes.length)
          seen.count++
        }
        answer(bytes)
      }),
    )
  return seen
}

async function cluster(subject: string) {
  const random = new Random(7)
  const calls = new SimulatedCalls(random, FAIR)
  const seen = watched(calls, subject)
  const world = fixedWorld()
  const clock = new ManualClock(NOON)
  const hosts = new Hosts(random, calls, { world, clock })
  await hosts.start()
  const gateway = gatewayOf(calls, world)
  const enter = async (i: number) => {
    outcome(await track(gateway, { ...update({ clock }, `d${i}`, HERE), metadata: { note: NOTE } }))
  }
  await Promise.all(Array.from({ length: USERS }, (_, i) => enter(i)))
  return { calls, seen, gateway, hosts }
}

t.test('a page of many users goes in small messages', async (t) => {
  const { gateway, seen } = await cluster(usersSubject)
  const answer = await gateway.ask({ scope: 0, ask: 'list', list: { limit: 1000 } })
  const devices = answer.users.map(({ user }) => (plain(user.join('')) as { deviceId: string }).deviceId)
  t.equal(new Set(devices).size, USERS)
  t.equal(devices.length, USERS)
  t.ok(seen.longest < MOST_BYTES, `${seen.longest} bytes`)
  t.ok(seen.count > 10)
})

t.test('the devices of an area go in small messages', async (t) => {
  const { calls, seen, gateway, hosts } = await cluster(lookSubject)
  const owners = new PositionServer({
    calls,
    partitions: () =>
      hosts.partitions.map((partition) => ({
        number: partition.number,
        positions: new HostPositions(hosts.hostOf(partition)),
      })),
    isLive: () => true,
    troubled: (error) => t.fail(error.message),
  })
  owners.start()
  const positions = new RemotePositions({ calls, gateway: 'g', partitions: PARTITIONS })
  const look = async (wantsRecords: boolean) => {
    const found: LivePosition[] = []
    const area = { kind: 'circle', center: [HERE.longitude, HERE.latitude], radius: 1000 } as const
    await positions.look(0, area, {
      isEnded: false,
      wantsRecords,
      found: (position) => void found.push(position),
      pause() {},
    })
    return found
  }
  for (const wantsRecords of [false, true]) {
    const found = await look(wantsRecords)
    t.equal(new Set(found.map(({ deviceId }) => deviceId)).size, USERS)
    t.equal(found.length, USERS)
    t.match(found[0], { scope: 0, ...HERE, accuracy: 5 })
    t.strictSame(found.filter(({ metadata }) => metadata?.['note'] === NOTE).length, wantsRecords ? USERS : 0)
    t.strictSame(
      found.filter(({ geofenceIds }) => geofenceIds?.length === 1).length,
      wantsRecords ? USERS : 0,
    )
  }
  t.ok(seen.longest < MOST_BYTES, `${seen.longest} bytes`)
  t.ok(seen.count > 6)
  await owners.stop()
  await gateway.drained()
})

t.test('a position keeps what is not known of it', (t) => {
  const position = { scope: 1, deviceId: 'd', recordId: 'r', userId: undefined, latitude: 1, longitude: 2 }
  for (const one of [
    { ...position, accuracy: Number.NaN, updatedAt: 3 },
    { ...position, userId: 'u', accuracy: 4, updatedAt: 3, metadata: undefined, geofenceIds: [] },
    { ...position, accuracy: 4, updatedAt: 3, metadata: { a: 1 }, geofenceIds: ['g'] },
  ]) {
    const found: LivePosition[] = []
    for (const row of LOOK_FORMAT.rowsOf(one)) LOOK_FORMAT.read(packr.unpack(packr.pack(row)), found)
    t.strictSame(found, [one])
  }
  t.end()
})

t.test('gateways and hosts of an older release', async (t) => {
  const { calls, gateway } = await cluster(usersSubject)
  const partitions = [0, 1, 2, 3]
  const question = { scope: 0, ask: 'list', list: { limit: 1000 } } as const
  const members = packr.unpack(encodeQuestion({ revision: 0, partitions, question })) as unknown[]
  t.equal(decodeQuestion(packr.pack(members)).inPieces, true)
  const old = packr.pack(members.slice(0, 3))
  t.equal(decodeQuestion(old).inPieces, false)
  const answers: ReturnType<typeof decodeWholeUsers>[] = []
  const call = calls.askAll(usersSubject, (bytes) => {
    t.notOk(isPiece(bytes))
    answers.push(decodeWholeUsers(bytes))
  })
  call.send(old)
  while (answers.length < 3) await new Promise((resolve) => setImmediate(resolve))
  call.end()
  t.equal(answers.flatMap(({ items }) => items).length, USERS)
  t.strictSame(answers.flatMap((answer) => answer.partitions).toSorted(), partitions)

  // The new gateway and hosts that send whole answers.
  const whole = { partitions, head: { hasMore: true, total: 3 }, items: users(2) }
  t.strictSame(decodeWholeUsers(encodeWholeUsers(whole)), whole)
  const trips = { trips: [], hasMore: false }
  t.strictSame(decodePlainAnswer(encodePlainAnswer(partitions, trips)), { partitions, answer: trips })
  const found = { scope: 0, deviceId: 'd', recordId: 'r', userId: 'u', ...HERE, accuracy: 5, updatedAt: 1 }
  const answer: Readonly<Record<string, Uint8Array>> = {
    [usersSubject]: encodeWholeUsers(whole),
    [lookSubject]: encodeJson({ partitions, found: [found] }),
  }
  const oldHosts: Calls = {
    ask: () => Promise.reject(new Error('not asked here')),
    askAll: (subject, answered) => ({ send: () => setImmediate(answered, answer[subject]!), end() {} }),
    serve: () => ({ async stop() {} }),
  }
  const other = gatewayOf(oldHosts, fixedWorld())
  t.strictSame(await other.ask(question), { users: users(2), hasMore: true, total: 3 })
  const shown: LivePosition[] = []
  const positions = new RemotePositions({ calls: oldHosts, gateway: 'g', partitions: PARTITIONS })
  await positions.look(
    0,
    { kind: 'circle', center: [0, 0], radius: 10 },
    {
      isEnded: false,
      found: (position) => void shown.push(position),
      pause() {},
    },
  )
  t.strictSame(shown, [found])
  await gateway.drained()
})
