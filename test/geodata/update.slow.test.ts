/** `npm run region -- update`: regions of an earlier version get the products of this one, and keep the others. */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readManifest, readRecord } from '../../src/geo/extract/mapRegionFiles.ts'
import { SampleMapRegion } from '../../src/geo/extract/sampleMapRegion.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { addSample } from '../kit/sampleRegion.ts'
import { until } from '../kit/waiting.ts'
import { QUEENS, LONDON, region, temporaryFolder, writeStreets } from './kit.ts'

/** The folder of a build. */
const buildOf = (data: string, name: string): string => {
  const regions = join(data, 'regions')
  return join(regions, readManifest(regions).regions.find((one) => one.name === name)!.folder)
}
/** Makes a build look as if an earlier version had made it. */
const age = (
  data: string,
  name: string,
  change: (record: Record<string, never>) => void = () => {},
): void => {
  const file = join(buildOf(data, name), 'region.json')
  const record = JSON.parse(readFileSync(file, 'utf8'))
  record.stages.places.engine = 'place database 1'
  change(record)
  writeFileSync(file, JSON.stringify(record))
  rmSync(join(buildOf(data, name), 'places', 'places.db'))
}
/** Of the first file with routing tiles. */
const inodeOfTiles = (data: string, name: string): number => {
  const tiles = join(buildOf(data, name), 'routing', 'tiles')
  const file = readdirSync(tiles, { recursive: true, encoding: 'utf8' }).find((one) => one.endsWith('.gph'))!
  return statSync(join(tiles, file)).ino
}

t.test('a region gets what is missing, from the same extract', async (t) => {
  const folder = temporaryFolder(t)
  const data = join(folder, 'data')
  const [extract, other, addresses, moved] = [
    'town.osm.pbf',
    'other.osm.pbf',
    'houses.csv',
    'moved.osm.pbf',
  ].map((name) => join(folder, name)) as [string, string, string, string]
  writeStreets(extract, QUEENS)
  writeStreets(other, LONDON)
  writeFileSync(addresses, 'lon,lat,number,street\n-73.98,40.7,1,A Street\n')
  t.match(await region('import', extract, '--data', data), { code: 0 })
  t.match(await region('add-addresses', addresses, '--data', data), { code: 0 })
  t.match(await region('update', '--data', data), {
    code: 0,
    output: /^houses is up to date\.\ntown is up to date\.\n$/,
  })

  age(data, 'town')
  age(data, 'houses')
  const { stages } = readRecord(buildOf(data, 'town'))
  const updated = await region('update', '--data', data)
  t.match(updated, { code: 0, output: /The region houses is ready\.[^]*The region town is ready\./ })
  t.notMatch(updated.output, /building routing tiles/)
  const after = readRecord(buildOf(data, 'town'))
  t.strictSame(after.stages.routing, stages.routing, 'the routing tiles are the same')
  t.match(after.stages.places, { engine: /^place database (?!1$)/ })
  t.ok(statSync(join(buildOf(data, 'town'), 'places', 'places.db')).size > 10_000)
  t.strictSame(
    readManifest(join(data, 'regions')).regions.map(({ name }) => name),
    ['houses', 'town'],
    'in the same order',
  )

  // An import by a version without maps.
  const file = join(buildOf(data, 'town'), 'region.json')
  const { stages: made, ...rest } = JSON.parse(readFileSync(file, 'utf8'))
  const { map, ...others } = made
  t.match(map, { engine: /^map / })
  writeFileSync(file, JSON.stringify({ ...rest, stages: others }))
  rmSync(join(buildOf(data, 'town'), 'map'), { recursive: true })
  t.match(await region('update', 'town', '--data', data), { code: 0, output: /The region town is ready/ })
  const mapped = readRecord(buildOf(data, 'town'))
  t.match(mapped.stages.map, { engine: map.engine })
  t.strictSame(mapped.stages.places, after.stages.places, 'the place database is the same')

  // A record of an earlier version, which does not say where the extract was.
  age(data, 'town', (record) => {
    const [source] = record['sources'] as unknown as [{ path?: string }]
    delete source.path
    Object.assign(record, { source })
    delete (record as { sources?: unknown }).sources
  })
  t.match(await region('update', 'town', '--data', data), {
    code: 1,
    output:
      /^town was built from town\.osm\.pbf; the record does not say where that was\. Get it, and say where it is: npm run region -- update town --file FILE\.osm\.pbf\n$/,
  })
  t.match(await region('update', 'town', '--file', other, '--data', data), {
    code: 1,
    output: /other\.osm\.pbf is another extract than that of the region town\./,
  })
  renameSync(extract, moved)
  t.match(await region('update', 'town', '--file', moved, '--data', data), {
    code: 0,
    output: /The region town is ready/,
  })
  t.match(readRecord(buildOf(data, 'town')).sources, [{ path: moved }])

  // One that cannot be updated does not keep the others from it.
  age(data, 'town')
  age(data, 'houses')
  writeFileSync(addresses, 'lon,lat,number,street\n-73.98,40.7,1,A Street\n-73.98,40.7,3,A Street\n')
  t.match(await region('update', '--data', data), {
    code: 1,
    output: /houses was built from .*houses\.csv, which has changed since then\.[^]*The region town is ready/,
  })
  t.match(await region('update', 'nowhere', '--data', data), {
    code: 1,
    output: /There is no region nowhere/,
  })
  t.match(await region('update', '--file', moved, '--data', data), { code: 2 })
})

t.test('the server updates the sample when it starts', async (t) => {
  const data = temporaryFolder(t)
  await addSample(data)
  for (const name of ['montevideo', 'santa-cruz']) age(data, name)
  const tiles = inodeOfTiles(data, 'montevideo')
  let isImported = false
  const sample = new SampleMapRegion({
    dataFolder: data,
    needed: async () => {},
    imported: async () => void (isImported = true),
    logger: createLogger('silent'),
  })
  sample.start()
  t.teardown(() => sample.stop())
  await until(() => isImported || sample.condition.startsWith('failed'))
  t.equal(sample.condition, 'ready')
  for (const name of ['montevideo', 'santa-cruz']) {
    t.match(readRecord(buildOf(data, name)).stages.places, { engine: /^place database (?!1$)/ })
    t.ok(statSync(join(buildOf(data, name), 'places', 'places.db')).size > 1e6)
  }
  t.equal(inodeOfTiles(data, 'montevideo'), tiles, 'the same files of the routing tiles')
})
