import assert from 'node:assert/strict'
import t from 'tap'
import { CONVERSION } from '../../src/actor/conversion.ts'
import { RecoveryError } from '../../src/actor/recovery.ts'
import type { StoredEvent } from '../../src/events/port.ts'
import type { Update } from '../../src/model/update.ts'
import { locateUserRecord } from '../../src/events/ids.ts'
import fc from '../kit/fastCheck.ts'
import {
  applied,
  Engine,
  MemoryEvents,
  MemoryLog,
  MemorySnapshots,
  MINUTE,
  removeRecord,
  runs,
  SALT,
  stateOf,
} from './kit.ts'
import { Random, randomBeacon, randomEdit, randomGeofence, randomPlace, randomSettings } from './world.ts'
import { Track } from './track.ts'

interface History {
  readonly engine: Engine
  /** Ids of all records that ever existed. */
  readonly users: ReadonlySet<string>
}

/**
 * A history of devices that appear, move, log in and out, convert and are removed, with snapshots and restarts in
 * between.
 */
async function history(seed: number, steps: number): Promise<History> {
  const random = new Random(seed)
  const engine = new Engine()
  const users = new Set<string>()
  const { world, clock } = engine
  const place = randomPlace(random)
  world.set(0, randomSettings(random))
  for (let id = 1; id <= 10; id++) world.put(randomGeofence(random, id, place, 1000, clock.now()))
  for (let id = 1; id <= 5; id++) world.putBeacon(randomBeacon(random, id, place, 1000))
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
    if (random.chance(0.5)) {
      const deviceId = `device-${random.below(14)}`
      const now = clock.now()
      sent.push(
        engine.host.execute(
          CONVERSION,
          { scope: 0, deviceId, name: 'bought', createdAt: now, receivedAt: now },
          100,
        ),
      )
    }
    for (const partition of engine.partitions) {
      const { table } = partition
      for (let row = 0; row < table.length; row++) {
        if (table.exists(row) && random.chance(0.06))
          sent.push(removeRecord(engine.host, table.peek(row).id, table.scope(row)))
      }
      if (random.chance(0.05)) table.packIdle(clock.now() - random.below(MINUTE))
    }
    await Promise.all(sent)
    if (random.chance(0.1)) await engine.snapshot()
  }
  return { engine, users }
}

/** The content of events. An absent field and an undefined one are the same. */
function said(events: readonly StoredEvent[]): unknown {
  return JSON.parse(JSON.stringify(events))
}

t.test('recovery', async (t) => {
  t.test('snapshot and log restore the live tables, wherever the event index was', async (t) => {
    let free = 0
    let reused = 0
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.double({ min: 0, max: 1, noNaN: true }), async (seed, share) => {
        const { engine: live, users } = await history(seed, 40)
        const events = new MemoryEvents()
        const behind = Math.floor(share * live.log.offset)
        events.durableLogOffset = behind
        const recovered = live.restarted({ events })
        assert.deepEqual(stateOf(recovered.partitions), stateOf(live.partitions))

        const whole = live.restarted({ events: new MemoryEvents(), snapshots: new MemorySnapshots() })
        assert.deepEqual(stateOf(whole.partitions), stateOf(live.partitions), 'without snapshots')
        assert.deepEqual(said(whole.events.all), said(live.events.all), 'every event once')
        assert.equal(whole.recovered.frames, live.log.offset)
        // The index that was behind receives exactly the events that it lacks.
        const lacking = live.events.all.filter((_, i) => live.events.offsets[i]! > behind)
        assert.deepEqual(said(events.all), said(lacking))

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
    const older = Math.min(...engine.partitions.map(({ number }) => engine.snapshots.trimOffset(number)))
    engine.log.trim(older)
    t.same(stateOf(engine.restarted().partitions), stateOf(engine.partitions))
    await engine.track(engine.update({ deviceId: 'y', latitude: 0, longitude: 0 }))
    await engine.track(engine.update({ deviceId: 'z', latitude: 0, longitude: 0 }))
    engine.log.trim(engine.log.offset)
    t.throws(() => engine.restarted(), RecoveryError)
  })

  t.test('a log that ends before a snapshot or the event index is refused', async (t) => {
    const { engine } = await history(13, 20)
    await engine.snapshot()
    const shorter = new MemoryLog()
    // Up to a frame with events: which updates come in the last one depends on how fast the machine is.
    shorter.frames.push(...engine.log.frames.slice(0, -1))
    while (shorter.offset >= engine.events.durableLogOffset) shorter.frames.pop()
    t.throws(() => engine.restarted({ log: shorter }), /snapshot of partition 0 .* frames are missing/)
    t.throws(
      () => engine.restarted({ log: shorter, snapshots: new MemorySnapshots() }),
      /event index .* frames are missing/,
    )
    const fewer = { partitions: 1, snapshots: new MemorySnapshots() }
    t.throws(() => engine.restarted(fewer), /there is no such partition/)
  })

  t.test('more devices than a table starts with', async (t) => {
    const engine = new Engine({ partitions: 1 })
    const sent = Array.from({ length: 1500 }, (_, i) =>
      engine.track(
        engine.update({ deviceId: `d${i}`, latitude: i / 100, longitude: 0, userId: `u${i % 7}` }),
      ),
    )
    await Promise.all(sent)
    await engine.snapshot()
    await engine.track(engine.update({ deviceId: 'd7', latitude: -1, longitude: 0, userId: 'u0' }))
    t.equal(engine.partitions[0]!.table.count, 1500)
    t.same(stateOf(engine.restarted().partitions), stateOf(engine.partitions))
  })

  t.test('among records with the same time, the same one continues after recovery', async (t) => {
    const engine = new Engine({ partitions: 1 })
    const sent = async (from: Engine, update: Partial<Update> & { readonly deviceId: string }) =>
      JSON.parse(applied(await from.track(from.update({ latitude: 0, longitude: 0, ...update }))).user)
        ._id as string
    const first = await sent(engine, { deviceId: 'first' })
    const updatedAt = engine.clock.now() + MINUTE
    const user = { deviceId: 'shared', userId: 'anna' }
    await sent(engine, { ...user, installId: 'a', updatedAt })
    await removeRecord(engine.host, first)
    engine.clock.advance(3000)
    // It gets the freed row, which comes before the row of the older record.
    const newest = await sent(engine, { ...user, installId: 'b', updatedAt })
    await engine.snapshot()
    t.equal(await sent(engine.restarted(), user), newest)
  })

  t.test('a freed row is not used again for a while, also after recovery', async (t) => {
    const engine = new Engine({ partitions: 1 })
    const at = { latitude: 0, longitude: 0 }
    const idOf = async (from: Engine, deviceId: string) =>
      JSON.parse(applied(await from.track(from.update({ deviceId, ...at }))).user)._id as string
    const remove = (from: Engine, id: string) => removeRecord(from.host, id)
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

t.test('removals and updates in one batch get different ids', async (t) => {
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
    if (only!.table.exists(row))
      void removeRecord(engine.host, only!.table.peek(row).id, only!.table.scope(row))
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
