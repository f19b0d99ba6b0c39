/**
 * Backups of a server under load are restored. Each must contain the state of one moment during the backup.
 *
 * RINGFENCE_SEED=123 node test/cli/backup.slow.test.ts repeats the same random choices
 */
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Manifest } from '../../src/cli/backup/manifest.ts'
import { CrashRun } from '../crash/crashRound.ts'
import type { Circle } from '../crash/fleet.ts'
import { Seeded } from '../crash/seeded.ts'
import { command } from './command.ts'
import { until } from '../kit/waiting.ts'

const seed = Number(process.env['RINGFENCE_SEED'] ?? Date.now() % 1e9)

/** What was known at one moment. */
interface Moment {
  /** Acknowledged updates of each device. */
  readonly updates: readonly number[]
  readonly circles: readonly Circle[]
}

t.test(`under load, RINGFENCE_SEED=${seed}`, async (t) => {
  const random = new Seeded(seed)
  const run = await CrashRun.start(random, [])
  const backups = mkdtempSync(join(tmpdir(), 'ringfence-backup-'))
  t.teardown(async () => {
    await run.dispose()
    rmSync(backups, { recursive: true })
    if (!t.passing()) console.error(`RINGFENCE_SEED=${seed}\n${run.server.output}`)
  })

  for (const round of [1, 2]) {
    const target = join(backups, String(round))
    const { before, edits } = await backUp(t, run, target, round === 2)
    t.comment(`${edits.length - 1} edits meanwhile`)
    await run.server.kill9()
    renameSync(run.server.data, join(backups, `lost-${round}`))
    t.match(await command(['restore', target, '--data', run.server.data]), {
      code: 0,
      output: /Restored the backup/,
    })
    const store = (folder: string) => readFileSync(join(folder, 'store.json'), 'utf8')
    t.match(store(run.server.data), '"secret"')
    t.equal(
      store(run.server.data),
      store(join(backups, `lost-${round}`)),
      'what clients keep of places stays good',
    )
    await run.server.restart()

    const answered = new Set(run.ledger.answered)
    await rewind(t, run, before, edits)
    await run.ledger.check()
    t.strictSame(run.ledger.faults, [], 'every update is there whole, its events once and in order')
    const circles = textOf([...run.ledger.circles.values()])
    const edit = edits.findLastIndex((moment) => textOf(moment.circles) === circles)
    t.ok(edit >= 0, 'the geofences are those of a moment of the backup')
    const later = edits[edit + 1]?.updates.map(
      (updates, i) => updates - run.ledger.devices[i]!.history.length,
    )
    t.ok(later?.every((updates) => updates >= 0) ?? true, 'no update is newer than the registry (G10)')

    run.ledger.answered.clear()
    await run.during(
      () => sleep(500),
      () => {},
    )
    const again = [...run.ledger.answered].filter((id) => answered.has(id))
    t.strictSame(again, [], 'no new event has the id of one before, not even of one that is lost')
  }
  await run.finish()
  t.strictSame(run.ledger.faults, [], 'everything at the end')
  t.comment(JSON.stringify(run.ledger.counts))
  t.ok(run.ledger.counts.events > 0 && run.ledger.counts.edits > 0)
})

/** Makes a backup during load and edits. Returns what was known when it began and after each edit. */
async function backUp(
  t: Test,
  run: CrashRun,
  target: string,
  withSnapshots: boolean,
): Promise<{ before: Moment; edits: Moment[] }> {
  const now = (): Moment => ({
    updates: run.ledger.devices.map(({ history }) => history.length),
    circles: [...run.ledger.circles.values()],
  })
  const edits: Moment[] = []
  const known = { before: now(), edits }
  await run.during(
    async () => {
      await (withSnapshots ? snapshotsOf(run) : sleep(700))
      known.before = now()
      edits.splice(0, edits.length, known.before)
      const { code, output } = await command(['backup', target, '--data', run.server.data])
      t.equal(code, 0, output)
    },
    () => edits.push(now()),
  )
  const manifest = JSON.parse(readFileSync(join(target, 'manifest.json'), 'utf8')) as Manifest
  const snapshots = manifest.files.filter(({ name }) => name.startsWith('snapshots/'))
  if (withSnapshots) t.ok(snapshots.length > 0, 'with snapshots')
  t.ok(manifest.logPosition >= manifest.eventsPosition && manifest.registryRevision > 0)
  t.ok(
    run.ledger.devices.some(({ history }, i) => history.length > known.before.updates[i]!),
    'the server went on meanwhile',
  )
  return known
}

/** Waits until there are snapshots. Housekeeping checks every five seconds whether they are due. */
async function snapshotsOf(run: CrashRun): Promise<void> {
  const folder = join(run.server.data, 'snapshots')
  await until(() => readdirSync(folder).some((name) => name.endsWith('.snap')))
}

/** Finds the last update of each device that the restored server has, and lets its client continue from there. */
async function rewind(t: Test, run: CrashRun, before: Moment, edits: readonly Moment[]): Promise<void> {
  const { ledger } = run
  const { body } = await run.server.api('GET', '/v1/users?limit=1000')
  const updatedAt = new Map<string, string>()
  for (const user of body.users) updatedAt.set(user.deviceId, user.updatedAt)
  const missing: string[] = []
  for (const [i, device] of ledger.devices.entries()) {
    const last = updatedAt.get(device.deviceId)
    const updates = device.history.findLastIndex((sent) => sent.body.updatedAt === last) + 1
    if (updates < before.updates[i]!) {
      missing.push(`${device.deviceId} has ${updates} of ${before.updates[i]} acknowledged updates`)
    }
    device.rewind(updates)
  }
  t.strictSame(missing, [], 'every update is there that was acknowledged before the backup began (G1)')
  // It is not known yet which edits the backup contains.
  for (const { circles } of edits) for (const { externalId } of circles) ledger.unsure.add(externalId)
  for (const { externalId } of ledger.circles.values()) ledger.unsure.add(externalId)
  ledger.farVersions.clear()
  ledger.answered.clear()
  ledger.listed.clear()
  ledger.forgetChecks()
}

function textOf(circles: readonly Circle[]): string {
  return circles
    .map((circle) => JSON.stringify(circle, Object.keys(circle).toSorted()))
    .toSorted()
    .join()
}
