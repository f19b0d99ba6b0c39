/**
 * Files with users, keys or secrets are accessible only to their owner, even with a umask that allows everything, and
 * in folders that were accessible to others. Those of a cluster: privateCluster.slow.test.ts.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { closeFolder } from '../../src/runtime/privateFiles.ts'
import { command } from '../cli/command.ts'
import { KEYS, Server } from '../kit/server.ts'
import { openTo } from './openTo.ts'

t.setTimeout(240_000)

/** Makes everything in a folder accessible to everybody. */
function openAll(folder: string): void {
  for (const name of ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })]) {
    const path = join(folder, name)
    chmodSync(path, lstatSync(path).isDirectory() ? 0o777 : 0o666)
  }
}

const home = mkdtempSync(join(tmpdir(), 'ringfence-private-'))
t.teardown(() => rmSync(home, { recursive: true, force: true }))
const umask = process.umask(0)
t.teardown(() => process.umask(umask))

const folderOf = (name: string, mode = 0o755): string => {
  const folder = join(home, name)
  mkdirSync(folder, { mode })
  return folder
}

t.test('an existing data folder, its backup, and the restored folder', async (t) => {
  const data = folderOf('data')
  const settings = {
    data,
    env: { RINGFENCE_SNAPSHOT_BYTES: '1048576', RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8' },
  }
  const server = await Server.start(settings)
  t.teardown(() => server.dispose())
  const live = async (): Promise<void> => {
    const webhook = { url: 'http://127.0.0.1:9/' }
    t.equal((await server.api('POST', '/v1/webhooks', webhook)).status, 200)
    for (let i = 0; i < 20; i++) {
      const update = { deviceId: `d${i}`, latitude: 40.6892, longitude: -74.0445, accuracy: 5 }
      t.equal((await server.api('POST', '/v1/track', update, KEYS.testPublishable)).status, 200)
    }
  }
  await live()
  t.strictSame(openTo(data), [], 'while it runs')
  const names = readdirSync(data)
  for (const name of [
    'store.json',
    'log',
    'registry.sqlite',
    'registry.sqlite-wal',
    'events.sqlite-shm',
    'deliveries.sqlite',
  ])
    t.ok(names.includes(name), `${name} was looked at`)

  const backup = join(folderOf('backups'), 'first')
  t.match(await command(['backup', backup, '--data', data]), { code: 0 })
  t.strictSame(openTo(backup), [], 'a backup of a running server')
  await server.stop()
  t.strictSame(openTo(data), [], 'after a stop')
  const stopped = join(home, 'backups', 'second')
  t.match(await command(['backup', stopped, '--data', data]), { code: 0 })
  t.strictSame(openTo(stopped), [], 'a backup of a stopped one')

  // As an older version or a manual copy has left it.
  openAll(data)
  await server.restart()
  t.strictSame(openTo(data), [], 'closed at the start')
  t.match(server.output, /others could open files of the data folder/)
  t.equal(server.output.split('others could open').length, 3, 'said at both starts that found something open')
  await server.stop()
  t.match(await command(['projects', 'create', 'Second shop', '--data', data]), { code: 0 })
  t.strictSame(openTo(data), [], 'after a command of the operator')

  const existing = folderOf('restored')
  for (const restored of [existing, join(home, 'new')]) {
    openAll(backup)
    t.match(await command(['restore', backup, '--data', restored]), { code: 0 })
    t.strictSame(openTo(restored), [], 'restored')
    if (restored !== existing) continue
    const again = await Server.start({ ...settings, data: restored })
    t.equal((await again.api('GET', '/v1/users/d1')).status, 200)
    await again.stop()
    t.strictSame(openTo(restored), [], 'and used')
    await again.dispose()
  }
})

t.test('folders whose permissions are not ours to change', (t) => {
  const folder = folderOf('links')
  const outside = folderOf('outside')
  writeFileSync(join(outside, 'file'), '')
  symlinkSync(outside, join(folder, 'link'))
  mkdirSync(join(folder, 'regions'))
  writeFileSync(join(folder, 'regions', 'tile'), '', { mode: 0o644 })
  writeFileSync(join(folder, 'program'), '', { mode: 0o755 })
  t.strictSame(closeFolder(folder, ['regions']), { closed: 3, open: undefined })
  t.strictSame(openTo(outside).length, 2, 'what a link leads to stays')
  t.equal(lstatSync(join(folder, 'regions', 'tile')).mode & 0o777, 0o644)
  t.equal(lstatSync(join(folder, 'program')).mode & 0o777, 0o700)
  t.strictSame(closeFolder(folder, ['regions']), { closed: 0, open: undefined })
  t.end()
})

t.test('deploy/secrets.sh', (t) => {
  const project = folderOf('project')
  mkdirSync(join(project, 'deploy'))
  const script = fileURLToPath(new URL('../../deploy/secrets.sh', import.meta.url))
  execFileSync('cp', [script, join(project, 'deploy')])
  execFileSync('sh', ['deploy/secrets.sh'], { cwd: project })
  t.equal(lstatSync(join(project, '.env')).mode & 0o777, 0o600)
  t.end()
})
