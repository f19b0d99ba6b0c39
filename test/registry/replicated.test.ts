/**
 * The registry that several processes share, over a simulated stream that loses, delays and cuts: the invariants of
 * src/registry/replicatedEdits.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { deepStrictEqual, fail } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { ScopeId } from '../../src/model/scope.ts'
import { entryOf } from '../../src/registry/entryCodec.ts'
import { toRow } from '../../src/registry/geofenceRow.ts'
import { rowOfBeacon } from '../../src/registry/beaconRow.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { circle, contentsOf, folderOf, openReplica, SCOPE, START, until } from './replicatedKit.ts'
import { MemoryStream, type KeptEdit, type Trouble } from './memoryStream.ts'

const RUNS = 12 * Number(process.env.RINGFENCE_TEST_RUNS ?? 1)
const SCOPES: readonly ScopeId[] = [SCOPE, 3]

/** What is in memory, as the values of entries. */
function entriesIn(registry: Registry): Map<string, unknown> {
  const entries = new Map<string, unknown>()
  for (const scope of SCOPES) {
    const store = registry.scope(scope)
    const changes = [
      ...[...store.wholeInOrder()].map((geofence) => ({
        kind: 'geofences' as const,
        key: `${scope}.${geofence.id}`,
        row: toRow(geofence),
      })),
      ...[...store.beacons.records.inOrder()].map((beacon) => ({
        kind: 'beacons' as const,
        key: `${scope}.${beacon.id}`,
        row: rowOfBeacon(beacon),
      })),
    ]
    for (const change of changes) {
      const { name, value } = entryOf(change)
      entries.set(name, JSON.parse(Buffer.from(value!).toString()))
    }
  }
  return entries
}

/** Of a state of the stream, what {@link entriesIn} has. */
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

const op: fc.Arbitrary<Op> = fc.record({
  on: fc.nat(1),
  what: fc.constantFrom('create', 'put', 'putMany', 'replace', 'replace', 'delete', 'beacon', 'settings'),
  scope: fc.constantFrom(...SCOPES),
  pairs: fc.array(fc.constantFrom('p', 'q', 'r', 's'), { minLength: 2, maxLength: 3 }),
  pick: fc.nat(9),
})

/** What became of an edit. */
interface Told {
  readonly op: Op
  readonly token: string
  readonly outcome: 'done' | 'nothing to do' | 'refused' | 'nothing changed' | 'unknown'
}

/** Makes the edit of an op on a process; its records are described by the token. */
function work(registry: Registry, { what, scope, pairs, pick }: Op, token: string): boolean {
  const [pair = 'p'] = pairs
  const named = (name: string) => circle(name, { description: token })
  const some = [...registry.scope(scope).wholeInOrder()]
  const id = some[pick % Math.max(some.length, 1)]?.id ?? 'f'.repeat(24)
  switch (what) {
    case 'create':
      registry.createGeofence(scope, named(pair))
      return true
    case 'put':
      registry.putGeofence(scope, named(pair))
      return true
    case 'putMany':
      registry.putMany(scope, pairs.map(named))
      return true
    case 'replace':
      return registry.replaceGeofence(scope, id, named(pair)) !== undefined
    case 'delete':
      return registry.deleteGeofence(scope, id)
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
      registry.updateSettings(scope, { maxGapSeconds: pick + 1 })
      return true
  }
}

/** Each edit in the history did what it does to the state before it, and to nothing else. */
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

t.test('property: replicas see whole edits in one order, and end as a sequence of edits would', async (t) => {
  const share = fc.constantFrom(0, 0, 0.1, 0.3)
  const property = fc.asyncProperty(
    fc.array(op, { minLength: 10, maxLength: 60 }),
    fc.record({ lost: share, unanswered: share, late: share, cut: share }),
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
            if (name === 'GeofenceExists') return { op, token, outcome: 'refused' }
            if (/Nothing was changed/.test(message)) return { op, token, outcome: 'nothing changed' }
            if (/not known|not seen/.test(message)) return { op, token, outcome: 'unknown' }
            throw error
          }
        }),
      )
      // What was late may come yet.
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
