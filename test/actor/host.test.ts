import t from 'tap'
import { BatchScheduler } from '../../src/actor/batchScheduler.ts'
import type { Submitter } from '../../src/actor/port.ts'
import { readFrame } from '../../src/actor/commitCodec.ts'
import type { Applied } from '../../src/actor/applied.ts'
import type { Update } from '../../src/model/update.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import {
  applied,
  AWAY,
  Engine,
  engineWithGeofence,
  HERE,
  kinds,
  MINUTE,
  removeRecord,
  stateOf,
  type Told,
} from './kit.ts'

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * Long enough for the host to do everything that it can without the log. Under load it gathers a batch for two
 * milliseconds.
 */
async function idle(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    await turn()
  }
}

t.test('under load a batch waits for more updates, unless many are there already', async (t) => {
  const begun: string[] = []
  class Noting extends BatchScheduler {
    override soon(batch: () => void): void {
      begun.push('soon')
      super.soon(batch)
    }
    override gathered(batch: () => void, expected: number): void {
      begun.push('gathered')
      super.gathered(batch, expected)
    }
  }
  const engine = new Engine({ scheduler: new Noting() })
  // However slow the machine is, no batch ends early.
  t.intercept(performance, 'now', { value: () => 0 })
  const nobody: Submitter = {
    rateLimited: false,
    wantsUser: false,
    wantsEvents: false,
    isBehind: false,
    applied: () => {},
    refused: () => {},
  }
  for (const count of [2, 2, 511, 512, 1]) {
    const updates = Array.from({ length: count }, (_, i) => engine.update({ deviceId: `d${i}`, ...HERE }))
    engine.host.submit(updates, 100 * count, nobody)
    await engine.host.drained()
  }
  t.same(begun, ['soon', 'gathered', 'gathered', 'soon', 'gathered'])
  t.equal(engine.counters().updates, 1028)
})

t.test('G9: a resend is applied once', async (t) => {
  t.test('and is acknowledged with the current user, without events and without a frame', async (t) => {
    const engine = engineWithGeofence()
    const first = engine.update({ deviceId: 'd', ...HERE, stream: 's', sequence: 7 })
    const sent = applied(await engine.track(first))
    t.same(kinds(sent), ['entered'])
    t.equal(sent.repeated, false)
    const second = engine.update({ deviceId: 'd', ...AWAY, stream: 's', sequence: 8 })
    t.same(kinds(applied(await engine.track(second))), ['exited'])
    const before = stateOf(engine.partitions)
    const frames = engine.log.offset
    for (const again of [first, second, { ...first, sequence: 0 }]) {
      engine.clock.advance(1000)
      const told = applied(await engine.track({ ...again, receivedAt: engine.clock.now() }))
      t.equal(told.repeated, true)
      t.same(told.events, [])
      t.same(JSON.parse(told.user).location.coordinates, [0, 1], 'the user as it is')
    }
    t.same(stateOf(engine.partitions), before)
    t.equal(engine.log.offset, frames)
    t.equal(engine.counters().repeats, 3)
    t.equal(engine.counters().updates, 2)
  })

  t.test('within one batch', async (t) => {
    const engine = engineWithGeofence()
    const update = engine.update({ deviceId: 'd', ...HERE, stream: 's', sequence: 1 })
    const [one, two] = (await Promise.all([engine.track(update), engine.track(update)])).map(applied)
    t.same(kinds(one!), ['entered'])
    t.equal(two!.repeated, true)
    t.same(two!.events, [])
  })

  t.test('sequence 0 counts, and other devices and scopes are other senders', async (t) => {
    const engine = engineWithGeofence()
    const update = engine.update({ deviceId: 'd', ...HERE, stream: 's', sequence: 0 })
    t.equal(applied(await engine.track(update)).repeated, false)
    t.equal(applied(await engine.track(update)).repeated, true)
    t.equal(applied(await engine.track({ ...update, deviceId: 'e' })).repeated, false)
    t.equal(applied(await engine.track({ ...update, scope: 1 })).repeated, false)
    t.equal(applied(await engine.track({ ...update, stream: 'r' })).repeated, false)
  })

  t.test('across login, logout and another login', async (t) => {
    const engine = engineWithGeofence()
    const logins = [undefined, 'ann', undefined, 'bob', 'ann', 'cy']
    const sent: Update[] = []
    for (const [sequence, userId] of logins.entries()) {
      engine.clock.advance(1000)
      const update = engine.update({ deviceId: 'd', ...HERE, userId, stream: 's', sequence })
      t.equal(applied(await engine.track(update)).repeated, false, `${userId} ${sequence}`)
      sent.push(update)
      const state = stateOf(engine.partitions)
      for (const again of sent) t.equal(applied(await engine.track(again)).repeated, true)
      t.same(stateOf(engine.partitions), state)
    }
  })

  t.test('after recovery, from the log and from a snapshot', async (t) => {
    let engine = engineWithGeofence()
    const update = engine.update({ deviceId: 'd', ...HERE, stream: 's', sequence: 3 })
    await engine.track(update)
    engine = engine.restarted()
    t.equal(applied(await engine.track(update)).repeated, true)
    await engine.snapshot()
    engine = engine.restarted()
    t.equal(applied(await engine.track(update)).repeated, true)
    t.equal(applied(await engine.track({ ...update, sequence: 4 })).repeated, false)
  })

  t.test('the last four streams are remembered', async (t) => {
    const engine = engineWithGeofence()
    const from = (stream: string) => engine.update({ deviceId: 'd', ...HERE, stream, sequence: 1 })
    const isRepeated = async (update: Update) => applied(await engine.track(update)).repeated
    for (const stream of 'abcd') t.equal(await isRepeated(from(stream)), false)
    for (const stream of 'abcd') t.equal(await isRepeated(from(stream)), true)
    // Being used again moves a to the end, so b is the one that e displaces.
    t.equal(await isRepeated({ ...from('a'), sequence: 2 }), false)
    t.equal(await isRepeated(from('e')), false)
    for (const stream of 'acde') t.equal(await isRepeated(from(stream)), true)
    t.equal(await isRepeated(from('b')), false)
  })
})

t.test('the limit of one update per second and device', async (t) => {
  const start = () => {
    const engine = engineWithGeofence()
    const send = (change: Partial<Update> = {}, limited = true): Promise<Told> =>
      engine.track(engine.update({ deviceId: 'd', ...HERE, ...change }), limited)
    return { engine, send }
  }

  t.test('a second one within the second is refused and changes nothing', async (t) => {
    const { engine, send } = start()
    applied(await send())
    const state = stateOf(engine.partitions)
    engine.clock.advance(500)
    const refused = await send({ ...AWAY, description: 'new' })
    t.match(refused, { code: 429, type: 'second', retryAfter: 1 })
    t.ok(refused instanceof ApiError)
    t.same(stateOf(engine.partitions), state)
    t.equal(engine.log.offset, 1)
    t.equal(engine.counters().rateLimited, 1)
    engine.clock.advance(500)
    t.same(kinds(applied(await send(AWAY))), ['exited'])
  })

  t.test('whoever is logged in; other devices and scopes have their own limits', async (t) => {
    const { send } = start()
    applied(await send())
    t.match(await send({ userId: 'ann' }), { code: 429 })
    t.match(await send({ installId: 'other' }), { code: 429 })
    applied(await send({ deviceId: 'e' }))
    applied(await send({ scope: 1 }))
  })

  t.test('a new record of the device inherits the limit', async (t) => {
    const { engine, send } = start()
    applied(await send({ userId: 'ann' }))
    engine.clock.advance(1000)
    applied(await send({ userId: 'bob' }))
    t.match(await send({ userId: 'ann' }), { code: 429 })
    t.match(await send({ userId: 'bob' }), { code: 429 })
  })

  t.test(
    'updates some hundredths of a second early or late pass; more than one a second on average does not',
    async (t) => {
      const { engine, send } = start()
      for (let i = 0; i < 200; i++) {
        applied(await send())
        engine.clock.advance(i % 2 === 0 ? 960 : 1040)
      }
      let passed = 0
      for (let i = 0; i < 1000; i++) {
        engine.clock.advance(100)
        if (!((await send()) instanceof ApiError)) passed++
      }
      t.ok(passed >= 99 && passed <= 101, `${passed} of 1000 in 100 s`)
    },
  )

  t.test('a clock that is set back does not lock out any device', async (t) => {
    const { engine, send } = start()
    applied(await send())
    engine.clock.advance(-3_600_000)
    applied(await send())
    t.match(await send(), { code: 429 }, 'the limit goes on from there')
  })

  t.test('a resend is acknowledged whenever it comes', async (t) => {
    const { send } = start()
    applied(await send({ stream: 's', sequence: 1 }))
    t.equal(applied(await send({ stream: 's', sequence: 1 })).repeated, true)
  })

  t.test('a replay is not limited, and does not use up the rate', async (t) => {
    const { engine, send } = start()
    for (let i = 0; i < 120; i++)
      applied(await send({ updatedAt: engine.clock.now() - (120 - i) * MINUTE }, false))
    applied(await send())
    t.match(await send(), { code: 429 })
    applied(await send({}, false))
    engine.clock.advance(1000)
    applied(await send())
  })
})

class Collector implements Submitter {
  readonly wantsUser = true
  readonly wantsEvents = true
  isBehind = false
  readonly rateLimited = false
  readonly results: Applied[] = []

  applied(result: Applied): void {
    this.results.push(result)
  }

  refused(error: ApiError): void {
    throw error
  }
}

t.test('the mailbox', async (t) => {
  t.test('beyond its limit a submission is refused with 503; then there is room again', async (t) => {
    const engine = engineWithGeofence({ mailboxBytes: 10_000 })
    const some = (count: number) =>
      Array.from({ length: count }, (_, i) => engine.update({ deviceId: `d${i}`, ...HERE }))
    const collector = new Collector()
    const full = { code: 503, retryAfter: 1 }
    t.throws(() => engine.host.submit(some(100), 100 * 100, collector), full)
    await engine.host.drained()
    t.equal(engine.log.offset, 0)
    t.equal(engine.counters().updates, 0)
    t.same(
      stateOf(engine.partitions).map(({ count }) => count),
      [0, 0, 0, 0],
    )

    for (let round = 1; round <= 50; round++) {
      engine.host.submit(some(10), 1000, collector)
      t.throws(() => engine.host.submit(some(10), 1000, collector), full, 'ten wait')
      await engine.host.drained()
      t.equal(collector.results.length, round * 10)
    }
    engine.host.submitOne(some(1)[0]!, 9000, collector)
    t.throws(() => engine.host.submitOne(some(1)[0]!, 9000, collector), full)
    await engine.host.drained()
    t.equal(engine.counters().updates, 501)
  })
})

t.test('a batch reads one registry revision, and edits between batches are seen by the next', async (t) => {
  const engine = engineWithGeofence()
  const { events, log, world } = engine
  const geofence = [...world.geofences(0).values()][0]!
  const firstRevision = world.revision
  const told: Promise<Told>[] = []
  for (let i = 0; i < 30; i++) {
    // Each update finds the geofence there or not, depending on when it is evaluated.
    if (world.geofences(0).size > 0) world.remove(geofence)
    else world.put(geofence)
    for (let j = 0; j < 5; j++) told.push(engine.track(engine.update({ deviceId: `${i}-${j}`, ...HERE })))
    if (i % 3 > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await Promise.all(told)
  const updates = new Map<number, number>()
  const revisions = new Map<number, Set<number>>()
  for (const { offset, payload } of log.read(1)) {
    revisions.set(offset, new Set())
    readFrame(payload, {
      commit(_partition, _sequence, revision, rows) {
        updates.set(offset, (updates.get(offset) ?? 0) + rows)
        revisions.get(offset)!.add(revision)
        return false
      },
      tableOf: () => undefined,
      wantsEvents: false,
      event() {},
    })
  }
  const entries = (offset: number) => events.offsets.filter((each) => each === offset).length
  let withEntries = 0
  for (const [offset, count] of updates) {
    const [revision, ...others] = revisions.get(offset)!
    t.strictSame(others, [], 'a frame names one revision')
    // The first edit is a removal, so the geofence exists at every other revision.
    const isThere = revision! % 2 === firstRevision % 2
    t.equal(entries(offset), isThere ? count : 0)
    if (isThere) withEntries++
  }
  t.ok(updates.size > withEntries && withEntries > 0, `${updates.size} frames, ${withEntries} with entries`)
})

t.test('no answer is sent before the frame is durable, and reads see durable state only', async (t) => {
  const engine = engineWithGeofence()
  const { host, log, events } = engine
  const told: string[] = []
  const userNow = () =>
    engine.partitions.flatMap((partition) => {
      const { table } = partition
      return Array.from({ length: table.length }, (_, row) =>
        table.exists(row) ? `${table.latitude(row)}` : 'removed',
      )
    })
  const read = (name: string) =>
    host.read(userNow).then((rows) => told.push(`${name} reads ${rows.join(' ') || 'nothing'}`))
  const send = (name: string, at: { latitude: number; longitude: number }) =>
    engine.track(engine.update({ deviceId: 'd', ...at })).then((result) => {
      told.push(`${name} ${kinds(applied(result)).join()}`)
    })

  log.holding = true
  await read('before')
  t.same(told.splice(0), ['before reads nothing'])

  void send('one', HERE)
  void read('while it waits')
  await idle()
  t.ok(log.isFlushing)
  t.same(told.splice(0), ['while it waits reads nothing'])
  void read('during the flush')
  void send('two', AWAY)
  void send('three', HERE)
  await idle()
  t.same(told, [])
  t.equal(events.all.length, 0)

  log.release()
  t.equal(events.all.length, 1, 'the index has it once it is durable')
  await idle()
  t.same(told.splice(0), ['one entered', 'during the flush reads 0'])
  t.ok(log.isFlushing, 'what came meanwhile is the next batch')
  t.equal(log.offset, 1)

  const { id } = engine.partitions.find(({ table }) => table.exists(0))!.table.peek(0)
  void removeRecord(host, id).then((done) => told.push(`removed ${done}`))
  void removeRecord(host, id).then((done) => told.push(`removed ${done}`))
  void read('before the removal')
  await idle()
  t.same(told, [])
  log.release()
  await idle()
  t.same(told.splice(0), ['two exited', 'three entered', 'before the removal reads 0'])
  log.release()
  await idle()
  t.same(told.splice(0), ['removed true', 'removed false'])
  await read('after')
  t.same(told, ['after reads removed'])

  // A process that ends with a frame in flight has not answered anyone about it.
  void send('four', HERE)
  await idle()
  t.ok(log.isFlushing)
  const recovered = engine.restarted()
  t.same(
    stateOf(recovered.partitions).map(({ count }) => count),
    [0, 0, 0, 0],
  )
  t.equal(recovered.recovered.frames, 3)
})

t.test('whoever gets the answer to an update finds its events', async (t) => {
  const engine = engineWithGeofence()
  const { host, events } = engine
  for (const place of [HERE, AWAY, HERE]) {
    const missing = await new Promise<string[]>((resolve, reject) => {
      host.submitOne(engine.update({ deviceId: 'd', ...place }), 100, {
        rateLimited: false,
        wantsUser: false,
        wantsEvents: true,
        isBehind: false,
        applied: (outcome) =>
          resolve(outcome.events.filter((json) => events.all.every((one) => one.json !== json))),
        refused: reject,
      })
    })
    t.same(missing, [])
  }
  t.equal(events.all.length, 3)
})

t.test('G7: no update is evaluated while the event index is far behind', async (t) => {
  const engine = engineWithGeofence()
  engine.events.pendingBytes = 65 * 1024 * 1024
  let told = false
  const result = engine.track(engine.update({ deviceId: 'd', ...HERE })).then((answer) => {
    told = true
    return answer
  })
  await idle()
  t.notOk(told)
  t.equal(engine.log.offset, 0)
  engine.events.pendingBytes = 0
  t.same(kinds(applied(await result)), ['entered'])
})

t.test('updates of a device are applied in the order of submission', async (t) => {
  const engine = engineWithGeofence()
  const collector = new Collector()
  for (let i = 0; i < 300; i++) {
    const at = i % 2 === 0 ? HERE : AWAY
    const updates = ['a', 'b', 'c'].map((deviceId) => engine.update({ deviceId, ...at, description: `${i}` }))
    engine.host.submit(updates, 300, collector)
    if (i % 7 === 0) await turn()
  }
  await engine.host.drained()
  for (const deviceId of ['a', 'b', 'c']) {
    const own = engine.events.all.filter((event) => event.deviceId === deviceId)
    t.equal(own.length, 300)
    t.ok(
      own.every(({ type }, i) => type === (i % 2 === 0 ? 'user.entered_geofence' : 'user.exited_geofence')),
    )
  }
  t.ok(engine.counters().frames < 300, 'many updates share a frame')
})

t.test('updates that do not fit into a frame follow in the next, in order', async (t) => {
  const engine = engineWithGeofence({ partitions: 2 })
  const collector = new Collector()
  const description = 'x'.repeat(2000)
  const updates = Array.from({ length: 4000 }, (_, i) =>
    engine.update({
      deviceId: i % 2 === 0 ? 'a' : 'b',
      ...(i % 4 < 2 ? HERE : AWAY),
      description: `${i} ${description}`,
    }),
  )
  engine.host.submit(updates, updates.length * 2000, collector)
  await engine.host.drained()
  t.equal(collector.results.length, 4000)
  t.ok(engine.counters().frames > 1, `${engine.counters().frames} frames`)
  t.ok(Math.max(...engine.log.frames.map((frame) => frame.length)) < 5 * 1024 * 1024)
  for (const deviceId of ['a', 'b']) {
    const own = engine.events.all.filter((event) => event.deviceId === deviceId).map(({ type }) => type)
    t.equal(own.length, 2000)
    t.ok(own.every((type, i) => type === (i % 2 === 0 ? 'user.entered_geofence' : 'user.exited_geofence')))
  }
  t.equal(new Set(engine.events.all.map(({ id }) => id)).size, 4000)
  t.same(stateOf(engine.restarted().partitions), stateOf(engine.partitions))
})
