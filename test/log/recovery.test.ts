import { deepStrictEqual, equal, ok, throws } from 'node:assert/strict'
import { crc32 } from 'node:zlib'
import t from 'tap'
import type { CommitLog } from '../../src/log/port.ts'
import { openCommitLog } from '../../src/log/commitLog.ts'
import { LogDamaged } from '../../src/log/errors.ts'
import { frameBytes } from '../../src/log/frame.ts'
import { createLog, encodeLogManifest, encodeSegmentHeader } from '../../src/log/segments.ts'
import fc from '../kit/fastCheck.ts'
import { append, payloads, offsets, RUNS } from './contract.ts'
import { MachineDown, MemoryFiles, seededRandom } from './memoryFiles.ts'

const STORE_ID = '0123456789abcdef'
const STORE = { folder: '/store', storeId: STORE_ID }
const MANIFEST = '/store/log/MANIFEST'
const SEGMENT_BYTES = 4096

type Contents = ReadonlyMap<string, Buffer>

function open(
  files: MemoryFiles,
  failed = (error: Error): void => {
    throw error
  },
): CommitLog {
  return openCommitLog({ store: STORE, durability: 'fsync', segmentBytes: SEGMENT_BYTES, failed, files })
}

function newDisk(): MemoryFiles {
  const files = new MemoryFiles()
  createLog(files, STORE.folder, STORE_ID)
  return files
}

/** The disk after these frames were acknowledged and the process was killed. */
async function diskWith(frames: readonly Uint8Array[]): Promise<Contents> {
  const files = newDisk()
  const log = open(files)
  for (const frame of frames) await append(log, frame)
  return files.kill().contents()
}

function segment(first: number): string {
  return `/store/log/${String(first).padStart(16, '0')}.seg`
}

function changed(contents: Contents, path: string, change: (bytes: Buffer) => Buffer | void): Contents {
  const copy = new Map(contents)
  const bytes = Buffer.from(copy.get(path)!)
  copy.set(path, change(bytes) ?? bytes)
  return copy
}

/** The result of opening: the recovered payloads, or the file that the error names. */
function recovered(contents: Contents): Buffer[] | { refused: string } {
  const files = MemoryFiles.of(contents)
  try {
    return payloads(open(files).read(1))
  } catch (error) {
    if (!(error instanceof LogDamaged)) throw error
    ok(error.message.startsWith(`${error.file}: `))
    deepStrictEqual(files.kill().contents(), contents, 'a refusal changes nothing')
    return { refused: error.file }
  }
}

function noise(length: number, seed: number): Buffer {
  const random = seededRandom(seed)
  return Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)))
}

/** The place of the last frame in the newest segment, if all of `frames` are in it. */
function lastFrameOf(frames: readonly Uint8Array[]): { from: number; to: number } {
  const sizes = frames.map((frame) => frameBytes(frame.length))
  const to = 64 + sizes.reduce((sum, size) => sum + size, 0)
  return { from: to - sizes.at(-1)!, to }
}

/** Payloads whose stored form is a trap: zeros, one bit, the log's own marks, and ordinary bytes. */
const LAST_PAYLOADS: Readonly<Record<string, Buffer>> = {
  empty: Buffer.alloc(0),
  short: Buffer.from('a commit'),
  noise: noise(1_500, 2),
  zeros: Buffer.alloc(1_500),
  'one bit a sector': Buffer.alloc(1_500).fill(Buffer.concat([Buffer.from([1]), Buffer.alloc(511)])),
  'marks of frames': Buffer.from('RFfrHEADTAIL'.repeat(100)),
}

t.test('a torn last frame is cut off, and the log continues', async (t) => {
  for (const [name, last] of Object.entries(LAST_PAYLOADS)) {
    await t.test(name, async (t) => {
      const kept = [Buffer.from('first'), noise(700, 1)]
      const contents = await diskWith([...kept, last])
      const { from, to } = lastFrameOf([...kept, last])
      t.strictSame(recovered(contents), [...kept, last])

      for (let end = from; end < to; end++) {
        deepStrictEqual(
          recovered(changed(contents, segment(1), (bytes) => bytes.subarray(0, end))),
          kept,
          `the file ends at byte ${end}`,
        )
        // If only zeros are lost, the frame is complete.
        const cut = changed(contents, segment(1), (bytes) => bytes.fill(0, end, to))
        const lost = !cut.get(segment(1))!.equals(contents.get(segment(1))!)
        deepStrictEqual(recovered(cut), lost ? kept : [...kept, last], `zeros from byte ${end}`)
      }

      const sectors: [number, number][] = []
      for (let at = from; at < to; at = (Math.floor(at / 512) + 1) * 512) {
        sectors.push([at, Math.min(to, (Math.floor(at / 512) + 1) * 512)])
      }
      for (let lost = 1; lost < 2 ** sectors.length; lost++) {
        const cut = changed(contents, segment(1), (bytes) => {
          for (const [i, [start, end]] of sectors.entries()) if (lost & (2 ** i)) bytes.fill(0, start, end)
        })
        deepStrictEqual(recovered(cut), kept, `sectors ${lost.toString(2)} were never written`)
      }
      t.pass(`${to - from} bytes, ${sectors.length} sectors`)

      for (let at = from; at < to; at++) {
        // The lowest bit that is set. A sector or word with only one bit becomes blank without it.
        const outcome = recovered(
          changed(contents, segment(1), (bytes) => {
            bytes[at] = bytes[at]! ^ (bytes[at]! & -bytes[at]! || 1)
          }),
        )
        deepStrictEqual(outcome, { refused: segment(1) }, `a flipped bit in byte ${at} is no torn write`)
      }

      const files = MemoryFiles.of(changed(contents, segment(1), (bytes) => bytes.fill(0, to - 4, to)))
      const log = open(files)
      t.equal(log.offset, 2)
      await append(log, Buffer.from('next'))
      t.strictSame(recovered(files.kill().contents()), [...kept, Buffer.from('next')])
    })
  }
})

t.test('a torn frame in a segment that was just created', async (t) => {
  const kept = Array.from({ length: 3 }, (_, i) => noise(1_000, i + 1))
  const contents = await diskWith([...kept, noise(1_000, 9)])
  const path = segment(4)
  t.ok(contents.has(path))
  for (let end = 64; end < 64 + frameBytes(1_000); end++) {
    deepStrictEqual(recovered(changed(contents, path, (bytes) => bytes.subarray(0, end))), kept)
  }
  for (let end = 0; end < 64; end++) {
    deepStrictEqual(
      recovered(changed(contents, path, (bytes) => bytes.subarray(0, end))),
      { refused: path },
      'its header was durable before MANIFEST named it',
    )
  }
})

t.test('a flipped bit anywhere: all frames, or a refusal that names the file', async (t) => {
  const frames = [
    Buffer.from('a short frame'),
    noise(600, 1),
    Buffer.alloc(1_300),
    noise(300, 2),
    Buffer.alloc(0),
    Buffer.alloc(1_100).fill(Buffer.concat([Buffer.from([4]), Buffer.alloc(511)])),
    noise(900, 3),
    noise(1_000, 4),
    noise(2_000, 5),
    Buffer.alloc(1_200),
    Buffer.from('the last one'),
  ]
  const contents = await diskWith(frames)
  t.strictSame([...contents.keys()].toSorted(), [segment(1), segment(7), segment(9), MANIFEST])
  t.strictSame(recovered(contents), frames)
  let whole = 0
  let refused = 0
  for (const [path, bytes] of contents) {
    const random = seededRandom(bytes.length)
    // After its last frame, the newest segment contains zeros up to its full size. Some of them are enough here.
    const end =
      path === segment(9) ? 64 + frameBytes(2_000) + frameBytes(1_200) + frameBytes(12) + 100 : bytes.length
    for (let at = 0; at < end; at++) {
      const drawn = 1 << Math.floor(random() * 8)
      for (let bit = 1; bit < 256; bit *= 2) {
        if (RUNS < 8 && bit !== drawn) continue
        const outcome = recovered(
          changed(contents, path, (copy) => {
            copy[at] = copy[at]! ^ bit
          }),
        )
        if (Array.isArray(outcome)) {
          deepStrictEqual(outcome, frames, `${path}, byte ${at}, bit ${bit}`)
          whole++
        } else {
          equal(outcome.refused, path, `byte ${at}, bit ${bit}`)
          refused++
        }
      }
    }
  }
  t.comment(`${whole} recovered whole, ${refused} refused`)
  t.ok(refused > 8_000)
  t.ok(whole < refused / 50, 'only bits behind the last frame mean nothing')
})

t.test('a blank sector in the last frame is a torn write; anywhere else it is damage', async (t) => {
  const frames = Array.from({ length: 5 }, (_, i) => noise(1_200, i + 1))
  const contents = await diskWith(frames)
  for (const [path, last] of [
    [segment(1), 0],
    [segment(4), 64 + frameBytes(1_200)],
  ] as const) {
    for (let at = 0; at < contents.get(path)!.length; at += 512) {
      const blank = changed(contents, path, (bytes) => bytes.fill(0, at, Math.min(bytes.length, at + 512)))
      if (blank.get(path)!.equals(contents.get(path)!)) continue
      const outcome = recovered(blank)
      if (path === segment(4) && at >= last) t.strictSame(outcome, frames.slice(0, 4), `byte ${at}`)
      else t.strictSame(outcome, { refused: path }, `byte ${at} of ${path}`)
    }
  }
})

t.test('anything after a torn frame is damage', async () => {
  const kept = [noise(700, 1)]
  const contents = await diskWith([...kept, noise(900, 2), noise(200, 3)])
  const { from } = lastFrameOf([...kept, noise(900, 2)])
  for (let at = from; at < from + frameBytes(900); at++) {
    deepStrictEqual(
      recovered(changed(contents, segment(1), (bytes) => bytes.fill(0, at, from + frameBytes(900)))),
      { refused: segment(1) },
    )
  }
})

t.test('missing, foreign, newer, swapped and wrongly named segments', async (t) => {
  const frames = Array.from({ length: 12 }, (_, i) => noise(1_000, i + 1))
  const contents = await diskWith(frames)
  t.strictSame([...contents.keys()].toSorted(), [segment(1), segment(4), segment(7), segment(10), MANIFEST])
  for (const path of contents.keys()) {
    const less = new Map(contents)
    less.delete(path)
    t.strictSame(recovered(less), { refused: path }, `${path} is missing`)
  }
  const header = (path: string, bytes: Buffer) => changed(contents, path, (copy) => void bytes.copy(copy))
  const newer = encodeSegmentHeader(STORE_ID, 4)
  newer.writeUInt32LE(2, 8)
  newer.writeUInt32LE(crc32(newer.subarray(0, 60)), 60)
  t.strictSame(recovered(header(segment(4), newer)), { refused: segment(4) })
  t.throws(() => open(MemoryFiles.of(header(segment(4), newer))), /segment format 2, this version reads/)
  t.throws(
    () => open(MemoryFiles.of(header(segment(7), encodeSegmentHeader('fedcba9876543210', 7)))),
    /belongs to store fedcba9876543210/,
  )
  t.throws(
    () => open(MemoryFiles.of(header(segment(7), encodeSegmentHeader(STORE_ID, 8)))),
    /starts at frame 8, its name says 7/,
  )
  const swapped = new Map(contents)
  swapped.set(segment(4), contents.get(segment(7))!)
  t.strictSame(recovered(swapped), { refused: segment(4) })
  const named = new Map(contents)
  named.set('/store/log/5.seg', contents.get(segment(4))!)
  t.strictSame(recovered(named), { refused: '/store/log/5.seg' })
  const body = changed(contents, segment(7), (bytes) => {
    contents.get(segment(4))!.copy(bytes, 64, 64)
  })
  t.throws(() => open(MemoryFiles.of(body)), /frame 4 at byte 64, expected frame 7/)

  const manifest = (bytes: Buffer) => new Map(contents).set(MANIFEST, bytes)
  t.strictSame(recovered(manifest(encodeLogManifest(STORE_ID, { oldest: 1, newest: 13 }))), {
    refused: segment(13),
  })
  t.strictSame(recovered(manifest(encodeLogManifest(STORE_ID, { oldest: 1, newest: 7 }))), {
    refused: MANIFEST,
  })
  t.throws(
    () => open(MemoryFiles.of(manifest(Buffer.from('{"format":2,"new":"members"}\n')))),
    /MANIFEST: log format 2, this version reads format 1/,
  )
  for (const text of ['', '{', 'null', '[]', '{"format":1}', '{"format":"1"}', '\0'.repeat(90)]) {
    t.strictSame(recovered(manifest(Buffer.from(text))), { refused: MANIFEST }, JSON.stringify(text))
  }
})

t.test('a segment that was being created or trimmed during a crash is skipped', async (t) => {
  const frames = Array.from({ length: 6 }, (_, i) => noise(1_000, i + 1))
  const contents = await diskWith(frames)
  const created = encodeSegmentHeader(STORE_ID, 7)
  for (let length = 0; length <= created.length; length++) {
    const files = MemoryFiles.of(new Map(contents).set(segment(7), created.subarray(0, length)))
    const log = open(files)
    deepStrictEqual(payloads(log.read(1)), frames)
    await append(log, noise(1_000, 7))
    await log.close()
    deepStrictEqual(offsets(open(files).read(1)), [1, 2, 3, 4, 5, 6, 7])
  }
  const files = MemoryFiles.of(
    new Map(contents).set(MANIFEST, encodeLogManifest(STORE_ID, { oldest: 4, newest: 4 })),
  )
  t.strictSame(offsets(open(files).read(4)), [4, 5, 6])
  t.notOk(files.contents().has(segment(1)), 'the trim is finished')
})

/** Appends frames of these sizes until one is not acknowledged. Returns the acknowledged ones. */
async function run(
  files: MemoryFiles,
  lengths: readonly number[],
  seen: { tried: Buffer[]; acknowledged: number; failures: Error[] },
): Promise<void> {
  const log = open(files, (error) => {
    seen.failures.push(error)
    stop()
  })
  let stop = (): void => {}
  for (const [i, length] of lengths.entries()) {
    const frame = noise(length, i + 1)
    seen.tried.push(frame)
    const acknowledged = await new Promise<boolean>((resolve) => {
      stop = () => resolve(false)
      log.append([frame], () => {
        equal(seen.failures.length, 0, 'nothing is acknowledged after a failure')
        resolve(true)
      })
      if (i === 7) log.trim(8)
    })
    if (!acknowledged) {
      throws(() => log.append([frame], () => {}), /The log has failed/)
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
      break
    }
    seen.acknowledged++
  }
  await log.close()
}

/**
 * Checks that every acknowledged frame that was not trimmed is there, followed at most by the one that was in flight.
 */
function checkRecovered(
  log: CommitLog,
  seen: { tried: readonly Buffer[]; acknowledged: number },
  oldest: number,
): void {
  ok(
    log.offset === seen.acknowledged ||
      (log.offset === seen.acknowledged + 1 && seen.tried.length > seen.acknowledged),
    `${seen.acknowledged} acknowledged, ${seen.tried.length} tried, ${log.offset} recovered`,
  )
  deepStrictEqual(payloads(log.read(oldest)), seen.tried.slice(oldest - 1, log.offset))
}

const LENGTHS = [10, 1_000, 0, 2_000, 700, 1_500, 3_000, 5_000, 20, 900, 1_800, 300]

t.test('a full disk or a failed call, at every call of every kind', async (t) => {
  const fresh = newDisk()
  const callsBefore = fresh.calls
  open(fresh)
  const callsToOpen = fresh.calls - callsBefore
  let rounds = 0
  for (const kind of ['write', 'datasync', 'sync', 'open', 'rename', 'truncate', 'unlink'] as const) {
    for (let failing = 0, reached = true; reached; failing++) {
      reached = false
      const files = newDisk()
      const opened = files.calls + callsToOpen
      let calls = 0
      files.before = (call, index) => {
        if (index < opened || call !== kind || calls++ !== failing) return
        reached = true
        if (call === 'datasync' || call === 'sync') files.failFlush = true
        else throw Object.assign(new Error('ENOSPC: simulated'), { code: 'ENOSPC' })
      }
      const seen = { tried: [] as Buffer[], acknowledged: 0, failures: [] as Error[] }
      await run(files, LENGTHS, seen)
      if (!reached) break
      rounds++
      equal(seen.failures.length, 1, `${kind} ${failing}: told once`)
      files.before = () => {}
      const log = open(files.kill())
      checkRecovered(log, seen, 8)
    }
  }
  t.ok(rounds > 60, `${rounds} failures`)
})

t.test('a disk that fills up at every byte', async (t) => {
  const full = newDisk()
  await run(full, LENGTHS, { tried: [], acknowledged: 0, failures: [] })
  let failed = 0
  for (let capacity = 500; capacity < 20_000; capacity += 61) {
    const files = newDisk()
    files.capacityBytes = capacity
    const seen = { tried: [] as Buffer[], acknowledged: 0, failures: [] as Error[] }
    await run(files, LENGTHS, seen)
    failed += seen.failures.length
    equal(seen.failures.length, seen.acknowledged < LENGTHS.length ? 1 : 0)
    const restarted = files.kill()
    checkRecovered(open(restarted), seen, 8)
  }
  t.ok(failed > 100, `${failed} times it was full`)
})

interface Life {
  /** The number of the call at which the process ends. */
  readonly after: number
  /** Whether the machine loses power too. */
  readonly power: boolean
  /** Which flush fails; 0 for none. */
  readonly failingFlush: number
}

/** What the log must still have: the frames that it acknowledged or recovered, and the one that was in flight. */
interface Debt {
  readonly acknowledged: Buffer[]
  inFlight: Buffer | undefined
  /** Frames before this one may be trimmed. */
  oldest: number
}

/** Opens the log, compares it with what it must have, and appends until the end of this life. */
async function live(
  files: MemoryFiles,
  { after, failingFlush }: Life,
  lengths: readonly number[],
  debt: Debt,
) {
  let flushes = 0
  let dead = false
  let wake = (): void => {}
  files.before = (call, index) => {
    if (call === 'datasync' && ++flushes === failingFlush) files.failFlush = true
    if (index >= after) throw new MachineDown()
  }
  const log = open(files, () => {
    dead = true
    wake()
  })
  const found = payloads(log.read(debt.oldest))
  deepStrictEqual(
    found.slice(0, debt.acknowledged.length - debt.oldest + 1),
    debt.acknowledged.slice(debt.oldest - 1),
  )
  if (log.offset > debt.acknowledged.length) {
    equal(log.offset, debt.acknowledged.length + 1)
    deepStrictEqual(found.at(-1), debt.inFlight)
    // The process acts on what it has seen after its start, so from then on it must stay.
    debt.acknowledged.push(found.at(-1)!)
  }
  for (const [i, length] of lengths.entries()) {
    if (dead) return
    const frame = noise(length, debt.acknowledged.length + 1)
    debt.inFlight = frame
    const durable = await new Promise<boolean>((resolve) => {
      wake = () => resolve(false)
      log.append([frame], () => resolve(true))
    })
    if (!durable) return
    debt.acknowledged.push(frame)
    if (i % 5 === 4) {
      debt.oldest = Math.max(1, debt.acknowledged.length - 3)
      log.trim(debt.oldest)
    }
  }
}

t.test(
  'the process or the machine dies at any call, also during recovery: nothing acknowledged is lost',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 2 ** 31 }),
        fc.array(fc.oneof(fc.nat(300), fc.nat(4_000)), { minLength: 1, maxLength: 12 }),
        fc.array(fc.record({ after: fc.nat(150), power: fc.boolean(), failingFlush: fc.nat(40) }), {
          minLength: 1,
          maxLength: 5,
        }),
        async (seed, lengths, lives) => {
          const random = seededRandom(seed)
          const debt: Debt = { acknowledged: [], inFlight: undefined, oldest: 1 }
          let files = newDisk().kill()
          for (const life of [...lives, { after: Infinity, power: true, failingFlush: 0 }]) {
            files.tornShare = random()
            try {
              await live(files, life, lengths, debt)
            } catch (error) {
              if (!(error instanceof MachineDown)) throw error
            }
            files = life.power ? files.losePower(random) : files.kill()
          }
          await live(files, { after: Infinity, power: false, failingFlush: 0 }, [], debt)
        },
      ),
      { numRuns: 300 * RUNS },
    )
  },
)

t.test(
  'a frame of a failed flush, recovered from the page cache, is made durable before it counts',
  async (t) => {
    const files = newDisk()
    let failed = 0
    let log = open(files, () => failed++)
    await append(log, Buffer.from('acknowledged'))
    files.failFlush = true
    log.append([Buffer.from('flush failed')], () => t.fail('must not be acknowledged'))
    await log.close()
    t.equal(failed, 1)
    const restarted = files.kill()
    log = open(restarted)
    const both = [Buffer.from('acknowledged'), Buffer.from('flush failed')]
    t.strictSame(payloads(log.read(1)), both)
    t.strictSame(payloads(open(restarted.losePower(() => 0)).read(1)), both)
  },
)
