import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { DeviceMemory } from '../../src/actor/deviceMemory.ts'
import { DeviceTable } from '../../src/actor/deviceTable.ts'
import {
  profileCreatedAt,
  deviceIdField,
  isText,
  readText,
  userIdField,
} from '../../src/actor/packedFields.ts'
import { restOf } from '../../src/actor/headRests.ts'
import { packProfile, unpackProfile } from '../../src/actor/profileCodec.ts'
import { ProfileStore } from '../../src/actor/profileStore.ts'
import type { Profile } from '../../src/model/device.ts'
import { NO_FRAUD } from '../../src/model/fraud.ts'
import { NO_PLACES, type Place } from '../../src/model/place.ts'
import { NO_REGIONS } from '../../src/model/region.ts'
import { NO_SEGMENTS } from '../../src/model/segment.ts'
import type { ScopeView } from '../../src/rules/port.ts'
import fc from '../kit/fastCheck.ts'
import { runs } from './kit.ts'
import { Random } from './world.ts'

/**
 * Few names, so that they collide. Some are not ASCII, and their lengths cover every way in which MessagePack writes
 * a text.
 */
const NAMES = [
  'a',
  'b',
  'ab',
  'ä',
  '\u{1f69a}',
  'x'.repeat(31),
  'x'.repeat(32),
  'y'.repeat(300),
  'é'.repeat(70_000),
]
const name = fc.constantFrom(...NAMES)

function aPlace(id: string): Place {
  return { id, name: id, categories: ['cafe'], position: [0, 0], chain: undefined, extentMeters: 30 }
}

function aProfile(change: Partial<Profile>): Profile {
  const visits = [{ geofenceId: '0'.repeat(24), enteredAt: 5, dwelled: false }]
  return {
    id: 'f'.repeat(24),
    deviceId: 'a',
    ip: '127.0.0.1',
    createdAt: 1_700_000_000_000,
    visits,
    visitsBefore: visits,
    approaches: [],
    approachesBefore: [],
    crossed: [],
    beacons: [],
    regions: NO_REGIONS,
    regionsBefore: NO_REGIONS,
    fraud: NO_FRAUD,
    places: NO_PLACES,
    placesBefore: NO_PLACES,
    segments: NO_SEGMENTS,
    marks: [],
    ...change,
  }
}

interface Put {
  readonly kind: 'put' | 'putPacked'
  readonly row: number
  readonly scope: number
  readonly deviceId: string
  readonly userId: string | undefined
  readonly description: string | undefined
}
type Step = Put | { readonly kind: 'unpack' | 'remove'; readonly row: number } | { readonly kind: 'packIdle' }

const row = fc.nat({ max: 40 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('put' as const, 'putPacked' as const),
      row,
      scope: fc.constantFrom(2, 3),
      deviceId: name,
      userId: fc.option(name, { nil: undefined }),
      // Some kilobytes, so that a few rows fill a chunk.
      description: fc.option(
        fc.nat({ max: 30_000 }).map((length) => 'd'.repeat(length)),
        { nil: undefined },
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('unpack' as const, 'remove' as const), row }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'packIdle' as const }) },
)

interface Known {
  readonly scope: number
  readonly profile: Profile
}

t.test('a table finds and keeps its records as plain maps do', async () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 150 }),
      fc.constantFrom(0, 20_000, Infinity),
      (steps, maxUnpackedBytes) => {
        const table = new DeviceTable()
        table.limitUnpacked(maxUnpackedBytes)
        const memory = new DeviceMemory(1)
        table.countIn(memory)
        const known = new Map<number, Known>()
        steps.forEach((one, time) => {
          if (one.kind === 'put' || one.kind === 'putPacked') put(table, known, one, time)
          else if (one.kind === 'packIdle') table.packIdle(Infinity)
          else if (known.has(one.row)) {
            if (one.kind === 'unpack') table.profile(one.row)
            else table.remove(one.row, time)
            if (one.kind === 'remove') known.delete(one.row)
          }
        })
        same(table, known)
        assert.equal(memory.bytes, table.bytes)
        for (const at of known.keys()) table.remove(at, 1e6)
        assert.equal(table.bytes, 0)
        assert.equal(memory.bytes, 0)
        for (const scope of [2, 3, 4]) assert.ok(table.hasRoom(scope))
      },
    ),
    runs(60),
  )
})

t.test(
  'partitions share one memory: a full one does not refuse while there is room, and one that leaves makes room',
  async (t) => {
    const memory = new DeviceMemory(4000)
    const [one, other] = [new DeviceTable(), new DeviceTable()]
    for (const table of [one, other]) table.countIn(memory)
    const fill = (table: DeviceTable, scope: number) => {
      let at = table.length
      while (table.hasRoom(scope)) table.setProfile(at++, scope, aProfile({ deviceId: `${scope} ${at}` }))
      return at
    }
    const alone = fill(one, 2)
    t.ok(memory.bytes >= 2000 && memory.bytes < 3000, 'a scope may have half of all, in one partition, too')
    t.equal(fill(other, 2), 0)
    t.ok(fill(other, 3) > 0, 'another scope has room')
    t.notOk(one.hasRoom(4))
    one.countIn(new DeviceMemory())
    t.equal(memory.bytes, other.bytes)
    t.ok(other.hasRoom(2))
    t.equal(one.count, alone)
  },
)

/** A record belongs to the same device and scope as long as it exists. */
function put(table: DeviceTable, known: Map<number, Known>, one: Put, time: number): void {
  const before = known.get(one.row)
  const scope = before?.scope ?? one.scope
  const profile = aProfile({
    deviceId: before?.profile.deviceId ?? one.deviceId,
    userId: one.userId,
    description: one.description,
    createdAt: before?.profile.createdAt ?? time * 1e9,
  })
  if (one.kind === 'put') table.setProfile(one.row, scope, profile)
  else table.setPacked(one.row, scope, Buffer.from(packProfile(profile)))
  known.set(one.row, { scope, profile })
}

function same(table: DeviceTable, known: ReadonlyMap<number, Known>): void {
  assert.equal(table.count, known.size)
  let bytes = 0
  for (const at of known.keys()) bytes += table.bytesOf(at)
  assert.equal(table.bytes, bytes)
  for (let at = 0; at < table.length; at++) assert.equal(table.exists(at), known.has(at))
  for (const [at, { scope, profile }] of known) {
    assert.equal(table.scope(at), scope)
    assert.equal(table.createdAt(at), profile.createdAt)
    const found = Buffer.from(packProfile(table.peek(at)))
    assert.ok(found.equals(packProfile(profile)))
    assert.ok(found.equals(table.packedProfile(at)))
  }
  for (const scope of [2, 3, 4]) {
    for (const one of NAMES) {
      const rows = (wanted: (profile: Profile) => boolean) =>
        [...known].filter(([, each]) => each.scope === scope && wanted(each.profile)).map(([at]) => at)
      const chain = []
      for (let at = table.firstOf(scope, one); at >= 0; at = table.nextOf(at)) chain.push(at)
      assert.deepEqual(ascending(chain), ascending(rows((profile) => profile.deviceId === one)))
      assert.deepEqual(
        ascending(table.rowsOfUser(scope, one)),
        ascending(rows((profile) => profile.userId === one)),
      )
    }
  }
}

function ascending(rows: readonly number[]): number[] {
  return [...rows].sort((a, b) => a - b)
}

/** Bytes of buffers in use. */
function held(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  // The second call waits until the buffers that the first one found are freed.
  collect()
  collect()
  return process.memoryUsage().arrayBuffers
}

t.test('the first candidate is ahead of the profile until somebody needs the profile', async (t) => {
  const table = new DeviceTable()
  const stay = { place: aPlace('p'), enteredAt: 3 }
  const before = { ...NO_PLACES, stay }
  const after = { ...before, first: { id: 'q', since: 7 } }
  const store = (at: number) => table.setProfile(at, 1, aProfile({ deviceId: `d${at}`, places: before }))
  const opens = [
    (at: number) => table.profile(at).places,
    (at: number) => table.peek(at).places,
    (at: number) => unpackProfile(table.packedProfile(at)).places,
    (at: number) => {
      table.move(at, 0, 0, 5, 0, 1, 0)
      table.packIdle(2)
      return table.peek(at).places
    },
  ]
  opens.forEach((open, at) => {
    store(at)
    t.equal(table.placesOf(at), before)
    const head = { json: '{}', rest: restOf(''), revision: 1, until: Infinity }
    table.replyHead[at] = head
    table.setFirst(at, after)
    t.equal(table.placesOf(at), after)
    t.equal(table.activeProfile(at).places, before, 'not in the profile yet')
    t.equal(table.replyHead[at], head, 'the answer stays')
    t.match(open(at), { stay: { enteredAt: 3 }, first: { id: 'q', since: 7 } })
    t.match(table.placesOf(at), { first: { id: 'q', since: 7 } })
  })
  table.setFirst(0, { ...after, first: undefined })
  store(0)
  t.equal(table.placesOf(0), before, 'another profile has its own')
  table.setFirst(0, after)
  table.remove(0, 5)
  store(0)
  t.equal(table.placesOf(0), before, 'and so has the next record of the row')
})

t.test('a first candidate that is only passed needs no places of its own', async (t) => {
  const table = new DeviceTable()
  const stay = { place: aPlace('p'), enteredAt: 3 }
  const before = { ...NO_PLACES, stay, first: { id: 'q', since: 7 } }
  table.setProfile(0, 1, aProfile({ places: before }))
  t.equal(table.firstIdOf(0), 'q')
  table.passFirst(0, 'r', 9)
  t.equal(table.firstIdOf(0), 'r')
  t.strictSame(table.placesOf(0), { ...before, first: { id: 'r', since: 9 } })
  t.equal(table.placesOf(0), table.placesOf(0), 'the same object until the next change')
  table.passFirst(0, 'r', 11)
  t.strictSame(table.placesOf(0).first, { id: 'r', since: 11 }, 'the time alone is another one')
  table.passFirst(0, undefined, 13)
  t.equal(table.firstIdOf(0), undefined)
  t.strictSame(table.placesOf(0), { ...before, first: undefined })
  table.passFirst(0, 's', 15)
  t.strictSame(table.profile(0).places, { ...before, first: { id: 's', since: 15 } })
  t.equal(table.firstIdOf(0), 's')
  table.setProfile(0, 1, aProfile({ places: NO_PLACES }))
  table.passFirst(0, 'q', 17)
  table.passFirst(0, undefined, 19)
  t.equal(table.placesOf(0), NO_PLACES, 'nothing is the one object that stands for it')
  const packing = new DeviceTable()
  packing.limitUnpacked(0)
  packing.setProfile(0, 1, aProfile({}))
  packing.passFirst(0, 'q', 7)
  t.strictSame(packing.peek(0).places.first, { id: 'q', since: 7 })
})

t.test('while there is no room for objects, the first candidate is written at once', async (t) => {
  const table = new DeviceTable()
  table.limitUnpacked(0)
  table.setProfile(0, 1, aProfile({}))
  table.setFirst(0, { ...NO_PLACES, first: { id: 'q', since: 7 } })
  t.strictSame(table.placesOf(0).first, { id: 'q', since: 7 })
  t.strictSame(table.peek(0).placesBefore, table.peek(0).places)
})

t.test('at least half of each chunk of packed profiles is in use', async (t) => {
  const store = new ProfileStore()
  const before = held()
  const packed = Array.from({ length: 20_000 }, (_, at) =>
    packProfile(aProfile({ deviceId: `${at}`, description: 'd'.repeat(1000) })),
  )
  for (const [at, profile] of packed.entries()) store.setPacked(at, profile)
  let live = 0
  for (const [at, profile] of packed.entries()) {
    if (at % 4 > 0) store.delete(at)
    else live += profile.length
  }
  packed.length = 0
  const grown = held() - before
  t.ok(grown < 2.2 * live, `${live} bytes take ${grown}`)
  t.equal(store.peek(4).deviceId, '4')
})

t.test('after many additions and removals, removed profiles take no memory', async (t) => {
  const random = new Random(1)
  const store = new ProfileStore()
  const known = new Map<number, Profile>()
  const before = held()
  const check = () => {
    for (const [at, one] of known) assert.equal(store.peek(at).description, one.description)
  }
  let bytesPut = 0
  for (let i = 0; i < 15_000; i++) {
    const at = random.below(50)
    const profile = known.get(at)
    if (profile !== undefined && random.chance(0.2))
      assert.equal(store.get(at).description, profile.description)
    else if (profile !== undefined && random.chance(0.25)) {
      store.delete(at)
      known.delete(at)
    } else {
      // Now and then a row that needs its own chunk.
      const length = random.below(random.chance(0.02) ? 200_000 : 8000)
      const one = aProfile({ deviceId: `${at}`, description: `${i}`.padEnd(length, 'd') })
      if (random.chance(0.3)) {
        store.set(at, one)
        store.pack(at)
      } else store.setPacked(at, packProfile(one))
      known.set(at, one)
      bytesPut += length
    }
    if (i % 100 === 0) check()
  }
  const live = [...known.values()].reduce((sum, { description }) => sum + description!.length, 0)
  const grown = held() - before
  // Some of it belongs to the packer.
  t.ok(grown < live + 8_000_000, `${bytesPut} bytes were put, ${live} are there, and take ${grown}`)
  // This use of the store makes sure that it was not collected earlier.
  check()
})

t.test('a profile that is bytes, or was, keeps no part of a head', async (t) => {
  const table = new DeviceTable()
  const profile = aProfile({})
  const view = { revision: 1 } as ScopeView
  let written = 0
  const write = () => `${written++}`
  const ask = () => table.headRests.of(0, profile, view, write)
  const set = () => table.setProfile(0, 1, profile)
  const pack = () => {
    table.move(0, 0, 0, 5, 0, 1, 0)
    table.packIdle(2)
  }
  const limit = () => {
    table.limitUnpacked(0)
    set()
  }
  for (const [change, count] of [
    [set, 1],
    [set, 1],
    [pack, 2],
    [set, 2],
    [limit, 3],
  ] as const) {
    change()
    ask()
    t.equal(written, count)
  }
})

t.test('fields of a packed profile are read in place', async () => {
  const metadata = fc.dictionary(
    fc.string(),
    fc.oneof(fc.string(), fc.boolean(), fc.double(), fc.integer()),
    {
      maxKeys: 40,
      noNullPrototype: true,
    },
  )
  const fields = fc.record({
    deviceId: name,
    userId: fc.option(name, { nil: undefined }),
    installId: fc.option(name, { nil: undefined }),
    metadata: fc.option(metadata, { nil: undefined }),
    createdAt: fc.oneof(
      fc.constantFrom(0, 1, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32),
      fc.nat(),
      fc.maxSafeNat(),
    ),
    // Fifteen fields, or more than fit into the shortest header of an array.
    crossed: fc.constantFrom([], ['1']),
  })
  fc.assert(
    fc.property(fields, fc.nat({ max: 9 }), name, (given, before, other) => {
      const packed = packProfile(aProfile(given))
      const bytes = Buffer.concat([Buffer.alloc(before, 0xc1), packed])
      assert.equal(readText(bytes, deviceIdField(bytes, before)), given.deviceId)
      assert.equal(readText(bytes, userIdField(bytes, before)), given.userId)
      assert.equal(profileCreatedAt(bytes, before), given.createdAt)
      assert.equal(isText(bytes, deviceIdField(bytes, before), other), given.deviceId === other)
      assert.equal(isText(bytes, userIdField(bytes, before), other), given.userId === other)
    }),
    runs(200),
  )
})
