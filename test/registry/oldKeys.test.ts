/** Keys that were replaced and remain valid for a while: in one process, and in processes that share the registry. */
import Database from 'better-sqlite3'
import { join } from 'node:path'
import t from 'tap'
import { REGISTRY_FILE } from '../../src/registry/store/database.ts'
import { KEY_KINDS, type KeyKind, type KeySet } from '../../src/registry/projects/keys.ts'
import type { Credentials } from '../../src/http/credentials.ts'
import { openRegistry, type Registry } from '../../src/registry/registry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import fc from '../kit/fastCheck.ts'
import { MemoryStream } from './memoryStream.ts'
import { folderOf, openReplica, START } from './replicatedKit.ts'
import { until } from '../kit/waiting.ts'

t.setTimeout(120_000)

const RUNS = Math.ceil(20 * Number(process.env.RINGFENCE_TEST_RUNS ?? 1))
const DAY = 86_400_000
const MOST_OLD_KEYS = 10

type Op =
  | { readonly rotate: KeyKind; readonly days: number | undefined }
  | { readonly advance: number }
  | { readonly reopen: true }

const anyOp: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      rotate: fc.constantFrom<KeyKind>('testSecret', 'livePublishable'),
      days: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(1, 1.5, 7, 90) },
        fc.constantFrom(undefined, 0, -1, 90.1),
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ advance: fc.constantFrom(1, DAY / 2, DAY, 6 * DAY, 90 * DAY) }) },
  { weight: 1, arbitrary: fc.constant({ reopen: true } as const) },
)

/** A key that was shown at some time, with its expected properties. */
interface Shown {
  readonly key: string
  readonly kind: KeyKind
  validUntil: number
  /** The credentials that each registry first returned for it. */
  readonly credentials: Map<Registry, Credentials>
}

t.test('a key is valid until its date in every process, and so is what was opened with it', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyOp, { maxLength: 24 }), fc.boolean(), async (ops, isShared) => {
      await t.test('', { bail: true }, async (t) => {
        const clock = new ManualClock(START)
        const stream = new MemoryStream()
        const folder = folderOf(t)
        const open = async (): Promise<Registry> =>
          isShared
            ? openReplica(t, async () => stream.client(), { clock, folder })
            : openRegistry({ folder, clock, createIndex: createGeofenceIndex })
        let registry = await open()
        t.teardown(() => registry.close())
        const other = isShared ? await openReplica(t, async () => stream.client(), { clock }) : undefined
        const first: KeySet = (await registry.edit(() => registry.createFirstProject()))!
        const shown: Shown[] = KEY_KINDS.map((kind) => ({
          key: first[kind],
          kind,
          validUntil: Infinity,
          credentials: new Map(),
        }))
        const check = async () => {
          if (other !== undefined) await until(() => other.revision === registry.revision)
          for (const one of [registry, ...(other ? [other] : [])]) {
            for (const { key, validUntil, credentials } of shown) {
              const isValid = clock.now() < validUntil
              const found = one.keys.authenticate(key)
              t.equal(found !== undefined, isValid)
              const held = credentials.get(one)
              if (held !== undefined) t.equal(one.keys.isCurrent(held), isValid, 'what is open with it')
              else if (found !== undefined) credentials.set(one, found)
            }
            const listed = one.keys
              .list(1)
              .map(({ kind, lastFour, validUntil }) => ({ kind, lastFour, validUntil }))
            const valid = shown
              .filter(({ validUntil }) => clock.now() < validUntil)
              .map(({ key, kind, validUntil }) => ({
                kind,
                lastFour: key.slice(-4),
                validUntil: validUntil === Infinity ? null : validUntil,
              }))
            const sorted = (list: typeof listed) => list.map((each) => JSON.stringify(each)).sort()
            t.strictSame(sorted(listed), sorted(valid))
          }
        }
        await check()
        for (const op of ops) {
          if ('advance' in op) clock.advance(op.advance)
          else if ('reopen' in op) {
            registry.close()
            registry = await open()
          } else {
            const { rotate: kind, days } = op
            const date = days === undefined ? undefined : clock.now() + days * DAY
            const valid = shown.filter((one) => one.kind === kind && clock.now() < one.validUntil)
            const isRefused =
              days !== undefined && !(days > 0 && days <= 90 && valid.length - 1 < MOST_OLD_KEYS)
            const rotating = registry.edit(() => registry.keys.rotate(1, kind, date))
            if (isRefused) await t.rejects(rotating, { name: 'OverlapRefused' })
            else {
              const { key, record, old } = (await rotating)!
              t.match(record, { kind, lastFour: key.slice(-4), validUntil: null })
              t.equal(old?.validUntil, date)
              for (const one of valid) {
                if (date === undefined) one.validUntil = clock.now()
                else if (one.validUntil === Infinity) one.validUntil = date
              }
              shown.push({ key, kind, validUntil: Infinity, credentials: new Map() })
            }
          }
          await check()
        }
      })
    }),
    { numRuns: RUNS },
  )
})

t.test('data of expired keys is removed with the next rotation', async (t) => {
  const clock = new ManualClock(START)
  const folder = folderOf(t)
  const registry = openRegistry({ folder, clock, createIndex: createGeofenceIndex })
  registry.createFirstProject()
  registry.keys.rotate(1, 'testSecret', clock.now() + DAY)
  clock.advance(2 * DAY)
  registry.keys.rotate(1, 'testSecret', clock.now() + DAY)
  registry.close()
  const database = new Database(join(folder, REGISTRY_FILE))
  t.equal(database.prepare('SELECT count(*) FROM oldKeys').pluck().get(), 1)
  database.close()
})
