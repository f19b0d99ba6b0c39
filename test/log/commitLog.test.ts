import { cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { openCommitLog } from '../../src/log/commitLog.ts'
import { systemFiles } from '../../src/log/files.ts'
import type { Files } from '../../src/log/files.ts'
import { createLog } from '../../src/log/segments.ts'
import { append, commitLogContract, payloads, offsets } from './contract.ts'
import { until } from '../kit/waiting.ts'
import { MemoryFiles } from './memoryFiles.ts'

const STORE_ID = '0123456789abcdef'
const unexpected = (error: Error): void => {
  throw error
}

/** A folder with an empty log on the real disk. */
function emptyLog(t: Test): { folder: string; storeId: string } {
  const folder = join(t.testdir({ store: {} }), 'store')
  createLog(systemFiles, folder, STORE_ID)
  return { folder, storeId: STORE_ID }
}

for (const durability of ['fsync', 'os'] as const) {
  commitLogContract(t, `segments with durability ${durability}`, async (t) => {
    const store = { folder: join(t.testdir({}), `log-${Math.random()}`), storeId: STORE_ID }
    createLog(systemFiles, store.folder, STORE_ID)
    return {
      open: async () => openCommitLog({ store, durability, segmentBytes: 4096, failed: unexpected }),
    }
  })
}

commitLogContract(t, 'segments on the simulated disk', async () => {
  const files = new MemoryFiles()
  createLog(files, '/store', STORE_ID)
  const store = { folder: '/store', storeId: STORE_ID }
  return {
    open: async () =>
      openCommitLog({ store, durability: 'fsync', segmentBytes: 4096, failed: unexpected, files }),
  }
})

t.test('segments have the configured length, and start at the offset in their name', async (t) => {
  const store = emptyLog(t)
  const log = openCommitLog({ store, durability: 'fsync', segmentBytes: 8192, failed: unexpected })
  for (let i = 0; i < 40; i++) await append(log, Buffer.alloc(1_000, i))
  await append(log, Buffer.alloc(50_000, 7))
  await append(log, Buffer.from('after the large one'))
  await log.close()
  const segments = readdirSync(join(store.folder, 'log')).filter((name) => name.endsWith('.seg'))
  t.strictSame(segments, [
    '0000000000000001.seg',
    '0000000000000008.seg',
    '0000000000000015.seg',
    '0000000000000022.seg',
    '0000000000000029.seg',
    '0000000000000036.seg',
    '0000000000000041.seg',
    '0000000000000042.seg',
  ])
  const sizes = segments.map((name) => readFileSync(join(store.folder, 'log', name)).length)
  t.ok(
    sizes.every((size, i) => size <= 8192 || i === 6),
    'a frame that is larger than a segment has one to itself',
  )
  t.equal(log.bytes, 64 * 8 + 40 * 1056 + 50_048 + 64)
})

t.test('the listed files are a complete log, whatever is appended later', async (t) => {
  const store = emptyLog(t)
  const log = openCommitLog({ store, durability: 'fsync', segmentBytes: 4096, failed: unexpected })
  for (let i = 1; i <= 30; i++) {
    await append(log, Buffer.alloc(700, i))
    if (i % 10 === 0) log.trim(i - 4)
    const { offset, files, manifest } = await log.files()
    const oldest = Number.parseInt(files[0]!.name.slice(4), 10)
    // Appends more frames, which may start another segment, before the copy is made.
    for (let more = 0; more < i % 4; more++) await append(log, Buffer.alloc(1500, 255))
    const copy = join(t.testdirName, `copy-${i}`)
    cpSync(join(store.folder, 'log'), join(copy, 'log'), { recursive: true })
    const named = new Set(files.map(({ name }) => name))
    for (const name of readdirSync(join(copy, 'log'))) {
      if (!named.has(`log/${name}`)) rmSync(join(copy, 'log', name))
    }
    for (const { name, bytes } of files) truncateSync(join(copy, name), bytes)
    writeFileSync(join(copy, manifest.name), manifest.text)
    const copied = openCommitLog({
      store: { folder: copy, storeId: STORE_ID },
      durability: 'os',
      segmentBytes: 4096,
      failed: unexpected,
    })
    t.equal(copied.offset, offset)
    t.strictSame(payloads(copied.read(oldest)), payloads(log.read(oldest)).slice(0, offset - oldest + 1))
    await copied.close()
  }
  t.notOk(existsSync(join(store.folder, 'log', '0000000000000001.seg')), 'trims came between')
  await log.close()
})

t.test('the padding of a frame contains nothing of an earlier one', async (t) => {
  const store = emptyLog(t)
  const log = openCommitLog({ store, durability: 'fsync', segmentBytes: 4096, failed: unexpected })
  await append(log, Buffer.alloc(1_000, 'secret'))
  await append(log, Buffer.from('x'))
  await log.close()
  const bytes = readFileSync(join(store.folder, 'log', '0000000000000001.seg'))
  const second = 64 + 1_056 + 32
  t.equal(bytes[second], 0x78)
  t.ok(bytes.subarray(second + 1, second + 24).every((byte) => byte === 0))
})

t.test('open leaves no descriptor behind, nor does a reader that stops early', async (t) => {
  const files = new MemoryFiles()
  createLog(files, '/store', STORE_ID)
  const store = { folder: '/store', storeId: STORE_ID }
  const log = openCommitLog({ store, durability: 'fsync', segmentBytes: 4096, failed: unexpected, files })
  for (let i = 0; i < 20; i++) await append(log, Buffer.alloc(1_000, i))
  for (const frame of log.read(3)) if (frame.offset === 9) break
  offsets(log.read(1))
  t.equal(files.openDescriptors, 1)
  await log.close()
  t.equal(files.openDescriptors, 0)
})

t.test('a reader that is overtaken by a trim reports it', async (t) => {
  const store = emptyLog(t)
  const log = openCommitLog({ store, durability: 'os', segmentBytes: 4096, failed: unexpected })
  for (let i = 0; i < 60; i++) await append(log, Buffer.alloc(500, i))
  const reader = log.read(1)
  t.equal(reader[Symbol.iterator]().next().value?.offset, 1)
  const before = log.bytes
  log.trim(50)
  await until(() => log.bytes < before)
  t.throws(() => offsets(reader), /Frame \d+ has been trimmed: the oldest kept frame is 50/)
  await log.close()
})

t.test('finds damage that happened after opening', async (t) => {
  const store = emptyLog(t)
  const log = openCommitLog({ store, durability: 'fsync', segmentBytes: 4096, failed: unexpected })
  for (let i = 0; i < 12; i++) await append(log, Buffer.alloc(1_000, i + 1))
  const path = join(store.folder, 'log', '0000000000000004.seg')
  const descriptor = systemFiles.open(path, 'r+')
  systemFiles.write(descriptor, Buffer.from([0x99]), 0, 1, 300)
  systemFiles.close(descriptor)
  t.throws(() => offsets(log.read(1)), { name: 'LogDamaged', file: path })
  truncateSync(path, 200)
  t.throws(() => offsets(log.read(5)), { name: 'LogDamaged', file: path })
  t.strictSame(offsets(log.read(7)), [7, 8, 9, 10, 11, 12], 'the others are not concerned')
  await log.close()
})

t.test('a write that the system cuts short is continued', async (t) => {
  const store = emptyLog(t)
  const files: Files = {
    ...systemFiles,
    write: (descriptor, from, offset, length, position) =>
      systemFiles.write(descriptor, from, offset, Math.ceil(length / 3), position),
  }
  const log = openCommitLog({ store, durability: 'fsync', segmentBytes: 4096, failed: unexpected, files })
  for (let i = 0; i < 10; i++) await append(log, Buffer.alloc(1_000, i))
  t.strictSame(
    payloads(log.read(1)),
    Array.from({ length: 10 }, (_, i) => Buffer.alloc(1_000, i)),
  )
  await log.close()
})

t.test('refuses a frame that is too large and a segment that is too small', async (t) => {
  const store = emptyLog(t)
  t.throws(
    () => openCommitLog({ store, durability: 'os', segmentBytes: 100, failed: unexpected }),
    /segmentBytes: 100 is less than 4096/,
  )
  const log = openCommitLog({ store, durability: 'os', segmentBytes: 4096, failed: unexpected })
  const part = Buffer.alloc(64 * 1024 * 1024)
  t.throws(() => log.append([part, part, part, part, Buffer.alloc(1)], () => {}), /is over 268435456/)
  await append(log, Buffer.from('and goes on'))
  t.equal(log.offset, 1)
  await log.close()
})

t.test('any missing file is named', async (t) => {
  const store = emptyLog(t)
  const log = openCommitLog({ store, durability: 'fsync', segmentBytes: 4096, failed: unexpected })
  for (let i = 0; i < 12; i++) await append(log, Buffer.alloc(1_000, i))
  log.trim(5)
  await log.close()
  const names = readdirSync(join(store.folder, 'log'))
  t.strictSame(names, ['0000000000000004.seg', '0000000000000007.seg', '0000000000000010.seg', 'MANIFEST'])
  for (const name of names) {
    const folder = join(t.testdirName, 'copy')
    rmSync(folder, { recursive: true, force: true })
    cpSync(store.folder, folder, { recursive: true })
    const path = join(folder, 'log', name)
    rmSync(path)
    const open = () =>
      openCommitLog({
        store: { folder, storeId: STORE_ID },
        durability: 'fsync',
        segmentBytes: 4096,
        failed: unexpected,
      })
    t.throws(open, { name: 'LogDamaged', file: path, message: /is missing/ })
    t.notOk(existsSync(path), 'and nothing is made up for it')
  }
})

t.test('the log of another store is refused by name', async (t) => {
  const store = emptyLog(t)
  await openCommitLog({ store, durability: 'fsync', segmentBytes: 4096, failed: unexpected }).close()
  const open = (storeId: string) =>
    openCommitLog({
      store: { folder: store.folder, storeId },
      durability: 'fsync',
      segmentBytes: 4096,
      failed: unexpected,
    })
  t.throws(() => open('ffffffffffffffff'), {
    name: 'LogDamaged',
    message: /MANIFEST: belongs to store 0123456789abcdef, not to ffffffffffffffff/,
  })
})
