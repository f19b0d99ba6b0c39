import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { FrameWriter, readFrame, type CommittedEvent } from '../../src/actor/commitCodec.ts'
import { DeviceTable } from '../../src/actor/deviceTable.ts'
import { packProfile, unpackProfile } from '../../src/actor/profileCodec.ts'
import { RecoveryError } from '../../src/actor/recovery.ts'
import { eventId, locateUserRecord, MAX_PARTITIONS, storeSalt, userRecordId } from '../../src/events/ids.ts'
import type { Profile } from '../../src/model/device.ts'
import {
  applied,
  Engine,
  MemoryEvents,
  MemoryLog,
  MemorySnapshots,
  MINUTE,
  runs,
  SALT,
  stateOf,
  TIMEOUT,
} from './kit.ts'
import { Random, randomEdit, randomGeofence, randomPlace, randomSettings, Track } from './world.ts'

t.setTimeout(TIMEOUT)

/** Well-formed text: what is not is refused at the door. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  fc.constantFrom('a', '\u{1f69a}', 'ä"\\\n', '0', '-1', 'x'.repeat(300)),
)
const optional = (value: fc.Arbitrary<string>) => fc.option(value, { nil: undefined })
const time = fc.integer({ min: 0, max: 4_102_444_800_000 })
const visits = fc.array(fc.record({ geofenceId: text, enteredAt: time, dwelled: fc.boolean() }), {
  maxLength: 4,
})

const profile: fc.Arbitrary<Profile> = fc
  .record({
    id: text,
    deviceId: text,
    userId: optional(text),
    installId: optional(text),
    description: optional(text),
    metadata: fc.option(
      fc.dictionary(
        text.filter((key) => key !== '__proto__'),
        fc.oneof(
          text,
          fc.boolean(),
          fc.double({ noNaN: true, noDefaultInfinity: true }),
          fc.maxSafeInteger(),
        ),
        { maxKeys: 5, noNullPrototype: true },
      ),
      { nil: undefined },
    ),
    deviceType: fc.constantFrom(undefined, 'iOS', 'Android', 'Web'),
    deviceOS: optional(text),
    deviceMake: optional(text),
    deviceModel: optional(text),
    ip: text,
    createdAt: time,
    visits,
    marks: fc.array(fc.record({ stream: text, sequence: fc.maxSafeNat() }), { maxLength: 4 }),
    visitsBefore: fc.option(visits, { nil: undefined }),
  })
  .map(({ visitsBefore, marks, ...rest }) => ({ ...rest, visitsBefore: visitsBefore ?? rest.visits, marks }))

t.test('a profile reads back as it was packed', async () => {
  fc.assert(
    fc.property(profile, (given) => {
      const read = unpackProfile(packProfile(given))
      // As answers show it, so that a key's order counts, and -0 is 0.
      assert.equal(JSON.stringify(read), JSON.stringify(given))
      if (given.visitsBefore === given.visits) assert.equal(read.visitsBefore, read.visits)
    }),
    runs(200),
  )
})

t.test('frames', async (t) => {
  interface Row {
    readonly row: number
    readonly columns: readonly number[]
    readonly flags: number
    readonly scope: number
    readonly profile: Profile
  }
  const number = fc.double({ noDefaultInfinity: true })
  const row: fc.Arbitrary<Row> = fc.record({
    row: fc.integer({ min: 0, max: 600 }),
    columns: fc.tuple(number, number, number, number, number),
    flags: fc.integer({ min: 0, max: 7 }),
    scope: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
    profile,
  })
  const commit = fc.record({
    partition: fc.integer({ min: 0, max: MAX_PARTITIONS - 1 }),
    sequence: fc.maxSafeNat(),
    revision: fc.maxSafeNat(),
    rows: fc.uniqueArray(row, { maxLength: 6, selector: (r) => r.row }),
    events: fc.array(fc.record({ scope: fc.integer({ min: 0, max: 2 ** 32 - 1 }), json: text }), {
      maxLength: 4,
    }),
  })
  const fill = (table: DeviceTable, { row: at, columns, flags, scope, profile: p }: Row) => {
    table.setProfile(at, scope, p)
    ;[
      table.latitude[at],
      table.longitude[at],
      table.accuracy[at],
      table.updatedAt[at],
      table.receivedAt[at],
    ] = columns as [number, number, number, number, number]
    table.flags[at] = flags
  }
  const columnsOf = (table: DeviceTable, at: number) =>
    JSON.stringify(
      [table.latitude, table.longitude, table.accuracy, table.updatedAt, table.receivedAt].map((column) =>
        String(column[at]),
      ),
    )

  t.test('every commit, row and event comes back, in order', async () => {
    const writer = new FrameWriter()
    fc.assert(
      fc.property(fc.array(commit, { maxLength: 4 }), (commits) => {
        writer.begin(1234)
        const standing: typeof commits = []
        const tables: DeviceTable[] = []
        for (const one of commits) {
          const table = new DeviceTable()
          writer.beginCommit(one.partition, one.sequence, one.revision)
          for (const each of one.rows) {
            fill(table, each)
            writer.whole(table, each.row, packProfile(each.profile))
          }
          for (const event of one.events) writer.event(event)
          if (!writer.endCommit()) continue
          standing.push(one)
          tables.push(table)
        }
        assert.deepEqual(
          standing,
          commits.filter((one) => one.rows.length + one.events.length > 0),
          'empty commits are taken back',
        )
        const read: { table: DeviceTable; head: string; events: CommittedEvent[] }[] = []
        readFrame(Uint8Array.from(writer.take()), {
          commit(partition, sequence, revision) {
            read.push({
              table: new DeviceTable(),
              head: `${partition} ${sequence} ${revision}`,
              events: [],
            })
            return true
          },
          get table() {
            return read.at(-1)!.table
          },
          event: (event) => read.at(-1)!.events.push(event),
        })
        assert.equal(read.length, standing.length)
        standing.forEach((one, i) => {
          const found = read[i]!
          assert.equal(found.head, `${one.partition} ${one.sequence} ${one.revision}`)
          assert.equal(JSON.stringify(found.events), JSON.stringify(one.events))
          assert.equal(found.table.count, one.rows.length)
          for (const { row: at, profile: p, scope, flags } of one.rows) {
            assert.equal(columnsOf(found.table, at), columnsOf(tables[i]!, at))
            assert.equal(found.table.scope[at], scope)
            assert.equal(found.table.flags[at], flags)
            assert.equal(JSON.stringify(found.table.profile(at)), JSON.stringify(p))
          }
        })
      }),
      runs(100),
    )
  })

  const tooMuch = (bytes: Uint8Array) => () =>
    readFrame(bytes, { commit: () => true, table: new DeviceTable(), event: () => {} })

  t.test('a large event grows the buffer, and the next frame is whole', async (t) => {
    const writer = new FrameWriter()
    for (const json of ['ü'.repeat(3_000_000), '{}']) {
      writer.begin(1)
      writer.beginCommit(0, 1, 1)
      writer.event({ scope: 1, json })
      writer.endCommit()
      const found: string[] = []
      readFrame(writer.take(), {
        commit: () => true,
        table: new DeviceTable(),
        event: (event) => found.push(event.json),
      })
      t.ok(found.length === 1 && found[0] === json)
    }
  })

  t.test('a newer version and broken bytes are refused by name', async (t) => {
    const writer = new FrameWriter()
    writer.begin(1)
    writer.beginCommit(0, 1, 1)
    writer.event({ scope: 1, json: '{}' })
    writer.endCommit()
    const frame = Uint8Array.from(writer.take())
    t.doesNotThrow(tooMuch(frame))
    t.throws(tooMuch(Uint8Array.from([2, ...frame.subarray(1)])), /frame version 2 is not 1.*newer/)
    for (let end = 10; end < frame.length; end++) t.throws(tooMuch(frame.subarray(0, end)), `cut at ${end}`)
  })
})

interface History {
  readonly engine: Engine
  /** Ids of every record there ever was. */
  readonly users: ReadonlySet<string>
}

/** A history: devices that come, move, log in and out, are removed, with snapshots and restarts in between. */
async function history(seed: number, steps: number): Promise<History> {
  const random = new Random(seed)
  const engine = new Engine()
  const users = new Set<string>()
  const { world, clock } = engine
  const place = randomPlace(random)
  world.set(0, randomSettings(random))
  for (let id = 1; id <= 10; id++) world.put(randomGeofence(random, id, place, 1000, clock.now()))
  const style = { spread: 1000, jumps: 0.4, changes: 0.3 }
  const tracks = Array.from({ length: 12 }, (_, i) => new Track(random, `device-${i}`, place, style))
  for (let i = 0; i < steps; i++) {
    clock.advance(Math.round(random.magnitude(100, 5 * MINUTE)))
    if (random.chance(0.2)) randomEdit(random, engine, place, 1000)
    const geofences = [...world.geofences(0).values()]
    const sent: Promise<unknown>[] = []
    for (const track of tracks) {
      if (random.chance(0.5)) continue
      const update = track.next(engine, geofences)
      const stream = random.chance(0.3) ? { stream: random.pick(['a', 'b']), sequence: random.below(60) } : {}
      const scope = random.chance(0.1) ? 1 : 0
      sent.push(
        engine
          .track({ ...update, ...stream, scope })
          .then((told) => users.add(JSON.parse(applied(told).user)._id)),
      )
    }
    for (const partition of engine.partitions) {
      const { table } = partition
      for (let row = 0; row < table.length; row++) {
        if (table.exists(row) && random.chance(0.06))
          sent.push(engine.host.remove(partition, row, table.peek(row).id))
      }
      if (random.chance(0.05)) table.packIdle(clock.now() - random.below(MINUTE))
    }
    await Promise.all(sent)
    if (random.chance(0.1)) await engine.snapshot()
  }
  return { engine, users }
}

t.test('recovery', async (t) => {
  t.test('snapshot and log give the live tables, wherever snapshots and event index stood', async (t) => {
    let free = 0
    let reused = 0
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.double({ min: 0, max: 1, noNaN: true }), async (seed, share) => {
        const { engine: live, users } = await history(seed, 40)
        const events = new MemoryEvents()
        const behind = Math.floor(share * live.log.position)
        events.durablePosition = behind
        const recovered = live.restarted({ events })
        assert.deepEqual(stateOf(recovered.partitions), stateOf(live.partitions))

        const whole = live.restarted({ events: new MemoryEvents(), snapshots: new MemorySnapshots() })
        assert.deepEqual(stateOf(whole.partitions), stateOf(live.partitions), 'without snapshots')
        assert.deepEqual(whole.events.all, live.events.all, 'every event once')
        assert.equal(whole.recovered.frames, live.log.position)
        // What the index that was behind is handed, is what it lacks.
        const lacking = live.events.all.filter((_, i) => live.events.positions[i]! > behind)
        assert.deepEqual(events.all, lacking)

        assert.ok(recovered.recovered.revision <= live.world.revision)
        const rows = live.partitions.reduce((sum, { table }) => sum + table.length, 0)
        const records = live.partitions.reduce((sum, { table }) => sum + table.count, 0)
        free += rows - records
        reused += users.size - rows
      }),
      { ...runs(25), endOnFailure: true },
    )
    t.ok(free > 10, `${free} rows were free`)
    t.ok(reused > 10, `${reused} rows were used again`)
  })

  t.test('the highest revision that a commit was made with comes back', async (t) => {
    const { engine } = await history(7, 20)
    engine.world.set(0, { dwellEvents: true })
    const revision = engine.world.revision
    await engine.track(engine.update({ deviceId: 'last', latitude: 0, longitude: 0 }))
    engine.world.set(0, { dwellEvents: false })
    t.equal(engine.restarted().recovered.revision, revision)
    await engine.snapshot()
    t.equal(engine.restarted().recovered.revision, revision + 1, 'a snapshot knows it too')
  })

  t.test('a log trimmed to the older snapshots is enough, one trimmed further is refused', async (t) => {
    const { engine } = await history(11, 20)
    await engine.snapshot()
    for (let i = 0; i < 5; i++)
      await engine.track(engine.update({ deviceId: `x${i}`, latitude: 0, longitude: 0 }))
    await engine.snapshot()
    const older = Math.min(...engine.partitions.map(({ number }) => engine.snapshots.trimPosition(number)))
    engine.log.trim(older)
    t.same(stateOf(engine.restarted().partitions), stateOf(engine.partitions))
    await engine.track(engine.update({ deviceId: 'y', latitude: 0, longitude: 0 }))
    await engine.track(engine.update({ deviceId: 'z', latitude: 0, longitude: 0 }))
    engine.log.trim(engine.log.position)
    t.throws(() => engine.restarted(), RecoveryError)
  })

  t.test('a log that ends before a snapshot or the event index is refused', async (t) => {
    const { engine } = await history(13, 20)
    await engine.snapshot()
    const shorter = new MemoryLog()
    shorter.frames.push(...engine.log.frames.slice(0, -1))
    t.throws(() => engine.restarted({ log: shorter }), /snapshot of partition 0 .* frames are missing/)
    t.throws(
      () => engine.restarted({ log: shorter, snapshots: new MemorySnapshots() }),
      /event index .* frames are missing/,
    )
    const fewer = { partitions: 1, snapshots: new MemorySnapshots() }
    t.throws(() => engine.restarted(fewer), /there is no such partition/)
  })

  t.test('a row that was freed rests before it is used again, after recovery too', async (t) => {
    const engine = new Engine({ partitions: 1 })
    const at = { latitude: 0, longitude: 0 }
    const idOf = async (from: Engine, deviceId: string) =>
      JSON.parse(applied(await from.track(from.update({ deviceId, ...at }))).user)._id as string
    const remove = (from: Engine, id: string) =>
      from.host.remove(from.partitions[0]!, locateUserRecord(SALT, id)!.row, id)
    const ids = [await idOf(engine, 'a'), await idOf(engine, 'b')]
    t.equal(await remove(engine, ids[0]!), true)
    t.equal(await remove(engine, ids[0]!), false, 'it is gone')
    ids.push(await idOf(engine, 'c'))
    const restarted = engine.restarted()
    ids.push(await idOf(restarted, 'd'))
    t.equal(new Set(ids).size, 4)
    restarted.clock.advance(3000)
    ids.push(await idOf(restarted, 'e'))
    t.equal(new Set(ids).size, 5)
    t.equal(locateUserRecord(SALT, ids[4]!)!.row, 0, 'the freed row')
    t.equal(await remove(restarted, ids[0]!), false, 'its former id is nobody’s')
    t.same(stateOf(restarted.restarted().partitions), stateOf(restarted.partitions))
  })
})

t.test('ids', async (t) => {
  const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 })
  const salt = fc.record({ high: u32, low: u32 })
  const partition = fc.oneof(
    fc.integer({ min: 0, max: MAX_PARTITIONS - 1 }),
    fc.constantFrom(0, MAX_PARTITIONS - 1),
  )
  const place = fc.record({
    second: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    partition,
    sequence: fc.oneof(fc.integer({ min: 0, max: 2 ** 26 - 1 }), fc.constantFrom(0, 15, 16, 2 ** 26 - 1)),
    index: fc.oneof(fc.integer({ min: 0, max: 2 ** 28 - 1 }), fc.constantFrom(0, 2 ** 28 - 1)),
  })

  t.test('events: another place is another id, the same place the same', async () => {
    fc.assert(
      fc.property(salt, place, place, (s, a, b) => {
        const idOf = ({ second, partition: p, sequence, index }: typeof a) =>
          eventId(s, second * 1000 + 7, p, sequence, index)
        assert.match(idOf(a), /^[0-9a-f]{24}$/)
        assert.equal(idOf(a), idOf({ ...a }))
        assert.equal(idOf(a) === idOf(b), JSON.stringify(a) === JSON.stringify(b))
        for (const key of ['second', 'partition', 'sequence', 'index'] as const)
          if (a[key] !== b[key]) assert.notEqual(idOf(a), idOf({ ...a, [key]: b[key] }))
      }),
      runs(300),
    )
  })

  t.test('users: where an id lies follows from it', async (t) => {
    fc.assert(
      fc.property(salt, u32, partition, u32, (s, second, p, row) => {
        const id = userRecordId(s, second * 1000, p, row)
        assert.match(id, /^[0-9a-f]{24}$/)
        assert.deepEqual(locateUserRecord(s, id), { partition: p, row })
      }),
      runs(300),
    )
    for (const no of ['', 'ann', '0'.repeat(23), '0'.repeat(25), 'G'.repeat(24)])
      t.equal(locateUserRecord(SALT, no), undefined)
    t.throws(() => storeSalt('not hex'), /store id/)
    t.same(storeSalt('00000001ffffffff'), { high: 1, low: 0xffffffff })
  })

  t.test('removals and updates of one batch make ids of their own', async (t) => {
    const engine = new Engine({ partitions: 1 })
    const random = new Random(1)
    for (let id = 1; id <= 5; id++)
      engine.world.put({
        ...randomGeofence(random, id, { latitude: 10, longitude: 10 }, 100, 0),
        enabled: true,
      })
    const seen = new Set<string>()
    let count = 0
    for (let i = 0; i < 200; i++) {
      if (random.chance(0.3)) engine.clock.advance(400)
      const updates = Array.from({ length: 5 }, (_, j) =>
        engine.track(
          engine.update({
            deviceId: `${j}`,
            userId: random.pick(['a', 'b']),
            latitude: 10 + random.between(-0.001, 0.001),
            longitude: 10 + random.between(-0.001, 0.001),
          }),
        ),
      )
      const [only] = engine.partitions
      const row = random.below(only!.table.length + 1)
      if (only!.table.exists(row)) void engine.host.remove(only!, row, only!.table.peek(row).id)
      for (const told of await Promise.all(updates)) {
        for (const json of applied(told).events) {
          seen.add(JSON.parse(json)._id)
          count++
        }
      }
    }
    t.ok(count > 100, `${count} events`)
    t.equal(seen.size, count)
    t.equal(new Set(engine.events.all.map(({ id }) => id)).size, count)
  })
})
