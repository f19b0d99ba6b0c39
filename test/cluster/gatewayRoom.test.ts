import t from 'tap'
import { GatewayRoom } from '../../src/cluster/gateway/gatewayRoom.ts'

const KIB = 1024
const LEAST = 256 * KIB
const MOST = 8 * 1024 * KIB
const REQUEST = 16 * KIB

interface Owners {
  /** Bytes per millisecond. */
  readonly rate: number
  /** Of a request that waits for nothing. */
  readonly roundTripMs: number
}

/**
 * Streams that always have more, and owners that answer requests of 16 KB one after the other.
 * @returns what waits, and how many bytes were processed in each millisecond, in the last of so many seconds
 */
function flood(room: GatewayRoom, clock: { now: number }, { rate, roundTripMs }: Owners, seconds: number) {
  const requests: { readonly sentAt: number; readonly doneAt: number }[] = []
  let freeAt = clock.now
  let processed = 0
  for (const end = clock.now + seconds * 1000; clock.now < end; clock.now++) {
    while (requests[0] !== undefined && requests[0].doneAt <= clock.now) {
      const { sentAt, doneAt } = requests.shift()!
      room.answered(REQUEST, doneAt - sentAt)
      if (end - clock.now <= 1000) processed += REQUEST
    }
    while (room.has(requests.length * REQUEST)) {
      freeAt = Math.max(freeAt, clock.now) + REQUEST / rate
      requests.push({ sentAt: clock.now, doneAt: freeAt + roundTripMs })
    }
  }
  return { waiting: requests.length * REQUEST, perMs: processed / 1000 }
}

t.test('owners stay busy, and little more waits than they process in a moment', (t) => {
  for (const rate of [500, 5000, 50_000])
    for (const roundTripMs of [2, 20, 200]) {
      const clock = { now: 0 }
      const room = new GatewayRoom(() => clock.now)
      const name = `${rate} bytes a millisecond, ${roundTripMs} ms`
      const { waiting, perMs } = flood(room, clock, { rate, roundTripMs }, 29)
      const most = Math.max(LEAST, rate * 2.5 * Math.max(50, roundTripMs)) + 2 * REQUEST
      t.ok(waiting <= Math.min(MOST + REQUEST, most), `${name}: ${waiting} wait, at most ${most}`)
      const possible = Math.min(rate, MOST / (roundTripMs + 1))
      t.ok(perMs > 0.8 * possible, `${name}: ${perMs} of ${possible} are processed`)
    }
  t.end()
})

t.test('owners that become slower or faster', (t) => {
  const clock = { now: 0 }
  const room = new GatewayRoom(() => clock.now)
  for (const rate of [50_000, 1000, 50_000]) {
    const { waiting, perMs } = flood(room, clock, { rate, roundTripMs: 10 }, 10)
    t.ok(waiting <= Math.max(LEAST, 125 * rate) + 2 * REQUEST, `${rate} bytes a millisecond: ${waiting} wait`)
    t.ok(perMs > 0.8 * rate, `${rate} bytes a millisecond: ${perMs} are processed`)
  }
  t.end()
})

t.test('what clients send without a queue does not make the room smaller', (t) => {
  const clock = { now: 0 }
  const room = new GatewayRoom(() => clock.now)
  flood(room, clock, { rate: 20_000, roundTripMs: 5 }, 5)
  // The window in which it ended.
  room.answered(0, 5)
  clock.now += 100
  room.answered(2_000_000, 5)
  const { bytes } = room
  for (let i = 0; i < 100; i++) {
    clock.now += 50
    t.ok(room.has(1000))
    room.answered(1000, 5)
  }
  t.equal(room.bytes, bytes)
  t.end()
})
