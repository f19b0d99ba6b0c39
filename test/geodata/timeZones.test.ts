/** The builder of routing tiles knows every time zone that exists. */
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import type { ZoneAt } from '../../src/geo/extract/boundaries.ts'
import { readExtract } from '../../src/geo/extract/extractReader.ts'
import { writeOsmPbf } from '../../src/geo/extract/osmPbfWriter.ts'
import { buildTiles } from '../../src/geo/extract/routingTiles.ts'
import { builderZone, timeZoneAt } from '../../src/geo/extract/timeZones.ts'
import { temporaryFolder } from './kit.ts'

/** Every name in the list of the look-up library. */
const source = readFileSync(createRequire(import.meta.url).resolve('@photostructure/tz-lookup'), 'utf8')
const names = [...new Set(source.match(/(?<=")[A-Z][A-Za-z]+\/[\w/+-]+(?=")/g))]

t.test('a road in each time zone of the world, with every name of the look-up library', async (t) => {
  t.ok(names.length > 400, `${names.length} names`)
  t.ok(names.includes('Europe/Vaduz') && names.includes('Etc/GMT'))
  const rows = Math.ceil(Math.sqrt(names.length))
  // Cells of two degrees, each with a different zone. The builder makes its tiles one by one, and reads the zones of
  // each.
  const zoneAt: ZoneAt = (longitude, latitude) =>
    builderZone(names[Math.floor((longitude + 60) / 2) * rows + Math.floor((latitude + 40) / 2)]!)
  t.strictSame(
    await notesOf(
      names.map((_, i) => [Math.floor(i / rows) * 2 - 59, (i % rows) * 2 - 39]),
      zoneAt,
    ),
    [],
  )
})

t.test('each zone that replaces another has the same time', (t) => {
  for (const name of names) {
    const other = builderZone(name)
    for (let year = 1971; year <= 2036; year++)
      for (const month of [0, 6])
        if (timeIn(name, year, month) !== timeIn(other, year, month)) t.fail(`${name}, ${other}: ${year}`)
  }
  t.equal(timeZoneAt(9.521, 47.141), 'Europe/Zurich')
  t.equal(timeZoneAt(13.405, 52.52), 'Europe/Berlin')
  t.end()
})

t.test('tiles are built without a zone that the builder refuses, and this is reported', async (t) => {
  const zoneAt: ZoneAt = (longitude) =>
    longitude < 10 ? 'Europe/Vaduz' : longitude < 11 ? 'Nowhere/At_All' : 'Europe/Vienna'
  const notes = await notesOf(
    [
      [9.5, 47],
      [10.5, 47],
      [11.5, 47],
    ],
    zoneAt,
  )
  t.match(notes.join(), /does not know the time zone Europe\/Vaduz/)
  t.notMatch(notes.join(), /Vienna/)
})

/** Builds tiles with a road at each place. @returns what the builder could not use */
async function notesOf(places: readonly (readonly [number, number])[], zoneAt: ZoneAt): Promise<string[]> {
  const folder = temporaryFolder(t)
  const extract = join(folder, 'roads.osm.pbf')
  const ends = places.flatMap(([longitude, latitude]) => [
    [longitude, latitude] as const,
    [longitude + 0.001, latitude] as const,
  ])
  writeOsmPbf(extract, {
    nodes: ends.map(([longitude, latitude], i) => ({ id: i + 1, longitude, latitude, tags: {} })),
    ways: places.map((_, i) => ({
      id: i + 1,
      nodes: [2 * i + 1, 2 * i + 2],
      tags: { highway: 'residential' },
    })),
    relations: [],
  })
  const build = join(folder, 'build')
  mkdirSync(build)
  const notes: string[] = []
  await buildTiles({
    extract,
    facts: { ...(await readExtract(extract, () => {})), zoneAt },
    folder: build,
    threads: 1,
    signal: new AbortController().signal,
    onProgress() {},
    onNote: (sentence) => notes.push(sentence),
  })
  return notes
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** The time that a clock in the zone shows at the beginning of a month in UTC. */
function timeIn(zone: string, year: number, month: number): string {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' })
    formats.set(zone, format)
  }
  return format.format(Date.UTC(year, month))
}
