/**
 * An import that is killed: what was served is served, the next import goes on, and nothing is left over.
 *
 * Killed are `kill -9` of the command at each stage, and at times drawn at random. RINGFENCE_TEST_RUNS raises their number,
 * RINGFENCE_SEED repeats the draws.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { readManifest, readRecord, regionsFolder } from '../../src/geodata/regionFiles.ts'
import { QUEENS, region, RegionProcess, temporaryFolder, writeStreets } from './kit.ts'

const rounds = Math.ceil(2 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1))
const seed = Number(process.env['RINGFENCE_SEED'] ?? Math.floor(Math.random() * 1e6))

const folder = temporaryFolder(t)
const data = join(folder, 'data')
const regions = regionsFolder(data)
const extract = join(folder, 'town.osm.pbf')

const importing = (): RegionProcess =>
  new RegionProcess(['import', extract, '--data', data, '--threads', '1'])

/** Whether a folder of the unfinished build has such a file. */
function isBuilding(file: RegExp): boolean {
  const build = join(regions, 'town.building')
  return existsSync(build) && readdirSync(build, { recursive: true }).some((name) => file.test(String(name)))
}

/** Kills it when it is so; answers whether that was before its end. */
async function killWhen(process: RegionProcess, isTime: () => boolean): Promise<boolean> {
  while (process.isRunning && !isTime()) await sleep(1)
  process.signal('SIGKILL')
  return (await process.ended()) === null
}

/** What is served is whole; returns its folder. */
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
      // Another file as far as the import can tell, so that it begins anew.
      writeStreets(extract, QUEENS)
      t.ok(await killWhen(importing(), isTime), 'killed in the middle')
      t.equal(served(t), before)
      t.match(
        (await region('list', '--data', data)).output,
        /^town: its import is under way, or was interrupted$/m,
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

t.test('Ctrl-C keeps what is done', async (t) => {
  const before = served(t)
  writeStreets(extract, QUEENS)
  const stopped = importing()
  while (!isBuilding(/borders/) && stopped.isRunning) await sleep(1)
  stopped.signal('SIGINT')
  t.equal(await stopped.ended(), 1)
  t.match(stopped.output, /Interrupted by SIGINT\. The same command goes on from here\.\n$/)
  t.equal(served(t), before)
  t.match(await region('remove', 'town', '--data', data), { code: 0 })
  t.strictSame(readdirSync(regions).sort(), ['lock', 'regions.json'], 'remove takes the unfinished one along')
})
