/**
 * An import that is killed: the server keeps using the region that it had, the next import succeeds, and nothing is
 * left over.
 *
 * A full disk during an import leads to an error message and changes nothing. The command is killed with `kill -9` at
 * each stage and at random times. RINGFENCE_TEST_RUNS raises their number, RINGFENCE_SEED repeats the random choices.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { readManifest, readRecord, mapRegionsFolder } from '../../src/geo/extract/mapRegionFiles.ts'
import { QUEENS, region, RegionProcess, temporaryFolder, writeStreets } from './kit.ts'

const rounds = Math.ceil(2 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1))
const seed = Number(process.env['RINGFENCE_SEED'] ?? Math.floor(Math.random() * 1e6))

const folder = temporaryFolder(t)
const data = join(folder, 'data')
const regions = mapRegionsFolder(data)
const extract = join(folder, 'town.osm.pbf')

const importing = (): RegionProcess =>
  new RegionProcess(['import', extract, '--data', data, '--threads', '1'])

/** Whether a folder of the unfinished build contains a file with such a name. */
function isBuilding(file: RegExp): boolean {
  const build = join(regions, 'town.building')
  return existsSync(build) && readdirSync(build, { recursive: true }).some((name) => file.test(String(name)))
}

/** Kills the process when the condition holds. Returns whether that was before its end. */
async function killWhen(process: RegionProcess, isTime: () => boolean): Promise<boolean> {
  while (process.isRunning && !isTime()) await sleep(1)
  process.signal('SIGKILL')
  return (await process.ended()) === null
}

/** Checks that the region in use is complete. Returns its folder. */
function served(t: Test): string {
  const [town] = readManifest(regions).regions
  const build = join(regions, town!.folder)
  t.match(readRecord(build), { name: 'town', roads: 16 })
  const tiles = readdirSync(join(build, 'routing', 'tiles'), { recursive: true }).map(String)
  t.ok(tiles.some((name) => name.endsWith('.gph')))
  for (const name of tiles.filter((one) => one.endsWith('.gph')))
    t.ok(readFileSync(join(build, 'routing', 'tiles', name)).length > 0)
  return town!.folder
}

t.before(async () => {
  writeStreets(extract, QUEENS)
})

t.test('at each stage', async (t) => {
  t.equal((await region('import', extract, '--data', data)).code, 0)
  for (const [stage, isTime, rereads] of [
    ['before it has begun', () => existsSync(join(regions, 'town.building')), true],
    ['when the extract is read', () => isBuilding(/progress\.json$/), false],
    ['while borders are built', () => isBuilding(/borders/), false],
    ['while tiles are built', () => isBuilding(/tiles.+\.(?:bin|gph)$/), false],
  ] as const) {
    await t.test(stage, async (t) => {
      const before = served(t)
      // For the import this is a different file, so it starts again from the beginning.
      writeStreets(extract, QUEENS)
      t.ok(await killWhen(importing(), isTime), 'killed in the middle')
      t.equal(served(t), before)
      t.match(
        (await region('list', '--data', data)).output,
        /^town: its import is running or was interrupted$/m,
      )
      const again = importing()
      t.equal(await again.ended(), 0, again.output)
      t.equal(/reading the extract/.test(again.output), rereads, again.output)
      const after = served(t)
      t.not(after, before)
      t.strictSame(
        readdirSync(regions).sort(),
        ['lock', 'regions.json', after].sort(),
        'nothing is left over',
      )
    })
  }
})

t.test(`at any time, seed ${seed}`, async (t) => {
  let state = seed
  const random = (): number => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31
  const began = performance.now()
  t.equal(await importing().ended(), 0)
  const whole = performance.now() - began
  for (let round = 0; round < rounds; round++) {
    writeStreets(extract, QUEENS)
    const at = performance.now() + random() * whole
    await killWhen(importing(), () => performance.now() >= at)
    served(t)
  }
  t.equal(await importing().ended(), 0)
  t.strictSame(readdirSync(regions).sort(), ['lock', 'regions.json', served(t)].sort())
})

t.test('Ctrl-C keeps finished work', async (t) => {
  const before = served(t)
  writeStreets(extract, QUEENS)
  const stopped = importing()
  while (!isBuilding(/borders/) && stopped.isRunning) await sleep(1)
  stopped.signal('SIGINT')
  t.equal(await stopped.ended(), 1)
  t.match(stopped.output, /Interrupted by SIGINT\. Run the same command again to continue\.\n$/)
  t.equal(served(t), before)
  t.match(await region('remove', 'town', '--data', data), { code: 0 })
  t.strictSame(readdirSync(regions).sort(), ['lock', 'regions.json'], 'remove takes the unfinished one along')
})

/** A separate small file system, or the reason why it cannot be mounted. */
function mountDisk(megabytes: number): { readonly path: string; readonly release: () => void } | string {
  const path = join(folder, 'disk')
  mkdirSync(path)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path])
  if (mounted.status === 0) return { path, release: () => void spawnSync('umount', ['--lazy', path]) }
  return `no tmpfs can be mounted: ${mounted.error ?? mounted.stderr}`
}

const disk = mountDisk(120)
if (typeof disk !== 'string') t.teardown(disk.release)

t.test('no room on the disk', { skip: typeof disk === 'string' && disk }, async (t) => {
  const { path } = disk as { path: string }
  const other = join(path, 'data')
  const filler = join(path, 'filler')
  const left = (): string[] => readdirSync(mapRegionsFolder(other)).filter((name) => name !== 'lock')
  writeFileSync(filler, Buffer.alloc(60e6))
  t.match(await region('import', extract, '--data', other), {
    code: 1,
    output: /has room for \d+ MB; this import takes up to 101 MB\.\n$/,
  })
  t.strictSame(left(), [])

  rmSync(filler)
  const full = new RegionProcess(['import', extract, '--data', other])
  while (!existsSync(join(mapRegionsFolder(other), 'town.building', 'progress.json')) && full.isRunning)
    await sleep(1)
  // Filling the disk can take longer than the import of a few streets.
  full.signal('SIGSTOP')
  try {
    for (let i = 0; ; i++) writeFileSync(`${filler}${i}`, Buffer.alloc(i < 110 ? 1e6 : 1e3))
  } catch (error) {
    t.match(error, { code: 'ENOSPC' })
  }
  full.signal('SIGCONT')
  t.equal(await full.ended(), 1, full.output)
  t.match(full.output, /: the disk is full\.\n$/)
  t.strictSame(left(), [])
})
