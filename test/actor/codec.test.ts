import assert from 'node:assert/strict'
import t from 'tap'
import { FrameWriter, readFrame, type CommittedEvent } from '../../src/actor/commitCodec.ts'
import { fitsFirst, writeFirst, writeMoved, writeWhole } from '../../src/actor/deviceRows.ts'
import { FLAG_IGNORED } from '../../src/actor/deviceFlags.ts'
import { DeviceTable } from '../../src/actor/deviceTable.ts'
import { profileWithFirst } from '../../src/actor/profile.ts'
import { packProfile, unpackProfile } from '../../src/actor/profileCodec.ts'
import { MAX_PARTITIONS } from '../../src/events/ids.ts'
import type { Profile } from '../../src/model/device.ts'
import { NO_FRAUD } from '../../src/model/fraud.ts'
import { NO_PLACES, type PlaceStays } from '../../src/model/place.ts'
import { NO_SEGMENTS } from '../../src/model/segment.ts'
import { NO_REGIONS } from '../../src/model/region.ts'
import fc from '../kit/fastCheck.ts'
import { aGeofence, Engine, MemoryEvents, MemoryLog, MINUTE, NOON, runs, stateOf } from './kit.ts'

/** Well-formed text, because other text is refused before it gets here. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  fc.constantFrom('a', '\u{1f69a}', 'ä"\\\n', '0', '-1', 'x'.repeat(300)),
)
const optional = (value: fc.Arbitrary<string>) => fc.option(value, { nil: undefined })
const time = fc.integer({ min: 0, max: 4_102_444_800_000 })
const visits = fc.array(
  fc.record(
    { geofenceId: text, enteredAt: time, dwelled: fc.boolean(), leavingSince: time },
    { requiredKeys: ['geofenceId', 'enteredAt', 'dwelled'], noNullPrototype: true },
  ),
  { maxLength: 4 },
)
const approaches = fc.array(fc.record({ geofenceId: text, since: time }), { maxLength: 3 })

const regions = fc.oneof(
  fc.constant(NO_REGIONS),
  fc.record({
    codes: fc.constantFrom('US/NY/501/11201', 'UY///', 'US/AK//'),
    since: fc.tuple(time, time, time, time),
  }),
)

const chain = fc.record({ slug: text, name: text, domain: optional(text) }, { noNullPrototype: true })
const degrees = fc.double({ min: -180, max: 180, noNaN: true })
const placeStay = fc.record({
  place: fc.record({
    id: text,
    name: text,
    categories: fc.array(fc.constantFrom('food-beverage', 'cafe'), { maxLength: 3 }),
    position: fc.tuple(degrees, degrees),
    chain: fc.option(chain, { nil: undefined }),
    extentMeters: fc.nat(1000),
  }),
  enteredAt: time,
})
const places = fc.oneof(
  fc.constant(NO_PLACES),
  fc.record({
    stay: fc.option(placeStay, { nil: undefined }),
    first: fc.option(fc.record({ id: text, since: time }), { nil: undefined }),
    nearby: fc.array(chain, { maxLength: 2 }),
    visited: fc.array(fc.record({ chain, count: fc.nat(9) }), { maxLength: 3 }),
  }),
)

const segments = fc.oneof(
  fc.constant(NO_SEGMENTS),
  fc.record({
    members: fc.array(fc.nat(), { maxLength: 3 }),
    counts: fc.array(
      fc.record({
        segment: fc.nat(),
        condition: fc.nat(20),
        times: fc.array(time, { maxLength: 5 }).map((times) => times.sort((a, b) => a - b)),
      }),
      { maxLength: 3 },
    ),
  }),
)

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
    source: optional(text),
    ip: text,
    createdAt: time,
    visits,
    marks: fc.array(fc.record({ stream: text, sequence: fc.maxSafeNat() }), { maxLength: 4 }),
    visitsBefore: fc.option(visits, { nil: undefined }),
    approaches,
    approachesBefore: fc.option(approaches, { nil: undefined }),
    crossed: fc.array(text, { maxLength: 3 }),
    beacons: fc.array(fc.record({ beaconId: text, enteredAt: time }), { maxLength: 3 }),
    regions,
    regionsBefore: fc.option(regions, { nil: undefined }),
    fraud: fc.oneof(
      fc.constant(NO_FRAUD),
      fc.record({ marks: fc.nat(4095), last: fc.tuple(time, time, time, time, time, time) }),
    ),
    places,
    placesBefore: fc.option(places, { nil: undefined }),
    segments,
    // Most devices have none of these.
    plain: fc.boolean(),
  })
  .map(({ plain, visitsBefore, marks, ...given }) => {
    const none = {
      approaches: [],
      approachesBefore: undefined,
      crossed: [],
      beacons: [],
      regions: NO_REGIONS,
      regionsBefore: undefined,
      fraud: NO_FRAUD,
      places: NO_PLACES,
      placesBefore: undefined,
      segments: NO_SEGMENTS,
    }
    const {
      approaches: near,
      approachesBefore,
      crossed,
      beacons,
      regions: here,
      regionsBefore,
      fraud,
      places: visited,
      placesBefore,
      segments: grouped,
      ...rest
    } = plain ? { ...given, ...none } : given
    const before = { visitsBefore: visitsBefore ?? rest.visits, marks, approaches: near }
    const regional = { regions: here, regionsBefore: regionsBefore ?? here, fraud }
    const placed = { places: visited, placesBefore: placesBefore ?? visited }
    return {
      ...rest,
      ...before,
      approachesBefore: approachesBefore ?? near,
      crossed,
      beacons,
      ...regional,
      ...placed,
      segments: grouped,
    }
  })

t.test('a profile reads back as it was packed', async () => {
  fc.assert(
    fc.property(profile, (given) => {
      const read = unpackProfile(packProfile(given))
      // Compared as in answers, where the order of keys counts and -0 is 0.
      assert.equal(JSON.stringify(read), JSON.stringify(given))
      if (given.visitsBefore === given.visits) assert.equal(read.visitsBefore, read.visits)
      if (given.approachesBefore === given.approaches) assert.equal(read.approachesBefore, read.approaches)
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
    /** The number of the newest mark, if it has moved again. */
    readonly number: number | undefined
    /** The first candidates of the updates after it, which changed nothing else. */
    readonly firsts: readonly PlaceStays['first'][]
  }
  const number = fc.double({ noDefaultInfinity: true })
  const row: fc.Arbitrary<Row> = fc.record({
    row: fc.integer({ min: 0, max: 600 }),
    columns: fc.tuple(number, number, number, number, number),
    flags: fc.integer({ min: 0, max: 7 }),
    scope: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
    profile,
    number: fc.option(fc.maxSafeNat(), { nil: undefined }),
    firsts: fc.array(
      fc.option(fc.record({ id: fc.string({ minLength: 1, maxLength: 30 }), since: time }), {
        nil: undefined,
      }),
      { maxLength: 3 },
    ),
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
    table.move(at, ...(columns as [number, number, number, number, number]), flags)
  }
  const columnsOf = (table: DeviceTable, at: number) =>
    [
      table.latitude(at),
      table.longitude(at),
      table.accuracy(at),
      table.updatedAt(at),
      table.receivedAt(at),
    ].join()

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
            writeWhole(writer, table, each.row, packProfile(each.profile))
            const { number: newest, firsts } = each
            if (newest !== undefined && newest % 2 === 0) {
              table.setSequence(each.row, newest)
              writeMoved(writer, table, each.row, newest)
            }
            for (const first of firsts) writeFirst(writer, table, each.row, first, newest)
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
          tableOf: () => read.at(-1)!.table,
          wantsEvents: true,
          event: (event) => read.at(-1)!.events.push(event),
        })
        assert.equal(read.length, standing.length)
        standing.forEach((one, i) => {
          const found = read[i]!
          assert.equal(found.head, `${one.partition} ${one.sequence} ${one.revision}`)
          assert.equal(JSON.stringify(found.events), JSON.stringify(one.events))
          assert.equal(found.table.count, one.rows.length)
          for (const { row: at, profile: given, scope, flags, number: newest, firsts } of one.rows) {
            const p = firsts.reduce(profileWithFirst, given)
            const n = firsts.length > 0 || (newest ?? 1) % 2 === 0 ? newest : undefined
            assert.equal(columnsOf(found.table, at), columnsOf(tables[i]!, at))
            assert.equal(found.table.scope(at), scope)
            assert.equal(found.table.flags(at), flags)
            const marks = p.marks.map((mark, place) =>
              place === p.marks.length - 1 ? { ...mark, sequence: Math.max(mark.sequence, n ?? 0) } : mark,
            )
            const expected = JSON.stringify({ ...p, marks })
            assert.equal(JSON.stringify(unpackProfile(found.table.packedProfile(at))), expected)
            assert.equal(JSON.stringify(found.table.profile(at)), expected)
          }
        })
      }),
      runs(100),
    )
  })

  t.test('the first candidate fits into a row of its own if its id is short and ASCII', async (t) => {
    const fits = (id: string) => fitsFirst({ id, since: 1 })
    t.strictSame([fitsFirst(undefined), fits('0'.repeat(24)), fits('x'.repeat(255))], [true, true, true])
    t.strictSame(
      [fits(''), fits('x'.repeat(256)), fits('é'), fits('\u{1f69a}')],
      [false, false, false, false],
    )
  })

  const tooMuch = (bytes: Uint8Array) => () =>
    readFrame(bytes, {
      commit: () => true,
      tableOf: () => new DeviceTable(),
      wantsEvents: true,
      event: () => {},
    })

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
        tableOf: () => new DeviceTable(),
        wantsEvents: true,
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
    t.throws(tooMuch(Uint8Array.from([5, ...frame.subarray(1)])), /frame version 5 is not 4.*newer/)
    for (let end = 10; end < frame.length; end++) t.throws(tooMuch(frame.subarray(0, end)), `cut at ${end}`)
  })
})

/** The first frame of a store: a device that enters a geofence. */
const FRAME_OF_VERSION_1 = [
  '0100002043e9b779420000000000000000f03f0000000000000040010000000100000002000000000200000000000000',
  '000000000000000000000000000000144000002043e9b7794200002043e9b77942000000007f0000009fb83639353762',
  '33343030313233343536373839616263646566a164a3616e6ec0c083a47465616da3726564a3616765cb401e00000000',
  '0000a26f6ec3c0c0c0c0a93139322e302e322e31cb4279b7e9432000009193b830303030303030303030303030303030',
  '3030303030303031cb4279b7e943200000c2909192a1730900000000340200007b225f6964223a223639353762333430',
  '30313233343536373939616263646566222c2274797065223a22757365722e656e74657265645f67656f66656e636522',
  '2c22637265617465644174223a22323032362d30312d30325431323a30303a30302e3030305a222c2261637475616c43',
  '7265617465644174223a22323032362d30312d30325431323a30303a30302e3030305a222c226c697665223a66616c73',
  '652c2275736572223a7b225f6964223a22363935376233343030313233343536373839616263646566222c2275736572',
  '4964223a22616e6e222c226465766963654964223a2264222c226d65746164617461223a7b227465616d223a22726564',
  '222c22616765223a372e352c226f6e223a747275657d7d2c2267656f66656e6365223a7b225f6964223a223030303030',
  '30303030303030303030303030303030303031222c22746167223a2274657374222c2265787465726e616c4964223a22',
  '303030303030303030303030303030303030303030303031222c226465736372697074696f6e223a2247656f66656e63',
  '6520303030303030303030303030303030303030303030303031227d2c226c6f636174696f6e223a7b2274797065223a',
  '22506f696e74222c22636f6f7264696e61746573223a5b302c305d7d2c226c6f636174696f6e4163637572616379223a',
  '352c22636f6e666964656e6365223a332c227265706c61796564223a66616c73652c22666f726567726f756e64223a66',
  '616c73652c2273746f70706564223a747275657d',
].join('')

/** A device that leaves a geofence and approaches another, has crossed a third, and is in range of a beacon. */
const FRAME_WITH_DELAYS_AND_BEACONS = [
  '0100002043e9b779420000000000000000f03f000000000000f03f0100000000000000020000000008000000000000f0',
  '3f0000000000000040000000000000144000002043e9b7794200002043e9b7794200000000f0000000dc0013b8363935',
  '376233343030313233343536373839616263646566a164c0c0c0c0c0c0c0c0a93139322e302e322e31cb4279b7e9347a',
  '00009194b8303030303030303030303030303030303030303030303031cb4279b7e9347a0000c3cb4279b7e943200000',
  '9193b8303030303030303030303030303030303030303030303031cb4279b7e9347a0000c3909192b830303030303030',
  '3030303030303030303030303030303032cb4279b7e9432000009091b830303030303030303030303030303030303030',
  '30303030339192b8303030303030303030303030303030303030303030303034cb4279b7e943200000',
].join('')

t.test('stored data stays readable: partitions, frames and profiles', async (t) => {
  // FNV-1a, published values of the algorithm: 0x811c9dc5, 0xe40c292c, 0xbf9cf968.
  const { host } = new Engine({ partitions: 64 })
  t.equal(host.partitionOf('').number, 0x811c9dc5 % 64)
  t.equal(host.partitionOf('a').number, 0xe40c292c % 64)
  t.equal(host.partitionOf('foobar').number, 0xbf9cf968 % 64)
  const log = new MemoryLog()
  log.frames.push(Buffer.from(FRAME_OF_VERSION_1, 'hex'))
  const { partitions, events } = new Engine({ log, events: new MemoryEvents(), partitions: 1 })
  t.match(stateOf(partitions), [
    {
      sequence: 1,
      count: 1,
      rows: [
        {
          row: 0,
          scope: 0,
          latitude: 0,
          longitude: 0,
          accuracy: 5,
          updatedAt: NOON,
          receivedAt: NOON,
          createdAt: NOON,
          flags: 2,
          profile: {
            id: /^[0-9a-f]{24}$/,
            deviceId: 'd',
            userId: 'ann',
            metadata: { team: 'red', age: 7.5, on: true },
            ip: '192.0.2.1',
            createdAt: NOON,
            visits: [{ geofenceId: aGeofence(1).id, enteredAt: NOON, dwelled: false }],
            marks: [{ stream: 's', sequence: 9 }],
            approaches: [],
            approachesBefore: [],
            crossed: [],
            beacons: [],
          },
          visitsBefore: [],
        },
      ],
    },
  ])
  t.match(
    events.all.map((event) => ({ ...event })),
    [{ scope: 0, type: 'user.entered_geofence', deviceId: 'd', userId: 'ann', createdAt: NOON }],
  )

  const later = new MemoryLog()
  later.frames.push(Buffer.from(FRAME_WITH_DELAYS_AND_BEACONS, 'hex'))
  const [first] = stateOf(new Engine({ log: later, partitions: 1 }).partitions)
  const stay = { geofenceId: aGeofence(1).id, enteredAt: NOON - MINUTE, dwelled: true }
  t.match(first!.rows, [
    {
      flags: FLAG_IGNORED,
      profile: {
        visits: [{ ...stay, leavingSince: NOON }],
        approaches: [{ geofenceId: aGeofence(2).id, since: NOON }],
        approachesBefore: [],
        crossed: [aGeofence(3).id],
        beacons: [{ beaconId: aGeofence(4).id, enteredAt: NOON }],
        marks: [],
      },
      visitsBefore: [stay],
    },
  ])
})

t.test('the room that a writer was told to expect is enough, so that nothing is copied', (t) => {
  const writer = new FrameWriter()
  writer.begin(0)
  writer.beginCommit(0, 1, 1)
  const json = JSON.stringify({ text: 'x'.repeat(500) })
  const COUNT = 5000
  writer.expect(COUNT * (8 + json.length))
  const { buffer } = writer.view
  for (let i = 0; i < COUNT; i++) writer.event({ scope: 1, json })
  t.equal(writer.view.buffer, buffer)
  writer.event({ scope: 1, json: JSON.stringify('ж'.repeat(2000)) })
  t.ok(writer.endCommit())
  let events = 0
  let last = ''
  readFrame(writer.take(), {
    wantsEvents: true,
    commit: () => true,
    tableOf: () => undefined,
    event: ({ json: read }) => {
      events++
      last = read
    },
  })
  t.equal(events, COUNT + 1)
  t.equal(JSON.parse(last), 'ж'.repeat(2000), 'characters of several bytes have room, too')
  t.end()
})
