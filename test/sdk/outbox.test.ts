/** The client's outbox with a simulated server, through refusals, overload and lost connections. */
import t from 'tap'
import { StreamFullError } from '../../sdk/src/errors.ts'
import { Outbox } from '../../sdk/src/stream/outbox.ts'
import type { TrackMessage } from '../../sdk/src/stream/messages.ts'
import { runs } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'

const Action = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('add' as const), count: fc.integer({ min: 1, max: 400 }) }),
  },
  { weight: 6, arbitrary: fc.constant({ do: 'send' as const }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('deliver' as const), frames: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 4, arbitrary: fc.constant({ do: 'acknowledge' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('busy' as const), for: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'rewind' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'disconnect' as const }) },
)

t.test('updates are applied once and in order, and settled with the right result', async (t) => {
  const property = fc.asyncProperty(fc.array(Action, { maxLength: 60, size: 'max' }), async (actions) => {
    const outbox = new Outbox('s')
    const server = new ServerTwin()
    const settled = new Map<number, string>()
    let added = 0
    for (const action of actions) {
      switch (action.do) {
        case 'add':
          for (let i = 0; i < action.count; i++) add(outbox, settled, added++)
          break
        case 'send':
          send(outbox, server)
          break
        case 'deliver':
          server.receive(outbox, action.frames)
          break
        case 'acknowledge':
          server.acknowledge(outbox)
          break
        case 'busy':
          server.busyFor = action.for
          break
        case 'rewind':
          if (server.mayRewind) outbox.rewind()
          server.mayRewind = false
          break
        case 'disconnect':
          outbox.disconnected()
          server.disconnected()
      }
    }
    server.busyFor = 0
    for (let rounds = 0; !outbox.isEmpty; rounds++) {
      if (rounds > 1000) throw new Error('it does not come to an end')
      send(outbox, server)
      server.receive(outbox, Infinity)
      if (server.mayRewind) outbox.rewind()
      server.mayRewind = false
      server.acknowledge(outbox)
    }
    await Promise.resolve()
    const good = Array.from({ length: added }, (_, n) => n).filter((n) => !isBad(n))
    if (server.applied.join() !== good.join()) throw new Error(`applied: ${server.applied.join()}`)
    for (let n = 0; n < added; n++) {
      const expected = isBad(n) ? 'refused' : 'durable'
      if (settled.get(n) !== expected) throw new Error(`${n} was ${settled.get(n)}, not ${expected}`)
    }
  })
  await fc.assert(property, runs(200))
  t.pass('each run')
})

t.test('frames that may be too large for the server become smaller, and grow again', async (t) => {
  const outbox = new Outbox('s')
  for (let i = 0; i < 2000; i++) outbox.add({ deviceId: 'd', latitude: 1, longitude: 2 }).catch(() => {})
  const lengths = () => {
    const frames: TrackMessage[] = []
    for (let frame = outbox.next(); frame !== undefined; frame = outbox.next()) frames.push(frame)
    return frames.map(({ updates }) => updates.length)
  }
  t.strictSame(lengths().slice(0, 3), [250, 250, 250])
  for (const expected of [125, 62, 31, 15, 7, 3, 1, 1]) {
    outbox.disconnected()
    t.equal(lengths()[0], expected)
  }
  outbox.acknowledged(8)
  t.strictSame(lengths(), [9, 9, 9, 9, 9, 9, 9, 9], 'one more for each frame that was taken')
  outbox.disconnected()
  t.equal(lengths()[0], 9, 'it took some of them: they are not too long')
  outbox.fail(new Error('the end'))
})

t.test('waiting updates are bounded', async (t) => {
  const outbox = new Outbox('s')
  const description = 'x'.repeat(200_000)
  const outcomes: Promise<unknown>[] = []
  let added = 0
  for (; outbox.hasRoom; added++)
    outcomes.push(outbox.add(update(added, description)).catch((e: unknown) => e))
  t.ok(added > 30 && added < 60, `room for 8 MiB: ${added}`)
  try {
    for (; ; added++) outcomes.push(outbox.add(update(added, description)).catch((e: unknown) => e))
  } catch (error) {
    t.ok(error instanceof StreamFullError)
    t.ok(added < 200, `at most 32 MiB: ${added}`)
  }
  t.throws(() => outbox.add(update(1, 'x'.repeat(300_000))), { name: 'RingfenceError', status: 413 })
  let frames = 0
  for (let frame = outbox.next(); frame !== undefined; frame = outbox.next()) {
    t.ok(JSON.stringify(frame).length < 300_000)
    frames++
  }
  t.equal(frames, 8, 'frames on their way')
  outbox.fail(new Error('over'))
  for (const outcome of await Promise.all(outcomes)) t.match(outcome, { message: 'over' })
  t.ok(outbox.isEmpty && outbox.hasRoom)
})

/** The rules of docs/guides/stream.md for one device: frames in order, `busy`, acknowledgements, repetitions. */
class ServerTwin {
  /** `n` of all applied updates, in order. */
  readonly applied: number[] = []
  /** How many of the next frames the server refuses as too many. */
  busyFor = 0
  mayRewind = false
  readonly wire: TrackMessage[] = []
  readonly #refused = new Set<number>()
  #mark = 0
  #nextId = 1
  #isBusy = false
  #done = 0

  /** Receives that many of the frames in flight. */
  receive(outbox: Outbox, frames: number): void {
    for (const frame of this.wire.splice(0, frames)) this.#receive(frame, outbox)
  }

  #receive(frame: TrackMessage, outbox: Outbox): void {
    if (frame.id !== this.#nextId && !this.#isBusy) throw new Error(`${frame.id} came for ${this.#nextId}`)
    if (frame.id === this.#nextId && this.busyFor > 0) {
      this.busyFor--
      this.#isBusy = true
    } else if (frame.id === this.#nextId) this.#isBusy = false
    if (this.#isBusy) {
      this.mayRewind = outbox.busy(frame.id)
      return
    }
    this.#nextId++
    this.#done = frame.id
    for (const [index, { metadata }] of frame.updates.entries()) {
      const sequence = frame.sequence + index
      const n = Number(metadata!.n)
      if (isBad(n)) {
        if (this.#refused.has(n))
          throw new Error(`${n} came again, although its sender knows that it was refused`)
        this.#refused.add(n)
        outbox.refused({ type: 'error', id: frame.id, index, code: 400, message: 'bad' })
      } else if (sequence > this.#mark) {
        this.applied.push(n)
        this.#mark = sequence
      }
    }
  }

  acknowledge(outbox: Outbox): void {
    if (this.#done > 0) outbox.acknowledged(this.#done)
  }

  disconnected(): void {
    this.wire.length = 0
    this.#nextId = 1
    this.#isBusy = false
    this.#done = 0
    this.mayRewind = false
  }
}

function add(outbox: Outbox, settled: Map<number, string>, n: number): void {
  outbox.add(update(n)).then(
    () => settled.set(n, 'durable'),
    () => settled.set(n, 'refused'),
  )
}

/** Sends all frames that may be sent now. */
function send(outbox: Outbox, server: ServerTwin): void {
  for (let frame = outbox.next(); frame !== undefined; frame = outbox.next()) server.wire.push(frame)
}

function isBad(n: number): boolean {
  return n % 7 === 3
}

function update(n: number, description = '') {
  return { deviceId: 'd', latitude: 1, longitude: 1, accuracy: 1, description, metadata: { n } }
}
