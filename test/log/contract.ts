import { deepStrictEqual } from 'node:assert/strict'
import type { Test } from 'tap'
import type {
  CommitLog,
  Committed,
  LogFrame,
  PartitionLog,
  SharedSnapshotStore,
  SnapshotStore,
} from '../../src/log/port.ts'
import fc from '../kit/fastCheck.ts'
import { until } from '../kit/waiting.ts'

/** How often the properties run: a multiple of a small number. */
export const RUNS = Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)

/** An empty log. A new `open` after `close` finds what was written before. */
export interface LogSubject {
  open(): Promise<AnyLog>
}

/** What the implementations have in common, for their tests. */
export type AnyLog = CommitLog | PartitionLog

/** An empty snapshot store. A new `open` finds what was written before. */
export interface SnapshotSubject {
  open(): Promise<SnapshotStore | SharedSnapshotStore>
  /** Flips a byte of a stored snapshot. */
  damage(partition: number, offset: number): Promise<void>
}

/** Appends and waits until it is durable. */
export function append(log: AnyLog, ...parts: Uint8Array[]): Promise<void> {
  return new Promise((resolve) => {
    log.append(parts, () => resolve())
  })
}

export function payloads(frames: Iterable<LogFrame>): Buffer[] {
  return Array.from(frames, ({ payload }) => Buffer.from(payload))
}

export function offsets(frames: Iterable<LogFrame>): number[] {
  return Array.from(frames, ({ offset }) => offset)
}

/** The frames of either kind of log. Their payloads stay valid. */
export async function framesOf(log: AnyLog, offset: number): Promise<LogFrame[]> {
  const found: LogFrame[] = []
  for await (const frame of log.read(offset)) found.push(frame)
  return found
}

async function payloadsOf(log: AnyLog, offset: number): Promise<Buffer[]> {
  return payloads(await framesOf(log, offset))
}

async function offsetsOf(log: AnyLog, offset: number): Promise<number[]> {
  return offsets(await framesOf(log, offset))
}

/** What every implementation of {@link CommitLog} and {@link PartitionLog} must do. */
export function commitLogContract(t: Test, name: string, create: (t: Test) => Promise<LogSubject>): void {
  t.test(`${name} fulfils the contract of a commit log`, async (t) => {
    t.test('an empty log', async (t) => {
      const log = await (await create(t)).open()
      t.equal(log.offset, 0)
      t.strictSame(await offsetsOf(log, 0), [])
      t.strictSame(await offsetsOf(log, 1), [])
      log.trim(100)
      await log.close()
      await log.close()
    })

    t.test('frames have the offsets 1, 2, 3 … and come back unchanged, also after reopening', async (t) => {
      const subject = await create(t)
      let log = await subject.open()
      const written = [
        [Buffer.from('one')],
        [],
        [Buffer.from('th'), Buffer.alloc(0), Buffer.from('ree')],
        [Buffer.alloc(5_000, 4)],
        [Buffer.alloc(3_000)],
      ]
      for (const [i, parts] of written.entries()) {
        await append(log, ...parts)
        t.equal(log.offset, i + 1)
      }
      const expected = written.map((parts) => Buffer.concat(parts))
      t.strictSame(await payloadsOf(log, 1), expected)
      t.strictSame(await offsetsOf(log, 0), [1, 2, 3, 4, 5])
      t.strictSame(await offsetsOf(log, 4), [4, 5])
      t.strictSame(await offsetsOf(log, 6), [])
      t.ok(log.bytes > 8_000)
      await log.close()
      log = await subject.open()
      t.equal(log.offset, 5)
      t.strictSame(await payloadsOf(log, 1), expected)
      await append(log, Buffer.from('six'))
      t.strictSame(await payloadsOf(log, 6), [Buffer.from('six')])
      await log.close()
    })

    t.test('one append at a time; none after close; the caller may reuse the parts at once', async (t) => {
      const log = await (await create(t)).open()
      const part = Buffer.from('mine')
      const durable = append(log, part)
      part.fill(0)
      t.throws(() => log.append([part], () => {}), /in flight/)
      t.equal(log.offset, 0, 'not counted before it is durable')
      t.strictSame(await offsetsOf(log, 1), [])
      await durable
      t.strictSame(await payloadsOf(log, 1), [Buffer.from('mine')])
      const last = append(log, Buffer.from('last'))
      await log.close()
      await last
      t.throws(() => log.append([part], () => {}), /closed/)
    })

    t.test('a frame is handed out once, with its offset and events, when readers can find it', async (t) => {
      const log = await (await create(t)).open()
      const handed: Committed[] = []
      const event = { scope: 3, id: '0'.repeat(24), type: 'bought', deviceId: 'd', json: '{}' }
      const appends = [[], [event, { ...event, id: '1'.repeat(24) }], [{ ...event, id: '2'.repeat(24) }]]
      for (const [i, events] of appends.entries()) {
        await new Promise<void>((resolve) => {
          const done = (frame: Committed) => {
            handed.push(frame)
            t.equal(log.offset, frame.offset)
            resolve()
          }
          log.append([Buffer.from([i])], done, events)
        })
        t.strictSame(await offsetsOf(log, i + 1), [i + 1])
      }
      t.strictSame(
        handed,
        appends.map((events, i) => ({ offset: i + 1, events })),
      )
      await log.close()
    })

    t.test('done may append the next frame', async (t) => {
      const log = await (await create(t)).open()
      await new Promise<void>((resolve) => {
        const next = (): void => {
          if (log.offset === 50) resolve()
          else log.append([Buffer.alloc(300, log.offset)], next)
        }
        next()
      })
      t.equal((await offsetsOf(log, 1)).length, 50)
      await log.close()
    })

    t.test('a reader sees the durable frames, also those that were added after it began', async (t) => {
      const log = await (await create(t)).open()
      await append(log, Buffer.from('1'))
      await append(log, Buffer.from('2'))
      const seen: number[] = []
      let held: Uint8Array | undefined
      for await (const { offset, payload } of log.read(1)) {
        held ??= payload
        seen.push(offset)
        if (offset < 40) await append(log, Buffer.alloc(700, offset))
      }
      t.strictSame(
        seen,
        Array.from({ length: 41 }, (_, i) => i + 1),
      )
      t.strictSame(Buffer.from(held!), Buffer.from('1'), 'a payload stays valid')
      await log.close()
    })

    t.test('trim removes frames before an offset, and never others', async (t) => {
      const subject = await create(t)
      let log = await subject.open()
      for (let i = 1; i <= 100; i++) await append(log, Buffer.alloc(500, i))
      const before = log.bytes
      log.trim(60)
      await until(() => log.bytes < before)
      t.strictSame((await offsetsOf(log, 60)).length, 41)
      await t.rejects(offsetsOf(log, 1), { name: 'LogTrimmed' })
      log.trim(1_000_000)
      await append(log, Buffer.from('after'))
      await log.close()
      log = await subject.open()
      t.equal(log.offset, 101, 'offsets go on')
      t.strictSame(await payloadsOf(log, 101), [Buffer.from('after')])
      await log.close()
    })

    t.test('with frames of any size, and reopened at any point', async (t) => {
      const payload = fc.oneof(
        fc.uint8Array({ maxLength: 80 }),
        fc.tuple(fc.nat(3_000), fc.nat(255)).map(([length, byte]) => new Uint8Array(length).fill(byte)),
        fc.tuple(fc.nat(2_000), fc.nat(1_999)).map(([length, at]) => {
          const bytes = new Uint8Array(length)
          if (at < length) bytes[at] = 1
          return bytes
        }),
      )
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ payload, reopen: fc.nat(9).map((n) => n === 0) }), { maxLength: 20 }),
          fc.nat(25),
          async (steps, from) => {
            const subject = await create(t)
            let log = await subject.open()
            for (const step of steps) {
              await append(log, step.payload)
              if (!step.reopen) continue
              await log.close()
              log = await subject.open()
            }
            const expected = steps.map((step) => Buffer.from(step.payload))
            deepStrictEqual(await payloadsOf(log, from), expected.slice(Math.max(0, from - 1)))
            await log.close()
          },
        ),
        { numRuns: 30 * RUNS },
      )
    })
  })
}

/** What every implementation of {@link SnapshotStore} and {@link SharedSnapshotStore} must do. */
export function snapshotContract(t: Test, name: string, create: (t: Test) => Promise<SnapshotSubject>): void {
  t.test(`${name} fulfils the contract of a snapshot store`, async (t) => {
    t.test('it is empty at first', async (t) => {
      const snapshots = await (await create(t)).open()
      t.equal(await snapshots.newest(0), undefined)
      t.equal(await snapshots.trimOffset(0), 0)
    })

    t.test('the newest of each partition is returned, and two are kept', async (t) => {
      const subject = await create(t)
      let snapshots = await subject.open()
      await snapshots.write(3, { offset: 10, bytes: Buffer.from('ten') })
      t.equal(await snapshots.trimOffset(3), 0, 'one is not enough to trim by')
      await snapshots.write(3, { offset: 20, bytes: Buffer.from('twenty') })
      await snapshots.write(63, { offset: 5, bytes: Buffer.alloc(0) })
      t.equal(await snapshots.trimOffset(3), 11)
      await snapshots.write(3, { offset: 30, bytes: Buffer.alloc(200_000, 30) })
      for (let round = 0; round < 2; round++) {
        t.equal((await snapshots.newest(3))?.offset, 30)
        t.strictSame(Buffer.from((await snapshots.newest(3))!.bytes), Buffer.alloc(200_000, 30))
        t.equal(await snapshots.trimOffset(3), 21)
        t.equal((await snapshots.newest(63))?.offset, 5)
        t.equal((await snapshots.newest(63))?.bytes.length, 0)
        t.equal(await snapshots.trimOffset(63), 0)
        t.equal(await snapshots.newest(4), undefined)
        snapshots = await subject.open()
      }
    })

    t.test('a damaged one is skipped, and no longer counts', async (t) => {
      const subject = await create(t)
      let snapshots = await subject.open()
      for (const offset of [10, 20]) {
        await snapshots.write(1, { offset, bytes: Buffer.from(`at ${offset}`) })
      }
      await subject.damage(1, 20)
      snapshots = await subject.open()
      t.strictSame(await snapshots.newest(1), { offset: 10, bytes: Buffer.from('at 10') })
      t.equal(await snapshots.trimOffset(1), 0, 'only one is whole')
      await snapshots.write(1, { offset: 30, bytes: Buffer.from('at 30') })
      t.equal(await snapshots.trimOffset(1), 11, 'the two whole ones are 10 and 30')
      await subject.damage(1, 30)
      snapshots = await subject.open()
      t.equal((await snapshots.newest(1))?.offset, 10)
      await subject.damage(1, 10)
      t.equal(await (await subject.open()).newest(1), undefined)
    })
  })
}
