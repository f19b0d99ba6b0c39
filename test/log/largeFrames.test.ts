/** Large frames are encoded and written in turns with other work (G7). */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openCommitLog } from '../../src/log/commitLog.ts'
import { systemFiles, type Files } from '../../src/log/files.ts'
import { FrameEncoder, isBodyWhole, readHeader, readPayload, storeSeed } from '../../src/log/frame.ts'
import { createLog } from '../../src/log/segments.ts'
import { append, payloads } from './contract.ts'

const STORE_ID = '0123456789abcdef'
const MIB = 1024 * 1024

/** Bytes without long runs of zeros. */
function dense(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let i = 0; i < length; i++) bytes[i] = 1 + (i % 251)
  return bytes
}

/** Bytes with a sector of zeros, because of which a frame is masked. */
function sparse(length: number): Buffer {
  return dense(length).fill(0, Math.floor(length / 2), Math.floor(length / 2) + 2000)
}

t.test('a frame that is encoded in steps has the same bytes', (t) => {
  for (const payload of [dense(MIB), dense(3 * MIB + 7), sparse(MIB), sparse(5 * MIB + 123), dense(10)]) {
    const parts = [payload.subarray(0, 5), payload.subarray(5)]
    const whole = Buffer.from(new FrameEncoder(STORE_ID).encode(parts, payload.length, 7, 96))
    const steps = new FrameEncoder(STORE_ID).encodeInSteps(parts, payload.length, 7, 96)
    let count = 0
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) count++
    const [bytes] = step.value as readonly [Buffer]
    t.ok(whole.equals(bytes), `${payload.length} bytes`)
    t.equal(count, 1 + Math.ceil((whole.length - 40) / MIB), 'a step copies, and one is for each megabyte')
    const header = readHeader(bytes, 0, storeSeed(STORE_ID))!
    t.equal(header.masked, payload.includes(Buffer.alloc(2000)))
    t.ok(isBodyWhole(bytes, 0, header))
    t.ok(payload.equals(readPayload(bytes, 0, header)))
  }
  t.end()
})

t.test('a frame whose parts are kept is copied in steps, too, to the same bytes', (t) => {
  for (const payload of [dense(MIB), dense(3 * MIB + 7), sparse(5 * MIB + 123), dense(10)]) {
    const parts = [payload.subarray(0, 5), payload.subarray(5)]
    const whole = Buffer.from(new FrameEncoder(STORE_ID).encode(parts, payload.length, 7, 96))
    const steps = new FrameEncoder(STORE_ID).encodeInSteps(parts, payload.length, 7, 96, true)
    let count = 0
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) count++
    t.ok(whole.equals(Buffer.concat(step.value)), `${payload.length} bytes`)
    t.ok(count > 2 * Math.floor(payload.length / MIB), `${count} steps`)
  }
  t.end()
})

t.test('a single part that is kept is not copied, unless it is masked', (t) => {
  const ends = [0, 1, 2, 3, 24, 31, 400, 471, 472, 473, 480, 504, 505, 511]
  const zeros = ends.map((end) => dense(3 * MIB).fill(0, 3 * MIB - 512 + end))
  for (const payload of [
    ...ends.map((end) => dense(3 * MIB + end)),
    ...zeros,
    sparse(5 * MIB + 123),
    dense(10),
  ])
    for (const byteOffset of [96, 0, 480]) {
      const whole = Buffer.from(new FrameEncoder(STORE_ID).encode([payload], payload.length, 7, byteOffset))
      const steps = new FrameEncoder(STORE_ID).encodeInSteps([payload], payload.length, 7, byteOffset, true)
      let count = 0
      let step = steps.next()
      for (; step.done !== true; step = steps.next()) count++
      const pieces = step.value
      t.ok(whole.equals(Buffer.concat(pieces)), `${payload.length} bytes at ${byteOffset}`)
      const { masked } = readHeader(whole, 0, storeSeed(STORE_ID))!
      t.equal(
        pieces.some((piece) => piece.buffer === payload.buffer),
        !masked,
      )
      t.ok(count >= payload.length / MIB, `${count} steps`)
    }
  t.end()
})

for (const segmentBytes of [64 * MIB, 4096])
  t.test(`others get turns meanwhile; segments of ${segmentBytes} bytes`, async (t) => {
    const store = { folder: join(t.testdir({ store: {} }), 'store'), storeId: STORE_ID }
    createLog(systemFiles, store.folder, STORE_ID)
    let mostWritten = 0
    const files: Files = {
      ...systemFiles,
      write: (descriptor, from, offset, length, byteOffset) => {
        mostWritten = Math.max(mostWritten, length)
        return systemFiles.write(descriptor, from, offset, length, byteOffset)
      },
    }
    const failed = (error: Error) => t.fail('the log has failed', { error })
    const log = openCommitLog({ store, durability: 'os', segmentBytes, failed, files })
    await append(log, dense(100))
    const large = sparse(24 * MIB)
    const sent = Buffer.from(large)
    let turns = 0
    const count = setInterval(() => turns++, 0)
    const done = append(log, sent)
    sent.fill(1)
    await done
    clearInterval(count)
    await append(log, dense(200))
    t.ok(turns > 3, `${turns} turns`)
    t.ok(mostWritten <= MIB, `${mostWritten} bytes were written at a time`)
    const found = payloads(log.read(1))
    t.ok(large.equals(found[1]!), 'the parts are copied before append returns')
    t.strictSame([found[0], found[2]], [dense(100), dense(200)])
    await log.close()
  })

t.test('a frame of which only some pieces were written is dropped by the next start', async (t) => {
  const store = { folder: join(t.testdir({ store: {} }), 'store'), storeId: STORE_ID }
  createLog(systemFiles, store.folder, STORE_ID)
  const options = { store, durability: 'fsync', segmentBytes: 64 * MIB } as const
  let pieces = 0
  const files: Files = {
    ...systemFiles,
    write: (descriptor, from, offset, length, byteOffset) => {
      if (length === MIB && ++pieces === 3) throw new Error('the disk is full')
      return systemFiles.write(descriptor, from, offset, length, byteOffset)
    },
  }
  const failure = Promise.withResolvers<Error>()
  const log = openCommitLog({ ...options, failed: failure.resolve, files })
  await append(log, dense(100))
  log.append([dense(5 * MIB)], () => t.fail('it is not durable'))
  t.match(await failure.promise, { message: 'the disk is full' })
  const bytes = readFileSync(join(store.folder, 'log', '0000000000000001.seg'))
  t.ok(bytes.length > 2 * MIB, 'two pieces are there')
  const failed = (error: Error) => t.fail('the log has failed', { error })
  const again = openCommitLog({ ...options, failed })
  t.strictSame(payloads(again.read(1)), [dense(100)])
  await append(again, dense(300))
  t.strictSame(payloads(again.read(2)), [dense(300)])
  await again.close()
})

for (const [name, payload] of [
  ['dense', dense(3 * MIB + 77)],
  ['masked', sparse(3 * MIB + 77)],
] as const)
  t.test(
    `a ${name} frame is dropped, not refused, if the disk has a sector as it was between two writes`,
    async (t) => {
      const store = { folder: join(t.testdir({ store: {} }), 'store'), storeId: STORE_ID }
      createLog(systemFiles, store.folder, STORE_ID)
      const options = { store, durability: 'os', segmentBytes: 64 * MIB } as const
      const failed = (error: Error) => t.fail('the log has failed', { error })
      const path = join(store.folder, 'log', '0000000000000001.seg')
      const ends: number[] = []
      const files: Files = {
        ...systemFiles,
        write: (descriptor, from, offset, length, byteOffset) => {
          const written = systemFiles.write(descriptor, from, offset, length, byteOffset)
          ends.push(byteOffset + written)
          return written
        },
      }
      const log = openCommitLog({ ...options, failed, files })
      await append(log, dense(100))
      ends.length = 0
      await new Promise((resolve) => log.append([payload], resolve, [], true))
      t.strictSame(payloads(log.read(1)), [dense(100), payload])
      await log.close()
      const whole = readFileSync(path)
      ends.pop()
      t.ok(ends.length >= 3, `${ends.length} ends of writes that are not the last`)
      for (const end of ends) {
        const earlier = Buffer.from(whole)
        earlier.fill(0, end, Math.min(whole.length, (Math.floor(end / 512) + 1) * 512))
        writeFileSync(path, earlier)
        const again = openCommitLog({ ...options, failed })
        t.strictSame(payloads(again.read(1)), [dense(100)], `a write ended at ${end}`)
        await again.close()
      }
    },
  )
