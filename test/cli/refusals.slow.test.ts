/** Files that are not backups, and backups that fail: nothing is left behind, and the server continues to run. */
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Checkpointer } from '../../src/actor/checkpoint.ts'
import type { Manifest } from '../../src/cli/backup/manifest.ts'
import { decodeManifest, encodeManifest } from '../../src/cli/backup/manifest.ts'
import type { HeldContents } from '../../src/cli/backup/port.ts'
import { restoreBackup } from '../../src/cli/backup/restore.ts'
import { connectControl } from '../../src/cli/control/client.ts'
import fc from '../kit/fastCheck.ts'
import { startServer, type Server } from '../kit/server.ts'
import { command } from './command.ts'

const RUNS = Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)
const LIVE = new AbortController().signal

function folder(t: Pick<Test, 'teardown'>): string {
  const path = mkdtempSync(join(tmpdir(), 'ringfence-refused-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A server with a geofence and a device in it. */
async function serverInUse(t: Test, data: string): Promise<Server> {
  const server = await startServer(t, { data })
  const circle = { type: 'circle', description: 'here', coordinates: [0, 0], radius: 100 }
  await server.api('PUT', '/v1/geofences/tag/here', circle)
  await track(t, server)
  return server
}

async function track(t: Test, server: Server): Promise<void> {
  const body = { deviceId: 'phone', latitude: 0, longitude: 0, accuracy: 5 }
  t.equal((await server.api('POST', '/v1/track', body)).status, 200, 'the server is well')
}

async function hold(server: Server, into: string): Promise<HeldContents> {
  const client = await connectControl(server.data)
  return client!.hold(into, () => {}, LIVE)
}

t.test('restores', async (t) => {
  const home = folder(t)
  const server = await serverInUse(t, join(home, 'data'))
  const backup = join(home, 'backup')
  t.match(await command(['backup', backup, '--data', server.data]), { code: 0 })
  for (const [target, reason] of [
    [join(backup, 'manifest.json', 'x'), 'a part of its path is not a folder'],
    [join(home, 'x'.repeat(300)), 'the name is too long'],
  ] as const) {
    const { code, output } = await command(['backup', target, '--data', server.data])
    t.equal(code, 1)
    t.ok(output.endsWith(`ringfence: ${target}.partial: ${reason}.\n`), output)
  }
  const restore = (from: string, to = join(home, 'restored')): Promise<Manifest> =>
    restoreBackup(from, to, () => {}, LIVE)

  await t.test('a folder that is in use, or is not a backup, is refused', async (t) => {
    t.match(await command(['restore', backup, '--data', server.data]), { code: 1, output: /is not empty/ })
    t.match(await command(['restore', server.data, '--data', join(home, 'new')]), {
      code: 1,
      output: /is not a backup: it does not contain manifest\.json\. Nothing was restored/,
    })
    t.notOk(existsSync(join(home, 'new')))
    await track(t, server)
  })

  await t.test('any flipped bit is found, in any file, and nothing is left behind', async (t) => {
    const names = readdirSync(backup, { recursive: true, encoding: 'utf8' })
    const files = names.filter((name) => !['log', 'snapshots'].includes(name))
    t.ok(files.length >= 6, files.join())
    const bad = join(home, 'bad')
    cpSync(backup, bad, { recursive: true })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...files),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (name, at) => {
          const whole = readFileSync(join(backup, name))
          const flipped = Buffer.from(whole)
          const bit = Math.min(Math.floor(at * whole.length * 8), whole.length * 8 - 1)
          flipped[bit >> 3]! ^= 1 << (bit & 7)
          writeFileSync(join(bad, name), flipped)
          try {
            await t.rejects(restore(bad), { name: 'BackupDamaged' }, `${name}, bit ${bit}`)
            t.notOk(existsSync(join(home, 'restored')))
          } finally {
            writeFileSync(join(bad, name), whole)
          }
        },
      ),
      { numRuns: 40 * RUNS },
    )
    for (const name of files) {
      rmSync(join(bad, name))
      await t.rejects(
        restore(bad),
        { name: 'BackupDamaged', message: /missing|not a backup/ },
        `${name} missing`,
      )
      writeFileSync(join(bad, name), readFileSync(join(backup, name)).subarray(1))
      await t.rejects(restore(bad), { name: 'BackupDamaged' }, `${name} cut`)
      writeFileSync(join(bad, name), readFileSync(join(backup, name)))
    }
    t.notOk(existsSync(join(home, 'restored')))
    mkdirSync(join(home, 'empty'))
    rmSync(join(bad, 'store.json'))
    await t.rejects(restore(bad, join(home, 'empty')))
    t.strictSame(readdirSync(join(home, 'empty')), [], 'an empty folder is empty again')
  })

  await t.test('a newer format is refused, and so is a name that leads out of the folder', async (t) => {
    const manifest = decodeManifest(readFileSync(join(backup, 'manifest.json'), 'utf8'), '')
    const forged = join(home, 'forged')
    cpSync(backup, forged, { recursive: true })
    const write = (text: string): void => writeFileSync(join(forged, 'manifest.json'), text)
    write(JSON.stringify({ ...manifest, format: 2, version: '9.0.0' }))
    await t.rejects(restore(forged), {
      message: /backup format 2 is newer than this version reads \(1\); it was made by Ringfence 9\.0\.0/,
    })
    for (const name of ['../out', '/tmp/out', 'log/../../out', '..', 'lock/x']) {
      const { format: _, ...content } = manifest
      write(encodeManifest({ ...content, files: [{ name, bytes: 0, sha256: '' }, ...manifest.files] }))
      await t.rejects(restore(forged), { message: /is not the name of a file/ }, name)
    }
    for (const text of ['', 'null', '[]', '{}', '{"format":1}']) {
      write(text)
      await t.rejects(restore(forged), { name: 'BackupDamaged' }, text)
    }
  })

  await t.test('no server starts on an interrupted restore', async (t) => {
    const restored = join(home, 'restored')
    const controller = new AbortController()
    const stop = (done: number, total: number): void => {
      if (done > total / 2) controller.abort(new Error('interrupted'))
    }
    await t.rejects(restoreBackup(backup, restored, stop, controller.signal), { message: 'interrupted' })
    t.notOk(existsSync(restored))
    cpSync(backup, restored, { recursive: true })
    rmSync(join(restored, 'store.json'))
    t.match(await command(['--data', restored, '--port', '0']), {
      code: 1,
      output: /store\.json: is missing/,
    })
  })
})

t.test('backups', async (t) => {
  const home = folder(t)
  const server = await serverInUse(t, join(home, 'data'))
  const into = join(home, 'into')
  mkdirSync(into)
  const backUp = (target: string, prefix: readonly string[] = []) =>
    command(['backup', target, '--data', server.data], prefix)

  await t.test('a target that exists, is in the data folder or cannot exist', async (t) => {
    t.match(await backUp(into), { code: 1, output: /into already exists: a backup needs a new folder/ })
    t.match(await backUp(join(server.data, 'b')), { code: 1, output: /is inside the data folder/ })
    t.match(await backUp(join(home, 'no', 'b')), { code: 1, output: /There is no folder .*no\./ })
    mkdirSync(join(home, 'c.partial'))
    t.match(await backUp(join(home, 'c')), { code: 1, output: /c\.partial belongs to a backup/ })
    const nothing = await command(['backup', join(home, 'd'), '--data', join(home, 'nothing')])
    t.match(nothing, { code: 1, output: /There is nothing to back up/ })
  })

  await t.test('a second one at the same time', async (t) => {
    const held = await hold(server, into)
    t.match(await backUp(join(home, 'second')), { code: 1, output: /Another backup .* is already running/ })
    t.notOk(existsSync(join(home, 'second.partial')))
    await track(t, server)
    await held.release()
    t.match(await backUp(join(home, 'second')), { code: 0 })
    rmSync(join(into, 'events.sqlite'))
  })

  await t.test('whose operator disconnects', async (t) => {
    const client = await connectControl(server.data)
    const gone = new AbortController()
    await client!.hold(into, () => {}, gone.signal)
    gone.abort()
    t.match(await backUp(join(home, 'after')), { code: 0 }, 'the next one is not held up')
    rmSync(join(into, 'events.sqlite'))
  })

  const noLimits = spawnSync('prlimit', ['--version']).error !== undefined && 'prlimit is not installed'
  await t.test('with a limit for the size of files', { skip: noLimits }, async (t) => {
    const ended = await backUp(join(home, 'limited'), ['prlimit', '--fsize=20000'])
    t.match(ended, { code: 1, output: /EFBIG/ })
    t.notMatch(ended.output, /\n +at /, 'no stack trace')
    t.notOk(existsSync(join(home, 'limited')) || existsSync(join(home, 'limited.partial')))
    await track(t, server)
  })

  const disk = join(home, 'disk')
  mkdirSync(disk)
  const mount = (options: string) => spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', disk])
  const mounted = mount('size=64m,nr_inodes=2').status === 0
  t.teardown(() => spawnSync('umount', ['--lazy', disk]))
  await t.test('a full disk', { skip: !mounted && 'no tmpfs can be mounted' }, async (t) => {
    t.match(await backUp(join(disk, 'b')), {
      code: 1,
      output: /The event index cannot be copied to .*events\.sqlite/,
    })
    t.strictSame(readdirSync(disk), [], 'nothing is left')
    spawnSync('umount', [disk])
    mount('size=16k')
    t.match(await backUp(join(disk, 'b')), {
      code: 1,
      output: /has 0\.0 MB free; the backup takes \d\.\d MB/,
    })
    await track(t, server)
  })

  await t.test('whose server ends in the middle', async (t) => {
    const held = await hold(server, into)
    await server.stop()
    await t.rejects(held.release(), { name: 'ServerGone' })
  })

  await t.test('a damaged data folder', async (t) => {
    const log = join(
      server.data,
      'log',
      readdirSync(join(server.data, 'log')).find((name) => name.endsWith('seg'))!,
    )
    const bytes = readFileSync(log)
    bytes[100]! ^= 1
    writeFileSync(log, bytes)
    t.match(await backUp(join(home, 'damaged')), { code: 1, output: /0001\.seg: frame 1 .*is damaged/ })
    t.notOk(existsSync(join(home, 'damaged.partial')))
  })
})

t.test('a hold waits for snapshots in progress, and none begin before it is released', async (t) => {
  const written: (() => void)[] = []
  const counters = { frameBytes: 0 }
  const parts = {
    host: {
      counters,
      partitions: [{ number: 0 }],
      read: async () => ({ offset: 1, bytes: new Uint8Array(1) }),
    },
    log: { offset: 1, trim: () => {} },
    snapshots: {
      write: () => new Promise<void>((resolve) => written.push(resolve)),
      trimPosition: () => 0,
    },
    events: { durablePosition: 1, add: () => {} },
    registry: { revision: 1 },
    clock: { now: () => 0 },
    logger: { info: () => {}, error: () => {} },
  }
  const checkpointer = new Checkpointer(parts as unknown as ConstructorParameters<typeof Checkpointer>[0], 10)
  const turns = () => new Promise((resolve) => setTimeout(resolve, 20))
  counters.frameBytes = 10
  checkpointer.tick()
  await turns()
  t.equal(written.length, 1, 'a round is under way')
  let held = false
  const holding = checkpointer.hold().then((release) => {
    held = true
    return release
  })
  await turns()
  t.notOk(held)
  written[0]!()
  const release = await holding
  counters.frameBytes = 20
  checkpointer.tick()
  await turns()
  t.equal(written.length, 1, 'none begins')
  release()
  checkpointer.tick()
  await turns()
  t.equal(written.length, 2)
  written[1]!()
  await checkpointer.stop()
})
