/** The names of trips of one scope in memory, which are bytes, compared with plain lists. */
import assert from 'node:assert/strict'
import t from 'tap'
import { ScopeTrips, type TripEntry } from '../../src/registry/trips/scopeTrips.ts'
import { HashSet } from '../../src/runtime/hashSet.ts'
import { runs } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'

const SCOPE = 3
const NAMES = ['a', 'b', 'd/é', '日本語', 'x'.repeat(256)]
const USERS = ['ann', 'bo🚲', 'u'.repeat(256)]

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      is: fc.constant('put' as const),
      id: fc.nat(12),
      externalId: fc.constantFrom(...NAMES),
      userId: fc.constantFrom(...USERS, undefined),
      changedAt: fc.constantFrom(0, 1, 1_795_000_000_000.5, 2_000_000_000_000),
      isDeleted: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('remove' as const), id: fc.nat(12) }) },
)

const idOf = (n: number) => n.toString(16).padStart(24, '0')

/** The same with lists: the obvious way. */
class Listed {
  readonly entries: TripEntry[] = []
  readonly names = new Map<string, string>()
  readonly buried = new Map<string, string>()

  get(id: string): TripEntry | undefined {
    return this.entries.find((one) => one.id === id)
  }

  put(entry: TripEntry): void {
    this.remove(entry.id)
    this.entries.push(entry)
    const { id, externalId, isDeleted, changedAt } = entry
    if (!isDeleted) this.names.set(externalId, id)
    else if ((this.get(this.buried.get(externalId) ?? '')?.changedAt ?? 0) <= changedAt)
      this.buried.set(externalId, id)
  }

  remove(id: string): void {
    const entry = this.get(id)
    if (entry === undefined) return
    this.entries.splice(this.entries.indexOf(entry), 1)
    for (const names of [this.names, this.buried])
      if (names.get(entry.externalId) === id) names.delete(entry.externalId)
  }
}

t.test('property: packed names answer like lists', async () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const packed = new ScopeTrips()
      const listed = new Listed()
      for (const one of steps) {
        const id = idOf(one.id)
        if (one.is === 'remove') {
          packed.remove(id)
          listed.remove(id)
        } else {
          const { externalId, userId, changedAt, isDeleted } = one
          const before = packed.versionOf(id)
          const entry = { id, scope: SCOPE, externalId, userId, changedAt, isDeleted }
          packed.put(entry)
          listed.put(entry)
          assert.notEqual(packed.versionOf(id), before, 'each writing has a version of its own')
        }
        assert.equal(packed.isEmpty, listed.names.size === 0)
      }
      for (let n = 0; n <= 12; n++) {
        const entry = listed.get(idOf(n))
        assert.deepEqual(packed.get(idOf(n)), entry)
        assert.equal(packed.hasName(idOf(n)), entry?.isDeleted === false)
        const version = packed.versionOf(idOf(n))
        assert.equal(version === undefined, entry === undefined)
        const seen = entry?.isDeleted === false ? { scope: SCOPE, id: idOf(n), version } : undefined
        assert.deepEqual(packed.seen(idOf(n)), seen)
      }
      for (const name of [...NAMES, 'none']) {
        assert.deepEqual(packed.named(name), listed.get(listed.names.get(name) ?? ''))
        assert.equal(packed.idNamed(name), listed.names.get(name))
        assert.equal(packed.deletedAt(name), listed.get(listed.buried.get(name) ?? '')?.changedAt)
      }
      for (const user of [...USERS, 'none']) {
        const theirs = listed.entries.filter(({ userId, isDeleted }) => userId === user && !isDeleted)
        assert.deepEqual(packed.ofUser(user), theirs)
        assert.deepEqual(packed.idsOfUser(user), theirs.map(({ id }) => id).toSorted())
        assert.equal(packed.hasUser(user), theirs.length > 0)
      }
      const byId = (a: TripEntry, b: TripEntry) => (a.id < b.id ? -1 : 1)
      assert.deepEqual([...packed.all()].toSorted(byId), listed.entries.toSorted(byId))
    }),
    runs(200),
  )
})

t.test('property: of the hashes that were added, the latest half of the most is there', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer(), { maxLength: 600 }),
      fc.integer({ min: 2, max: 400 }),
      (hashes, most) => {
        const set = new HashSet(most)
        for (const [n, hash] of hashes.entries()) {
          assert.equal(set.has(hash), hashes.slice(0, n).includes(hash) && set.has(hash))
          set.add(hash)
          for (const one of hashes.slice(Math.max(0, n + 1 - Math.floor(most / 2)), n + 1))
            assert.ok(set.has(one), `${one} of ${most}`)
        }
        const kept = new Set(hashes.filter((one) => set.has(one)))
        assert.ok(kept.size <= most, `${kept.size} of ${most}`)
      },
    ),
    runs(100),
  )
})
