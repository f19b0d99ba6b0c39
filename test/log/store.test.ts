import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { openCommitLog } from '../../src/log/commitLog.ts'
import { systemFiles } from '../../src/log/files.ts'
import { openSnapshots } from '../../src/log/snapshots.ts'
import { openStore } from '../../src/log/store.ts'
import { append, snapshotContract } from './contract.ts'

const STORE_ID = '0123456789abcdef'

t.test('a store is created once, and opened with its original values', async (t) => {
  const folder = join(t.testdir({}), 'deep', 'data')
  const store = openStore(folder, { partitions: 64 })
  t.match(store.storeId, /^[0-9a-f]{16}$/)
  t.match(store.secret, /^[0-9a-f]{64}$/)
  t.match(store, { folder, partitions: 64 })
  t.strictSame(JSON.parse(readFileSync(join(folder, 'store.json'), 'utf8')), {
    format: 1,
    storeId: store.storeId,
    secret: store.secret,
    partitions: 64,
  })
  t.strictSame(readdirSync(folder), ['lock', 'log', 'store.json'])
  store.release()
  const again = openStore(folder, { partitions: 64 })
  t.equal(again.storeId, store.storeId)
  t.equal(again.secret, store.secret)
  again.release()
  t.throws(() => openStore(folder, { partitions: 32 }), {
    name: 'StoreRefused',
    file: join(folder, 'store.json'),
    message: /store\.json: the store was created with 64 partitions and cannot be opened with 32/,
  })
  openStore(folder, { partitions: 64 }).release()
  for (const partitions of [0, -1, 1.5, NaN, 65_537]) {
    t.throws(() => openStore(folder, { partitions }), RangeError)
  }
  const other = openStore(join(folder, '..', 'other'), { partitions: 1 })
  t.not(other.storeId, store.storeId)
  t.not(other.secret, store.secret)
  other.release()
})

t.test('a store from before there was a secret gets one that stays', async (t) => {
  const folder = join(t.testdir({}), 'data')
  const { storeId, release } = openStore(folder, { partitions: 4 })
  release()
  const path = join(folder, 'store.json')
  writeFileSync(path, JSON.stringify({ format: 1, storeId, partitions: 4 }))
  const store = openStore(folder, { partitions: 4 })
  t.equal(store.storeId, storeId)
  t.match(store.secret, /^[0-9a-f]{64}$/)
  t.strictSame(JSON.parse(readFileSync(path, 'utf8')), {
    format: 1,
    storeId,
    partitions: 4,
    secret: store.secret,
  })
  t.equal(statSync(path).mode & 0o077, 0, 'for its owner alone')
  store.release()
  const again = openStore(folder, { partitions: 4 })
  t.equal(again.secret, store.secret)
  again.release()
})

t.test('a damaged, newer or missing store.json is named, and nothing is assumed', async (t) => {
  const folder = join(t.testdir({}), 'data')
  openStore(folder, { partitions: 4 }).release()
  const path = join(folder, 'store.json')
  const good = readFileSync(path, 'utf8')
  const REFUSED: readonly (readonly [text: string, reason: RegExp])[] = [
    [good.replace('"format": 1', '"format": 2'), /store\.json: store format 2 is newer than this version/],
    [good.replace('"format": 1', '"format": 0'), /is damaged/],
    [good.replace('"format": 1', '"format": "1"'), /is damaged/],
    [good.slice(0, -5), /is damaged: /],
    ['', /is damaged: /],
    ['\0\0\0\0', /is damaged: /],
    ['null', /is damaged: it must hold/],
    ['[]', /is damaged: it must hold/],
    ['{"format":1,"storeId":"0123","partitions":4}', /is damaged: it must hold/],
    [`{"format":1,"storeId":"${STORE_ID}"}`, /is damaged: it must hold/],
    [good.replace(/"secret": ".*"/, '"secret": "0123"'), /is damaged: its secret must be 64 hex digits/],
  ]
  for (const [text, reason] of REFUSED) {
    writeFileSync(path, text)
    t.throws(() => openStore(folder, { partitions: 4 }), {
      name: 'StoreRefused',
      file: path,
      message: reason,
    })
    t.equal(readFileSync(path, 'utf8'), text, 'it stays as it is')
  }
  rmSync(path)
  t.throws(() => openStore(folder, { partitions: 4 }), {
    name: 'StoreRefused',
    file: path,
    message: /store\.json: is missing, but .*log is there/,
  })
  writeFileSync(path, good)
  openStore(folder, { partitions: 4 }).release()
})

t.test('an interrupted creation is repeated; a log that is missing later is damage', async (t) => {
  const folder = join(t.testdir({}), 'data')
  const { makeFolder } = systemFiles
  systemFiles.makeFolder = () => {
    throw new Error('EIO: simulated')
  }
  t.throws(() => openStore(folder, { partitions: 4 }), /EIO/)
  systemFiles.makeFolder = makeFolder
  mkdirSync(join(folder, 'log'))
  writeFileSync(join(folder, 'log', '0000000000000001.seg'), 'half a header')
  const store = openStore(folder, { partitions: 4 })
  const open = () =>
    openCommitLog({
      store,
      durability: 'fsync',
      segmentBytes: 4096,
      failed: (error) => {
        throw error
      },
    })
  const log = open()
  await append(log, Buffer.from('one'))
  await log.close()
  rmSync(join(folder, 'log'), { recursive: true })
  t.throws(open, { name: 'LogDamaged', file: join(folder, 'log', 'MANIFEST') })
  store.release()
})

/** A process that tries to take the folder; `said` is the first line of its output. */
async function holder(t: Test, folder: string): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'holderChild.ts'), folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, said: line.toString().trim() }
}

t.test('one process at a time has the folder; kill -9 releases it', async (t) => {
  const folder = join(t.testdir({}), 'data')
  const refusal = `StoreLocked: The data folder ${folder} is in use by another process.`
  const first = await holder(t, folder)
  t.equal(first.said, 'held')
  t.throws(() => openStore(folder, { partitions: 4 }), { name: 'StoreLocked', message: refusal.slice(13) })
  t.equal((await holder(t, folder)).said, refusal)
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  const store = openStore(folder, { partitions: 4 })
  t.throws(() => openStore(folder, { partitions: 4 }), { name: 'StoreLocked' }, 'in the same process too')
  t.equal((await holder(t, folder)).said, refusal, 'still held after that try')
  store.release()
  t.equal((await holder(t, folder)).said, 'held')
})

t.test('if several start at the same moment, exactly one gets it', async (t) => {
  const folder = join(t.testdir({}), 'data')
  const all = await Promise.all(Array.from({ length: 4 }, () => holder(t, folder)))
  t.strictSame(all.map(({ said }) => said.split(':')[0]).toSorted(), [
    'StoreLocked',
    'StoreLocked',
    'StoreLocked',
    'held',
  ])
})

snapshotContract(t, 'snapshot files', async (t) => {
  const folder = join(t.testdir({}), String(Math.random()))
  mkdirSync(folder)
  return {
    open: async () => openSnapshots(folder, STORE_ID, () => {}),
    damage: async (partition, position) => {
      const path = join(folder, 'snapshots', `${partition}-${position}.snap`)
      const bytes = readFileSync(path)
      bytes[bytes.length - 1]! ^= 4
      writeFileSync(path, bytes)
    },
  }
})

t.test('snapshot files', async (t) => {
  const folder = t.testdir({})
  const home = join(folder, 'snapshots')
  const told: string[] = []
  const open = (storeId = STORE_ID) =>
    openSnapshots(folder, storeId, (file, reason) => told.push(`${file}: ${reason}`))
  const state = Buffer.from('the state of partition 7')
  await open().write(7, { offset: 100, bytes: state })
  await open().write(7, { offset: 200, bytes: state })
  const path = join(home, '7-200.snap')
  const good = readFileSync(path)

  await t.test('every flipped bit and every wrong length is skipped, and reported', async (t) => {
    told.length = 0
    for (let at = 0; at < good.length; at++) {
      for (let bit = 1; bit < 256; bit *= 2) {
        const bytes = Buffer.from(good)
        bytes[at]! ^= bit
        writeFileSync(path, bytes)
        if (open().newest(7)?.offset !== 100) t.fail(`byte ${at}, bit ${bit}`)
      }
      writeFileSync(path, good.subarray(0, at))
      if (open().newest(7)?.offset !== 100) t.fail(`cut at ${at}`)
    }
    writeFileSync(path, Buffer.concat([good, Buffer.from('x')]))
    t.equal(open().newest(7)?.offset, 100)
    t.equal(told.length, good.length * 9 + 1)
    t.ok(told.every((line) => line.startsWith(`${path}: `)))
    writeFileSync(path, good)
    t.equal(open().newest(7)?.offset, 200)
  })

  await t.test('a snapshot of another store, partition or offset is not used', async (t) => {
    told.length = 0
    t.equal(open('fedcba9876543210').newest(7), undefined)
    t.match(told, [/belongs to store 0123456789abcdef/, /belongs to store/])
    told.length = 0
    writeFileSync(join(home, '8-300.snap'), good)
    t.equal(open().newest(8), undefined)
    t.match(told, [/8-300\.snap: is the snapshot of another partition or offset/])
  })

  await t.test('what an interrupted write left behind is removed on opening', async (t) => {
    writeFileSync(join(home, '7-300.snap.tmp'), good.subarray(0, 30))
    t.equal(open().newest(7)?.offset, 200)
    t.notOk(readdirSync(home).includes('7-300.snap.tmp'))
  })

  await t.test('damaged ones are removed when two intact ones are there', async (t) => {
    writeFileSync(path, 'damaged')
    const snapshots = open()
    t.equal(snapshots.newest(7)?.offset, 100)
    await snapshots.write(7, { offset: 300, bytes: state })
    t.strictSame(
      readdirSync(home).filter((name) => name.startsWith('7-')),
      ['7-100.snap', '7-300.snap'],
    )
  })

  await t.test('a damaged one that is written again stays', async (t) => {
    writeFileSync(join(home, '7-300.snap'), 'damaged')
    const snapshots = open()
    t.equal(snapshots.newest(7)?.offset, 100)
    await snapshots.write(7, { offset: 300, bytes: state })
    t.equal(open().newest(7)?.offset, 300)
  })

  await t.test('damaged ones stay until the second intact one is there', async (t) => {
    await open().write(9, { offset: 100, bytes: state })
    writeFileSync(join(home, '9-100.snap'), 'damaged')
    const snapshots = open()
    t.equal(snapshots.newest(9), undefined)
    const names = () => readdirSync(home).filter((name) => name.startsWith('9-'))
    await snapshots.write(9, { offset: 200, bytes: state })
    t.strictSame(names(), ['9-100.snap', '9-200.snap'])
    await snapshots.write(9, { offset: 300, bytes: state })
    t.strictSame(names(), ['9-200.snap', '9-300.snap'])
  })
})
