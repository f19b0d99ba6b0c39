import type { Test } from 'tap'
import type {
  CountQuery,
  EventContent,
  EventIndex,
  EventQuery,
  Scopes,
  StoredEvent,
} from '../../src/events/port.ts'
import fc, { draws } from '../kit/fastCheck.ts'

const RUNS = draws(25)

/** An event with the given number as its id. */
export function event(number: number, detail: Partial<StoredEvent> = {}): StoredEvent {
  const id = number.toString(16).padStart(24, '0')
  return {
    scope: 0,
    id,
    type: 'user.entered_geofence',
    deviceId: 'device',
    userRecordId: 'f'.repeat(24),
    createdAt: 1_000_000 + number,
    actualCreatedAt: 2_000_000 + number,
    json: JSON.stringify({ _id: id, note: '“quoted” \\ \u0000 🚲' }),
    ...detail,
  }
}

/** An event with the JSON that it is made from, so that it can be read back. */
export function whole(number: number, detail: Partial<StoredEvent> = {}): StoredEvent {
  const { id, type, deviceId, userRecordId, createdAt, actualCreatedAt, ...rest } = event(number, detail)
  const json = JSON.stringify({
    _id: id,
    type,
    createdAt: new Date(createdAt).toISOString(),
    actualCreatedAt: new Date(actualCreatedAt).toISOString(),
    user: { _id: userRecordId, deviceId, userId: rest.userId },
    geofence: rest.tag === undefined ? undefined : { tag: rest.tag, externalId: rest.externalId },
  })
  return { id, type, deviceId, userRecordId, createdAt, actualCreatedAt, ...rest, json }
}

/** A slow and obvious implementation to compare with: an array. */
function oracle(events: readonly StoredEvent[], scope: number, query: EventQuery) {
  const matching = events
    .filter(
      (each) =>
        each.scope === scope &&
        (query.userId === undefined || each.userId === query.userId) &&
        (query.deviceId === undefined || each.deviceId === query.deviceId) &&
        (query.type === undefined || each.type === query.type) &&
        matches(each, query) &&
        (query.createdBefore === undefined || each.createdAt < query.createdBefore) &&
        (query.createdAfter === undefined || each.createdAt > query.createdAfter) &&
        (query.updatedBefore === undefined || each.actualCreatedAt < query.updatedBefore) &&
        (query.updatedAfter === undefined || each.actualCreatedAt > query.updatedAfter),
    )
    .toSorted((a, b) => a.createdAt - b.createdAt)
  if (query.isAscending !== true) matching.reverse()
  return {
    events: matching.slice(0, query.limit).map(({ json }) => json),
    hasMore: matching.length > query.limit,
  }
}

/** Whether the content of an event is wanted. */
function matches(
  each: StoredEvent,
  { types, tag, externalId, text: wanted, minimumConfidence }: EventContent,
): boolean {
  const { confidence = 0, user = {} } = JSON.parse(each.json) as {
    confidence?: number
    user?: { userId?: string; deviceId?: string }
  }
  const names = [user.userId, user.deviceId, each.tag, each.externalId]
  return (
    (types === undefined || types.includes(each.type)) &&
    (tag === undefined || each.tag === tag) &&
    (externalId === undefined || each.externalId === externalId) &&
    (wanted === undefined || names.some((name) => name?.toLowerCase().includes(wanted.toLowerCase()))) &&
    (minimumConfidence === undefined || confidence >= minimumConfidence)
  )
}

/** An event with its pair and confidence in its JSON, as a geofence, beacon or trip has them. */
function withContent(one: StoredEvent, of: string, confidence: number | undefined): StoredEvent {
  const { id, tag, externalId } = one
  const subject =
    of === 'trip'
      ? { destinationGeofenceTag: tag, destinationGeofenceExternalId: externalId }
      : { tag, externalId }
  const { userId, deviceId } = one
  return { ...one, json: JSON.stringify({ _id: id, user: { userId, deviceId }, [of]: subject, confidence }) }
}

function countOracle(events: readonly StoredEvent[], scope: number, query: CountQuery): object[] {
  const { from, to, stepMs } = query
  const counts = Array.from({ length: Math.ceil((to - from) / stepMs) }, (): Record<string, number> => ({}))
  for (const each of events) {
    if (each.scope !== scope || each.createdAt < from || each.createdAt >= to || !matches(each, query))
      continue
    const interval = counts[Math.floor((each.createdAt - from) / stepMs)]!
    interval[each.type] = (interval[each.type] ?? 0) + 1
  }
  return counts
}

const canonical = (counts: readonly object[]) =>
  JSON.stringify(counts.map((types) => Object.entries(types).toSorted(([a], [b]) => (a < b ? -1 : 1))))

const time = fc.integer({ min: 0, max: 12 })
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 })
const text = fc.constantFrom('a', 'A', 'a ', 'ü', '%', '\u0000')

const drafts = fc.array(
  fc.record({
    scope: fc.constantFrom(0, 1, 2),
    type: fc.constantFrom('user.entered_geofence', 'user.exited_geofence', 'bought'),
    deviceId: text,
    userId: optional(text),
    createdAt: time,
    actualCreatedAt: time,
    tag: optional(text),
    externalId: optional(text),
    of: fc.constantFrom('geofence', 'beacon', 'trip'),
    confidence: fc.constantFrom(undefined, 1, 2, 3),
  }),
  { maxLength: 60, size: 'max' },
)

const content = {
  types: optional(fc.constantFrom(['bought'], ['user.exited_geofence', 'bought', '%'])),
  tag: optional(text),
  externalId: optional(text),
  text: optional(fc.oneof(text, fc.constantFrom('Ä', 'sTore', '"', 'null'))),
  minimumConfidence: optional(fc.constantFrom(1, 2, 3)),
}

const queries = fc.array(
  fc.record({
    scope: fc.constantFrom(0, 1, 2),
    query: fc.record({
      userId: optional(text),
      deviceId: optional(text),
      type: optional(fc.constantFrom('user.entered_geofence', 'bought', 'unknown')),
      createdBefore: optional(time),
      createdAfter: optional(time),
      updatedBefore: optional(time),
      updatedAfter: optional(time),
      ...content,
      isAscending: optional(fc.boolean()),
      limit: fc.integer({ min: 1, max: 20 }),
    }),
    counted: fc.record({
      from: time,
      length: fc.integer({ min: 1, max: 15 }),
      stepMs: fc.integer({ min: 1, max: 6 }),
      ...content,
    }),
  }),
  { minLength: 1, maxLength: 20, size: 'max' },
)

/** Removes all events before that time, as the retention job does. Returns how many were removed. */
export async function pruneAll(index: EventIndex, before: number): Promise<number> {
  let removed = 0
  for (let some = 1; some > 0; removed += some) some = await index.prune(before)
  return removed
}

/** What every implementation of the event index must do. `open` makes an empty one. */
export function eventIndexContract(t: Test, name: string, open: () => Promise<EventIndex>): void {
  t.test(`${name}: lists the same as an array, including everything that was added before`, async (t) => {
    const index = await open()
    t.teardown(() => index.close())
    let position = 0
    let round = 0
    await fc.assert(
      fc.asyncProperty(drafts, queries, fc.integer({ min: 1, max: 9 }), async (details, asked, frame) => {
        // Each round has its own scopes, and so its own world.
        const base = ++round * 3
        const events = details.map(({ of, confidence, ...detail }, i) =>
          // Ids in no particular order, like those of a real store.
          withContent(
            event(round * 1000 + ((i * 617) % 1000), { ...detail, scope: base + detail.scope }),
            of,
            confidence,
          ),
        )
        for (let i = 0; i < events.length; i += frame) index.add(++position, events.slice(i, i + frame))
        const answers = await Promise.all(asked.map(({ scope, query }) => index.list(base + scope, query)))
        for (const [i, { scope, query }] of asked.entries()) {
          const expected = oracle(events, base + scope, query)
          if (JSON.stringify(answers[i]) !== JSON.stringify(expected)) {
            throw new Error(
              `listed ${JSON.stringify(answers[i])}, expected ${JSON.stringify(expected)} for ${JSON.stringify(query)}`,
            )
          }
        }
        const totals = await Promise.all(asked.map(({ scope, query }) => index.total(base + scope, query)))
        for (const [i, { scope, query }] of asked.entries()) {
          const all = oracle(events, base + scope, { ...query, limit: Infinity }).events.length
          if (totals[i] !== all)
            throw new Error(`a total of ${totals[i]}, expected ${all} for ${JSON.stringify(query)}`)
        }
        const countings = asked.map(({ scope, counted: { from, length, stepMs, ...wanted } }) => ({
          scope: base + scope,
          query: { from, to: from + length, stepMs, ...wanted },
        }))
        const counted = await Promise.all(countings.map(({ scope, query }) => index.count(scope, query)))
        for (const [i, { scope, query }] of countings.entries()) {
          const expected = canonical(countOracle(events, scope, query))
          if (canonical(counted[i]!) !== expected)
            throw new Error(`counted ${canonical(counted[i]!)}, expected ${expected}`)
        }
      }),
      { numRuns: RUNS },
    )
  })

  t.test(`${name}: a search of many events by their content takes several steps`, async (t) => {
    const index = await open()
    t.teardown(() => index.close())
    const many = 9000
    const ofTag = (i: number) => (i % 3000 === 0 ? 'rare' : 'usual')
    for (let i = 0; i < many; i += 1000) {
      const events = Array.from({ length: 1000 }, (_, n) =>
        withContent(
          event(i + n, { tag: ofTag(i + n), createdAt: 1_000_000 + Math.floor((i + n) / 7) }),
          'geofence',
          3,
        ),
      )
      index.add(i + 1, events)
    }
    const { events, hasMore } = await index.list(0, { tag: 'rare', limit: 10 })
    t.same(
      events.map((json) => Number.parseInt((JSON.parse(json) as { _id: string })._id, 16)),
      [6000, 3000, 0],
    )
    t.equal(hasMore, false)
    const page = await index.list(0, { tag: 'rare', limit: 1 })
    t.equal(page.hasMore, true)
    const oldest = await index.list(0, { tag: 'rare', limit: 2, isAscending: true })
    t.same(
      oldest.events.map((json) => Number.parseInt((JSON.parse(json) as { _id: string })._id, 16)),
      [0, 3000],
    )
    t.equal(await index.total(0, { tag: 'rare' }), 3)
    t.equal(await index.total(0, {}), many)
    t.equal(await index.total(0, { deviceId: 'device' }), many, 'of a device, in several steps')
    t.equal(await index.total(0, { deviceId: 'device', tag: 'usual' }), many - 3)
    const counts = await index.count(0, { from: 1_000_000, to: 1_002_000, stepMs: 1000, tag: 'usual' })
    t.same(counts, [{ 'user.entered_geofence': 6997 }, { 'user.entered_geofence': 2000 }])
  })

  t.test(`${name}: events named like what every object has are counted`, async (t) => {
    const index = await open()
    t.teardown(() => index.close())
    const names = ['constructor', 'toString', '__proto__', 'hasOwnProperty']
    index.add(
      1,
      [...names, ...names].map((type, i) => event(i, { type })),
    )
    const [counts] = await index.count(0, { from: 1_000_000, to: 1_001_000, stepMs: 1000 })
    t.same(Object.entries(counts!).sort(), names.map((type) => [type, 2]).sort())
  })

  t.test(`${name}: an event is read and deleted by id only within its scope`, async (t) => {
    const index = await open()
    t.teardown(() => index.close())
    index.add(1, [event(1), event(2)])
    t.equal(await index.get(0, event(1).id), event(1).json)
    t.equal(await index.get(1, event(1).id), undefined)
    t.equal(await index.delete(1, event(1).id), false)
    t.equal(await index.delete(0, event(1).id), true)
    t.equal(await index.delete(0, event(1).id), false)
    t.equal(await index.get(0, event(1).id), undefined)
    t.equal(await index.get(0, event(2).id), event(2).json)
    for (const id of ['', 'x', event(2).id.toUpperCase() + '0', '0'.repeat(23) + 'g', '\u0000'.repeat(24)]) {
      t.equal(await index.get(0, id), undefined, JSON.stringify(id))
      t.equal(await index.delete(0, id), false)
    }
  })

  t.test(`${name}: the last verdict on an event is in its JSON, only within its scope`, async (t) => {
    const index = await open()
    t.teardown(() => index.close())
    index.add(1, [event(1), event(2)])
    const { id } = event(1)
    const made = JSON.parse(event(1).json)
    const accepted = await index.verify(0, id, { verification: 1, verifiedPlaceId: 'place' })
    t.same(JSON.parse(accepted!), { ...made, verification: 1, verifiedPlaceId: 'place' })
    t.equal(await index.get(0, id), accepted)
    t.equal((await index.list(0, { limit: 1, createdBefore: 1_000_002 })).events[0], accepted)
    t.equal(await index.verify(1, id, { verification: -1 }), undefined, 'another scope')
    t.equal(await index.verify(0, 'x', { verification: -1 }), undefined)
    t.equal(await index.verify(0, event(3).id, { verification: -1 }), undefined)
    t.equal(await index.get(0, id), accepted)
    const rejected = await index.verify(0, id, { verification: -1 })
    t.same(JSON.parse(rejected!), { ...made, verification: -1 }, 'nothing is left of the one before')
    index.add(1, [event(1)])
    index.add(2, [event(1)])
    t.equal(await index.get(0, id), rejected, 'a frame that comes again does not undo it')
    t.equal(await index.get(0, event(2).id), event(2).json)
  })

  t.test(`${name}: a repeated frame is ignored, and so is an event with a known id`, async (t) => {
    const index = await open()
    t.teardown(() => index.close())
    index.add(5, [event(1, { json: '"first"' })])
    index.add(5, [event(2)])
    index.add(4, [event(3)])
    index.add(6, [event(1, { json: '"second"' }), event(4, { json: '"fourth"' })])
    t.same(await index.list(0, { limit: 10 }), { events: ['"fourth"', '"first"'], hasMore: false })
  })

  t.test(`${name}: events are read in log order, from any offset`, async (t) => {
    const index = await open()
    t.teardown(() => index.close())
    t.equal(index.lastOffset, 0)
    const events = Array.from({ length: 100 }, (_, i) =>
      // Their times run backwards, because the order is that of the log.
      whole(i, { scope: i % 3, createdAt: 5000 - i, userId: `u${i % 5}`, tag: 't', externalId: `${i}` }),
    )
    for (let i = 0; i < 100; i += 7) index.add(i + 1, events.slice(i, i + 7))
    t.equal(index.lastOffset, 100)
    const offsets = (scopes: Scopes) =>
      events.flatMap((one, i) => (scopes === 'all' || one.scope === scopes ? [i + 1] : []))
    for (const scopes of [0, 1, 2, 3, 'all'] as const) {
      for (const [after, limit] of [
        [0, 1000],
        [0, 5],
        [50, 1000],
        [99, 10],
        [100, 10],
      ] as const) {
        const expected = offsets(scopes).filter((offset) => offset > after)
        const found = await index.read(scopes, after, limit)
        t.same(
          found.events,
          expected.slice(0, limit).map((offset) => ({ offset, event: events[offset - 1] })),
          `scope ${scopes}, after ${after}, at most ${limit}`,
        )
        t.equal(found.offset, expected[limit - 1] ?? 100)
      }
    }
    t.equal(await index.offsetOf(0, events[99]!.id), 100)
    t.equal(await index.offsetOf(1, events[99]!.id), undefined, 'another scope')
    t.equal(await index.offsetOf(0, 'x'), undefined)

    await index.delete(0, events[99]!.id)
    t.same(await index.read(0, 98, 10), { events: [], offset: 100 })
    index.add(200, [whole(1000)])
    t.equal(index.lastOffset, 101, 'an offset is not given again')
    t.equal((await index.read(0, 98, 10)).events[0]!.offset, 101)
  })

  t.test(`${name}: the events of large commits keep their order among those of small ones`, async (t) => {
    const index = await open()
    t.teardown(() => index.close())
    let number = 0
    for (const [i, count] of [3, 1200, 2, 700, 500, 499, 1].entries())
      index.add(
        i + 1,
        Array.from({ length: count }, () => whole(++number)),
      )
    const found: unknown[] = []
    for (let offset = 0; offset < number;) {
      const page = await index.read('all', offset, number)
      found.push(...page.events)
      offset = page.offset
    }
    t.same(
      found,
      Array.from({ length: number }, (_, i) => ({ offset: i + 1, event: whole(i + 1) })),
    )
  })

  t.test(`${name}: large events make pages and reads short, and reading continues after them`, async (t) => {
    const index = await open()
    t.teardown(() => index.close())
    // The largest events that an update can make are about this large.
    const userId = 'x'.repeat(130_000)
    const events = Array.from({ length: 70 }, (_, i) => whole(i, { userId }))
    index.add(1, events)
    const pages: number[] = []
    const listed: string[] = []
    for (let more = true; more;) {
      const before = listed.length === 0 ? undefined : JSON.parse(listed.at(-1)!)._id
      const page = await index.list(0, { limit: 1000, before })
      pages.push(page.events.length)
      listed.push(...page.events)
      more = page.hasMore
    }
    t.same(pages, [16, 16, 16, 16, 6], 'pages of two million characters')
    t.same(
      listed.toReversed(),
      events.map(({ json }) => json),
    )
    for (const scopes of [0, 'all'] as const) {
      const read: string[] = []
      for (let offset = 0; offset < 70;) {
        const part = await index.read(scopes, offset, 1000)
        t.ok(part.events.length <= 3 && part.offset > offset, 'parts of a quarter of a million')
        offset = part.offset
        read.push(...part.events.map((placed) => placed.event.id))
      }
      t.same(
        read,
        events.map(({ id }) => id),
      )
    }
  })

  t.test(`${name}: prune removes what the server created before that time, in every scope`, async (t) => {
    const index = await open()
    t.teardown(() => index.close())
    const events = Array.from({ length: 5000 }, (_, i) =>
      event(i, { scope: i % 2, createdAt: 7, actualCreatedAt: i }),
    )
    index.add(1, events)
    t.equal(await pruneAll(index, 4990), 4990)
    t.equal(await index.prune(4990), 0)
    t.same(await index.list(1, { limit: 10 }), oracle(events.slice(4990), 1, { limit: 10 }))
  })

  t.test(`${name}: pages contain every event once, whatever is added and deleted meanwhile`, async (t) => {
    const index = await open()
    t.teardown(() => index.close())
    let position = 0
    let round = 0
    const filters = fc.record({
      userId: optional(text),
      deviceId: optional(text),
      type: optional(fc.constantFrom('user.entered_geofence', 'bought')),
      createdBefore: optional(time),
      updatedAfter: optional(time),
    })
    const meddling = fc.array(fc.record({ at: fc.nat(), add: fc.boolean() }), { maxLength: 30, size: 'max' })
    await fc.assert(
      fc.asyncProperty(
        drafts,
        filters,
        meddling,
        fc.integer({ min: 1, max: 9 }),
        async (details, filter, changes, limit) => {
          const scope = 10_000 + ++round
          const made = (i: number, detail: Partial<StoredEvent>) => {
            const id = ((round * 1000 + ((i * 617) % 1000)) * 2).toString(16).padStart(24, '0')
            return event(0, { ...detail, scope, id, json: JSON.stringify({ _id: id }) })
          }
          const events = details.map((detail, i) => made(i, detail))
          index.add(++position, events)
          const idOf = (json: string): string => JSON.parse(json)._id
          const before = oracle(events, scope, { ...filter, limit: 1000 }).events.map(idOf)
          const deleted = new Set<string>()
          const seen: string[] = []
          for (let page = 0, last: string | undefined; ; page++) {
            const found = await index.list(scope, { ...filter, before: last, limit })
            seen.push(...found.events.map(idOf))
            if (!found.hasMore) break
            last = seen.at(-1)!
            const change = changes[page]
            const victim = change && details.length > 0 ? change.at % details.length : 0
            if (change?.add) index.add(++position, [made(500 + page, details[victim]!)])
            else if (change && events[victim]!.id !== last) {
              await index.delete(scope, events[victim]!.id)
              deleted.add(events[victim]!.id)
            }
          }
          const known = new Set(events.map(({ id }) => id))
          const old = seen.filter((id) => known.has(id))
          const kept = before.filter((id) => !deleted.has(id) || old.includes(id))
          if (new Set(seen).size !== seen.length || JSON.stringify(old) !== JSON.stringify(kept)) {
            throw new Error(`met ${JSON.stringify(seen)}, expected ${JSON.stringify(kept)}`)
          }
        },
      ),
      { numRuns: RUNS * 4 },
    )
    t.same(await index.list(0, { limit: 1, before: 'x' }), { events: [], hasMore: false })
  })

  t.test(`${name}: everything that was added becomes durable`, async (t) => {
    const index = await open()
    t.teardown(() => index.close())
    t.equal(index.durableLogOffset, 0)
    index.add(1, [event(1)])
    index.add(2, [])
    index.add(9, [event(2)])
    index.add(10, [])
    while (index.durableLogOffset < 10) await new Promise((resolve) => setTimeout(resolve, 5))
    t.equal(index.durableLogOffset, 10)
  })
}
