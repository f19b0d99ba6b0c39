/**
 * The registry that several processes share, over a simulated stream that loses messages, delays them and cuts
 * connections: the invariants of src/cluster/registry/replicatedEdits.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { deepStrictEqual, fail } from 'node:assert/strict'
import t from 'tap'
import type { ScopeId } from '../../src/model/scope.ts'
import { EntryCodec } from '../../src/cluster/registry/entryCodec.ts'
import { rowOfGeofence } from '../../src/registry/geofences/geofenceRows.ts'
import { rowOfRecord } from '../../src/registry/records/recordRows.ts'
import { type Registry, registryRows } from '../../src/registry/registry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import fc from '../kit/fastCheck.ts'
import { circle, contentsOf, folderOf, openReplica, SCOPE, START } from './replicatedKit.ts'
import { until } from '../kit/waiting.ts'
import type { EditStream, KeptEntry } from '../../src/cluster/registry/editStream.ts'
import { MemoryStream, type KeptEdit, type Trouble } from './memoryStream.ts'

const RUNS = 12 * Number(process.env.RINGFENCE_TEST_RUNS ?? 1)
const CODEC = new EntryCodec(registryRows())
const SCOPES: readonly ScopeId[] = [SCOPE, 3]

/** The content of the registry's memory, as values of entries. */
function entriesIn(registry: Registry): Map<string, unknown> {
  const entries = new Map<string, unknown>()
  for (const scope of SCOPES) {
    const store = registry.scope(scope)
    const changes = [
      ...[...store.geofences.inOrder()].map((geofence) => ({
        kind: 'geofences' as const,
        key: `${scope}.${geofence.id}`,
        row: rowOfGeofence(geofence),
      })),
      ...[...store.beacons.records.inOrder()].map((beacon) => ({
        kind: 'beacons' as const,
        key: `${scope}.${beacon.id}`,
        row: rowOfRecord(beacon),
      })),
    ]
    for (const change of changes) {
      const { name, value } = CODEC.entryOf(change)
      entries.set(name, JSON.parse(Buffer.from(value!).toString()))
    }
  }
  return entries
}

/** The records of a state of the stream, in the form of {@link entriesIn}. */
function recordsOf(state: ReadonlyMap<string, string>): Map<string, unknown> {
  const records = [...state].filter(([name]) => /^(?:geofences|beacons)\./.test(name))
  return new Map(records.map(([name, text]) => [name, JSON.parse(text)]))
}

interface Op {
  readonly on: number
  readonly what: 'create' | 'put' | 'putMany' | 'replace' | 'delete' | 'beacon' | 'settings'
  readonly scope: ScopeId
  readonly pairs: readonly string[]
  readonly pick: number
}

const anyOp: fc.Arbitrary<Op> = fc.record({
  on: fc.nat(1),
  what: fc.constantFrom('create', 'put', 'putMany', 'replace', 'replace', 'delete', 'beacon', 'settings'),
  scope: fc.constantFrom(...SCOPES),
  pairs: fc.array(fc.constantFrom('p', 'q', 'r', 's'), { minLength: 2, maxLength: 3 }),
  pick: fc.nat(9),
})

/** The answer to an edit. */
interface Told {
  readonly op: Op
  readonly token: string
  readonly outcome: 'done' | 'nothing to do' | 'refused' | 'nothing changed' | 'unknown'
}

/** Makes the edit of an op in a process. The token is the description of its records. */
function work(registry: Registry, { what, scope, pairs, pick }: Op, token: string): boolean {
  const [pair = 'p'] = pairs
  const named = (name: string) => circle(name, { description: token })
  const some = [...registry.scope(scope).geofences.inOrder()]
  const id = some[pick % Math.max(some.length, 1)]?.id ?? 'f'.repeat(24)
  switch (what) {
    case 'create':
      registry.geofences.create(scope, named(pair))
      return true
    case 'put':
      registry.geofences.put(scope, named(pair))
      return true
    case 'putMany':
      registry.geofences.putMany(scope, pairs.map(named))
      return true
    case 'replace':
      return registry.geofences.replace(scope, id, named(pair)) !== undefined
    case 'delete':
      return registry.geofences.delete(scope, id)
    case 'beacon':
      registry.beacons.put(scope, {
        type: 'ibeacon',
        uuid: pair,
        major: '1',
        minor: '1',
        description: token,
        tag: 't',
        externalId: pair,
        coordinates: [1, 2],
        enabled: true,
      })
      return true
    case 'settings':
      registry.settings.update(scope, { maxGapSeconds: pick + 1 })
      return true
  }
}

/** Checks that each edit in the history changed the state before it as it should, and nothing else. */
function checkHistory(history: readonly KeptEdit[], told: readonly Told[]): void {
  let before: ReadonlyMap<string, string> = new Map()
  const tokens = new Map<string, number>()
  for (const { state, entries } of history) {
    const pairs = [...recordsOf(state)].map(([name, value]) => {
      const { tag, externalId } = value as { tag: string; externalId: string }
      return `${name.split('.', 2).join('.')} ${tag} ${externalId}`
    })
    if (new Set(pairs).size !== pairs.length) fail(`a pair is taken twice: ${pairs}`)
    const puts = entries.filter(({ name, value }) => /^(?:geo|bea)/.test(name) && value !== undefined)
    const described = puts.map(
      ({ value }) => JSON.parse(Buffer.from(value!).toString()).definition.description as string,
    )
    for (const token of new Set(described)) tokens.set(token, (tokens.get(token) ?? 0) + 1)
    const { op } = told.find(({ token }) => token === described[0]) ?? {}
    for (const { name, value } of entries) {
      // Each is a new one.
      if (name.startsWith('audit.')) continue
      if (value === undefined && !before.has(name)) fail(`${name} was removed twice`)
      if (op?.what === 'create' && before.has(name)) fail(`${name} was created twice`)
      if (op?.what === 'replace' && !before.has(name)) fail(`${name} was replaced after its end`)
    }
    before = state
  }
  for (const { op, token, outcome } of told) {
    if (op.what === 'delete' || op.what === 'settings') continue
    const times = tokens.get(token) ?? 0
    const may = outcome === 'unknown' ? [0, 1] : [outcome === 'done' ? 1 : 0]
    if (!may.includes(times)) fail(`${op.what} ${token}: ${outcome}, and ${times} times in the stream`)
  }
}

t.test('property: replicas see complete edits in one order, and end with its result', async (t) => {
  const share = fc.constantFrom(0, 0, 0.1, 0.3)
  const property = fc.asyncProperty(
    fc.array(anyOp, { minLength: 10, maxLength: 60 }),
    // An edit is read anew from its first entry after a cut, and the audit doubles its entries.
    fc.record({ lost: share, unanswered: share, late: share, cut: share.map((cut) => cut / 2) }),
    fc.integer({ min: 1, max: 2 ** 31 - 2 }),
    async (ops, shares, seed) => {
      let state = seed
      const draw = () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff
      const trouble: Trouble = { draw, ...shares }
      const stream = new MemoryStream()
      const options = (i: number) => ({
        folder: folderOf(t),
        // The clocks of two machines.
        clock: new ManualClock(START + i * 60_000),
        editMs: 5000,
        retryMs: 1,
      })
      const first = options(0)
      const replicas = [
        await openReplica(t, async () => stream.client(trouble), first),
        await openReplica(t, async () => stream.client(trouble), options(1)),
      ]
      const look = (registry: Registry): void => {
        const now = stream.history.find(({ sequence }) => sequence === registry.revision)
        deepStrictEqual(entriesIn(registry), recordsOf(now!.state), `revision ${registry.revision}`)
      }
      const told = await Promise.all(
        ops.map(async (op, i): Promise<Told> => {
          const registry = replicas[op.on]!
          const token = `${i}`
          for (let turn = op.pick * 3; turn > 0; turn--) await sleep(0)
          try {
            const done = await registry.edit(() => {
              look(registry)
              return work(registry, op, token)
            })
            return { op, token, outcome: done ? 'done' : 'nothing to do' }
          } catch (error) {
            const { message, name } = error as Error
            if (name === 'RecordExists') return { op, token, outcome: 'refused' }
            // It is in the stream, and this process is late: connections were cut for longer than an edit waits.
            if (/was made but is not visible/.test(message)) return { op, token, outcome: 'done' }
            if (/Nothing was changed/.test(message)) return { op, token, outcome: 'nothing changed' }
            if (/not known|not seen/.test(message)) return { op, token, outcome: 'unknown' }
            throw error
          }
        }),
      )
      // Late appends may still arrive.
      await until(() => replicas.every(({ revision }) => revision === stream.history.at(-1)!.sequence))
      checkHistory(stream.history, told)
      for (const registry of replicas) look(registry)
      deepStrictEqual(contentsOf(replicas[0]!, SCOPES), contentsOf(replicas[1]!, SCOPES))
      replicas[0]!.close()
      const again = await openReplica(t, async () => stream.client(), first)
      const fresh = await openReplica(t, async () => stream.client())
      for (const registry of [again, fresh]) {
        deepStrictEqual(contentsOf(registry, SCOPES), contentsOf(replicas[1]!, SCOPES))
        registry.close()
      }
      replicas[1]!.close()
    },
  )
  await fc.assert(property, { numRuns: RUNS })
})

/** A connection that the test can cut. */
function wire(to: EditStream) {
  const state = {
    isCut: false,
    loseAnswers: false,
    /** Called after each entry that is handed over. */
    handedOver: async (_entry: KeptEntry): Promise<void> => {},
  }
  const check = (): void => {
    if (state.isCut) throw new Error('cut')
  }
  const stream: EditStream = {
    ...to,
    lastSequence: async () => (check(), to.lastSequence()),
    append: async (...edit) => {
      check()
      const answer = await to.append(...edit)
      state.isCut ||= state.loseAnswers
      check()
      return answer
    },
    async *follow(after, signal) {
      for await (const entry of to.follow(after, signal)) {
        check()
        yield entry
        await state.handedOver(entry)
      }
    },
  }
  return { state, stream }
}

t.test('a process that was away catches up at once, and a restarted one finds its place', async (t) => {
  const stream = new MemoryStream()
  const { state, stream: cuttable } = wire(stream.client())
  const a = await openReplica(t, async () => stream.client())
  const away = { folder: folderOf(t), retryMs: 1 }
  const b = await openReplica(t, async () => cuttable, away)
  const asleep = { folder: folderOf(t) }
  const c = await openReplica(t, async () => stream.client(), asleep)
  const put = (name: string, text = 'old') =>
    a.edit(() => a.geofences.put(SCOPE, circle(name, { description: text })).record)
  const [p, q, r] = [await put('p'), await put('q'), await put('r')]
  await a.edit(() =>
    a.geofences.putMany(
      SCOPE,
      ['k', 'l', 'm'].map((name) => circle(name)),
    ),
  )
  await until(() => b.revision === a.revision && c.revision === a.revision)
  state.isCut = true
  c.close()
  const before = contentsOf(b)

  // p and q swap their pairs. r is deleted, and another record takes its pair. A part of an edit of many records is
  // overwritten later.
  const move = (id: string, to: string) => a.edit(() => a.geofences.replace(SCOPE, id, circle(to)))
  await move(p.id, 'x')
  await move(q.id, 'p')
  await move(p.id, 'q')
  await a.edit(() => a.geofences.delete(SCOPE, r.id))
  await put('r', 'new')
  await a.edit(() =>
    a.geofences.putMany(
      SCOPE,
      ['k', 'l', 'm', 'n'].map((name) => circle(name, { description: 'many' })),
    ),
  )
  await put('l', 'newest')
  // The older record is changed last.
  await put('u')
  await put('v')
  await put('u', 'new')
  t.strictSame(contentsOf(b), before, 'it goes on with what it has')
  t.match(b.health, { ok: false })
  const seen = new Set<number>()
  const revisionBefore = b.revision
  state.isCut = false
  await until(() => {
    seen.add(b.revision)
    return b.revision === a.revision
  })
  t.strictSame([...seen], [revisionBefore, a.revision], 'nothing in between')
  t.match(b.health, { ok: true })
  t.strictSame(contentsOf(b), contentsOf(a))
  t.equal(b.scope(SCOPE).geofences.byPair('store', 'q')?.id, p.id)
  const again = await openReplica(t, async () => stream.client(), asleep)
  t.strictSame(contentsOf(again), contentsOf(a), 'from what it had on the disk')
  b.close()
  const fromDisk = await openReplica(t, async () => stream.client(), away)
  t.strictSame(contentsOf(fromDisk), contentsOf(a))
  t.strictSame(contentsOf(await openReplica(t, async () => stream.client())), contentsOf(a), 'from nothing')
})

t.test('a record that is deleted while a process catches up stays deleted', async (t) => {
  const stream = new MemoryStream()
  const { state, stream: cuttable } = wire(stream.client())
  const a = await openReplica(t, async () => stream.client())
  const b = await openReplica(t, async () => cuttable, { folder: folderOf(t), retryMs: 1 })
  const put = (name: string, text = 'old') =>
    a.edit(() => a.geofences.put(SCOPE, circle(name, { description: text })).record)
  state.isCut = true
  // The first edit is overwritten later, so that the order of the entries does not show its place.
  await put('overtaken')
  const brief = await put('brief')
  const moved = await put('moved')
  await put('overtaken', 'new')
  state.handedOver = async () => {
    state.handedOver = async () => {}
    await a.edit(() => a.geofences.delete(SCOPE, brief.id))
    await a.edit(() => a.geofences.replace(SCOPE, moved.id, circle('elsewhere')))
    await put('moved', 'another')
  }
  state.isCut = false
  await until(() => b.revision === a.revision)
  t.strictSame(contentsOf(b), contentsOf(a))
  t.equal(b.scope(SCOPE).geofences.byPair('store', 'brief'), undefined)
})

t.test('an edit without an answer is made once, and its result is not guessed', async (t) => {
  const stream = new MemoryStream()
  const { state, stream: cuttable } = wire(stream.client())
  const a = await openReplica(t, async () => stream.client())
  const b = await openReplica(t, async () => cuttable, { retryMs: 1 })
  const times = (text: string) =>
    stream.history
      .flatMap(({ entries }) => entries)
      .filter(({ name, value }) => name.startsWith('geofences.') && `${value}`.includes(text)).length
  const edit = (on: Registry, text: string) =>
    on.edit(() => on.geofences.put(SCOPE, circle('1', { description: text })).record)

  state.loseAnswers = true
  const first = edit(b, 'unanswered')
  await until(() => state.isCut)
  Object.assign(state, { loseAnswers: false, isCut: false })
  t.match(await first, { description: 'unanswered' })
  t.equal(times('unanswered'), 1)

  state.loseAnswers = true
  const second = edit(b, 'overtaken')
  await until(() => state.isCut)
  await edit(a, 'later')
  Object.assign(state, { loseAnswers: false, isCut: false })
  t.match(await second, { description: 'overtaken' }, 'its entry in the audit tells that it was made')
  t.equal(times('overtaken'), 1)
  t.equal(b.scope(SCOPE).geofences.byPair('store', '1')?.description, 'later')
})

t.test('without connection: reads continue, edits are refused in time and leave nothing', async (t) => {
  const stream = new MemoryStream()
  const { state, stream: cuttable } = wire(stream.client())
  const troubles: string[] = []
  const registry = await openReplica(t, async () => cuttable, {
    retryMs: 1,
    editMs: 50,
    troubled: ({ message }) => troubles.push(message),
  })
  await registry.edit(() => registry.geofences.put(SCOPE, circle('1')))
  state.isCut = true
  const edits = ['2', '3'].map((name) => registry.edit(() => registry.geofences.put(SCOPE, circle(name))))
  t.match(await Promise.allSettled(edits), [
    { reason: { code: 503, message: /It is not known whether the change was made/ } },
    { reason: { code: 503, message: /Nothing was changed/ } },
  ])
  t.ok(troubles.includes('cut'))
  t.equal(registry.scope(SCOPE).geofences.records.size, 1)
  t.equal(
    await registry.edit(() => registry.scope(SCOPE).geofences.records.size),
    1,
    'what changes nothing needs nobody',
  )
  state.isCut = false
  await until(() => registry.health.ok)
  await registry.edit(() => registry.geofences.put(SCOPE, circle('4')))
  t.equal(registry.scope(SCOPE).geofences.records.size, 2)
  t.throws(() => registry.geofences.put(SCOPE, circle('5')), { message: /within an edit/ })
})

t.test('dates are stored once, by the first process, before what they make room for', async (t) => {
  const stream = new MemoryStream()
  const clock = new ManualClock(START)
  const open = () => openReplica(t, async () => stream.client(), { clock })
  const [a, b] = [await open(), await open()]
  await a.edit(() =>
    a.geofences.putMany(
      SCOPE,
      Array.from({ length: 500 }, (_, i) =>
        circle(`${i}`, i % 2 === 0 ? { deleteAfter: START + 1000 } : { disableAfter: START + 1000 }),
      ),
    ),
  )
  await until(() => b.revision === a.revision)
  const before = stream.history.length
  clock.advance(1000)
  const swept = [a, b].map((registry) => registry.edit(() => registry.geofences.sweep()))
  const created = b.edit(() => b.geofences.create(SCOPE, circle('0')))
  await Promise.all([...swept, created])
  await until(() => a.revision === b.revision)
  t.equal(stream.history.length, before + 6, 'a hundred of the sweep at a time, each once, and one creation')
  t.equal(a.scope(SCOPE).geofences.records.size, 251)
  t.notOk(
    [...a.scope(SCOPE).geofences.inOrder()].some(({ disableAfter, enabled }) => disableAfter && enabled),
  )
  const brief = { deleteAfter: START + 2000 }
  const gone = await b.edit(() => b.geofences.create(SCOPE, circle('brief', brief)))
  clock.advance(1000)
  const next = await b.edit(() => b.geofences.create(SCOPE, circle('brief')))
  t.not(next.id, gone.id, 'what is past its date makes room by itself')
  await until(() => a.revision === b.revision)
  t.strictSame(contentsOf(a), contentsOf(b))
})

t.test('a foreign entry is skipped by all processes alike, until its name gets a valid one', async (t) => {
  const stream = new MemoryStream()
  const told: string[] = []
  const options = { folder: folderOf(t), unreadable: (entry: string) => void told.push(entry) }
  const registry = await openReplica(t, async () => stream.client(), options)
  const { record: geofence } = await registry.edit(() => registry.geofences.put(SCOPE, circle('1')))
  const whole = JSON.parse(stream.history.at(-1)!.state.get(`geofences.${SCOPE}.${geofence.id}`)!)
  const bad: readonly (readonly [name: string, value: string])[] = [
    ['elephants.1', '{}'],
    ['geofences.2.x', '{}'],
    ['settings.2', '{"scope":3,"definition":{}}'],
    ['projects.1', 'no JSON'],
    [`geofences.2.${'a'.repeat(24)}`, JSON.stringify(whole)],
    [
      `geofences.${SCOPE}.${geofence.id}`,
      JSON.stringify({ ...whole, definition: { ...whole.definition, shape: { kind: 'circle' } } }),
    ],
    [
      `geofences.${SCOPE}.${'b'.repeat(24)}`,
      JSON.stringify({
        ...whole,
        id: 'b'.repeat(24),
        externalId: 'hours',
        definition: { ...whole.definition, operatingHours: { Someday: 1 } },
      }),
    ],
  ]
  for (const [name, value] of bad) stream.write(name, value)
  await until(() => registry.revision === stream.history.at(-1)!.sequence)
  const names = bad.map(([name]) => name)
  t.strictSame(told, names)
  t.equal(registry.scope(SCOPE).geofences.records.size, 0, 'what cannot be read is not there')
  t.strictSame([...registry.unreadable.keys()].toSorted(), names.toSorted())

  await registry.edit(() => registry.geofences.put(SCOPE, circle('1')))
  stream.write(`geofences.${SCOPE}.${geofence.id}`, JSON.stringify({ ...whole, externalId: 'mended' }))
  await until(() => registry.revision === stream.history.at(-1)!.sequence)
  const left = names.filter((name) => name !== `geofences.${SCOPE}.${geofence.id}`)
  t.strictSame([...registry.unreadable.keys()].toSorted(), left.toSorted())
  t.equal(registry.scope(SCOPE).geofences.records.size, 2)
  registry.close()
  const again = await openReplica(t, async () => stream.client(), options)
  t.strictSame([...again.unreadable.keys()].toSorted(), left.toSorted(), 'after a start')
  const fresh = await openReplica(t, async () => stream.client(), { ...options, folder: folderOf(t) })
  t.strictSame(contentsOf(again), contentsOf(fresh))
})
