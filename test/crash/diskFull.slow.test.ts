/**
 * With a full disk the process ends with a message that says so. Once there is room again, everything that was
 * acknowledged is there.
 */
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Server } from '../kit/server.ts'

const CLIENTS = 8
const ENV = { RINGFENCE_SEGMENT_BYTES: '65536', RINGFENCE_SNAPSHOT_BYTES: '65536' }

/** What clients were told before the server ended. */
interface Told {
  /** Longitude of each device's last acknowledged update. */
  readonly longitudes: Map<string, number>
  /** Ids of all events in answers. */
  readonly events: string[]
}

/** Devices enter and leave a geofence, with one event per update, until the server no longer answers. */
async function trackToTheEnd(
  server: Server,
  acknowledged: (updates: number) => Promise<void>,
): Promise<Told> {
  const told: Told = { longitudes: new Map(), events: [] }
  let updates = 0
  const device = async (number: number) => {
    for (let i = 0; ; i++) {
      const body = {
        deviceId: `device-${number}`,
        latitude: 0,
        longitude: i % 2 === 0 ? i * 1e-9 : 0.01 + i * 1e-9,
        accuracy: 5,
        description: `${i} `.padEnd(500, '.'),
      }
      const answer = await server.api('POST', '/v1/track', body).catch(() => undefined)
      if (answer === undefined) return
      if (answer.status !== 200) throw new Error(`answered ${answer.status} ${JSON.stringify(answer.body)}`)
      told.longitudes.set(body.deviceId, body.longitude)
      for (const { _id } of answer.body.events) told.events.push(_id)
      await acknowledged(++updates)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => device(number)))
  return told
}

/**
 * The server must have everything that its clients were told, plus at most the one update of each device that got no
 * answer.
 */
async function checkHeld(t: Test, server: Server, { longitudes, events }: Told): Promise<void> {
  const missing: string[] = []
  for (const [deviceId, longitude] of longitudes) {
    const { body } = await server.api('GET', `/v1/users/${deviceId}`)
    const found = body.user?.location.coordinates[0]
    const next = Math.abs(Math.abs(found - longitude) - 0.01) < 1e-6
    if (found !== longitude && !next) missing.push(`${deviceId} is at ${found}, not at ${longitude}`)
    const list = await server.api('GET', `/v1/events?deviceId=${deviceId}&limit=1000`)
    if (list.body.meta.hasMore) missing.push(`${deviceId} has more events than one page`)
    const ids: string[] = list.body.events.map((event: { _id: string }) => event._id)
    if (new Set(ids).size !== ids.length) missing.push(`${deviceId} has an event twice`)
    // oxlint-disable-next-line typescript/no-explicit-any -- an answer
    const types: string[] = list.body.events.map((event: any) => event.type).toReversed()
    const wrong = types.findIndex((type, i) => type !== `user.${i % 2 === 0 ? 'entered' : 'exited'}_geofence`)
    if (wrong >= 0) missing.push(`${deviceId}: event ${wrong} is ${types[wrong]}`)
    for (const id of ids) held.add(id)
  }
  t.strictSame(missing, [])
  t.strictSame(
    events.filter((id) => !held.has(id)),
    [],
    'every event that was answered is in the log',
  )
  t.match(
    await server.api('PUT', '/v1/geofences/tag/late', CIRCLE),
    { status: 200 },
    'the registry can be written',
  )
}

const held = new Set<string>()
const CIRCLE = { type: 'circle', description: 'here', coordinates: [0, 0], radius: 100 }

async function serverWithGeofence(t: Test, data: string): Promise<Server> {
  const server = await Server.start({ data, env: ENV })
  t.teardown(async () => {
    await server.dispose()
    if (!t.passing()) console.error(server.output)
  })
  t.equal((await server.api('PUT', '/v1/geofences/tag/here', CIRCLE)).status, 200)
  return server
}

const noLimits = spawnSync('prlimit', ['--version']).error !== undefined && 'prlimit is not installed'

t.test('a file that must not grow any more', { skip: noLimits }, async (t) => {
  const data = t.testdir({})
  const server = await serverWithGeofence(t, data)
  const told = await trackToTheEnd(server, async (updates) => {
    if (updates !== 200) return
    const newest = readdirSync(join(data, 'log'))
      .filter((name) => name.endsWith('.seg'))
      .toSorted()
      .at(-1)!
    const bytes = statSync(join(data, 'log', newest)).size / 2
    t.equal(spawnSync('prlimit', ['--pid', String(server.pid), `--fsize=${Math.floor(bytes)}`]).status, 0)
  })
  t.equal(await server.ended(), 1)
  t.match(
    server.output,
    /"level":"fatal".*(EFBIG|events\.sqlite failed: disk I\/O error).*fatal error/,
    'it says why',
  )
  t.ok(told.events.length >= 190)
  await server.restart()
  await checkHeld(t, server, told)
})

/** Fills the file system of the file to its last byte. */
function fill(path: string): void {
  const descriptor = openSync(path, 'w')
  for (let bytes = 1 << 20; bytes >= 1;) {
    try {
      writeSync(descriptor, Buffer.alloc(bytes))
    } catch {
      bytes >>= 1
    }
  }
  closeSync(descriptor)
}

/** A small file system in memory. If it cannot be mounted, the reason as text. */
function mountDisk(): { readonly path: string; readonly release: () => void } | string {
  const path = mkdtempSync(join(tmpdir(), 'ringfence-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', path])
  const release = () => {
    spawnSync('umount', ['--lazy', path])
    rmSync(path, { recursive: true })
  }
  if (mounted.status === 0) return { path, release }
  release()
  return `no tmpfs can be mounted: ${mounted.error ?? mounted.stderr}`
}

const mounted = mountDisk()
const noDisk = typeof mounted === 'string' && mounted
if (typeof mounted !== 'string') t.teardown(mounted.release)

t.test('a full file system', { skip: noDisk }, async (t) => {
  const disk = (mounted as { path: string }).path
  const data = join(disk, 'data')
  mkdirSync(data)
  const server = await serverWithGeofence(t, data)
  const ballast = join(disk, 'ballast')
  let edit: { status: number } | undefined
  const told = await trackToTheEnd(server, async (updates) => {
    if (updates !== 200) return
    fill(ballast)
    // The edit is refused, the connection ends, or the file's write-ahead log had room for it.
    edit = await server.api('PUT', '/v1/geofences/tag/more', CIRCLE).catch(() => undefined)
    t.ok([200, 503].includes(edit?.status ?? 503), `${edit?.status}`)
  })
  t.equal(await server.ended(), 1)
  t.match(
    server.output,
    /"level":"fatal".*(ENOSPC|events\.sqlite failed: database or disk is full).*fatal error/,
    'it says why',
  )

  t.comment('a start without room is refused, or serves what is there')
  const before = server.output.length
  try {
    await server.restart()
    await server.kill9()
  } catch {
    const said = server.output.slice(before)
    t.equal(await server.ended(), 1)
    t.match(said, /full|ENOSPC|no space/i, said)
    t.notMatch(said, /\n +at /, 'no stack trace')
  }

  rmSync(ballast)
  await server.restart()
  await checkHeld(t, server, told)
  // An edit without an answer may have been made.
  const kept = await server.api('GET', '/v1/geofences/tag/more')
  if (edit !== undefined)
    t.equal(kept.status, edit.status === 200 ? 200 : 404, 'the edit is as it was answered')
})
