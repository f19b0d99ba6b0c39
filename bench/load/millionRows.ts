/** What questions cost among a million invented houses, which are added from a file as operators add theirs, in one thread and without HTTP. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import {
  mapRegionsFolder,
  placesIn,
  readManifest,
  readRecord,
  stageFolder,
} from '../../src/geo/extract/mapRegionFiles.ts'
import { autocomplete } from '../../src/geo/geocoding/autocomplete.ts'
import { forward } from '../../src/geo/geocoding/forward.ts'
import { SEARCH_LAYERS } from '../../src/geo/geocoding/parameters.ts'
import { LAYERS } from '../../src/geo/geocoding/port.ts'
import { reverse } from '../../src/geo/geocoding/reverse.ts'
import { SearchSources } from '../../src/geo/geocoding/sources.ts'
import { PlaceDatabase } from '../../src/geo/placeDatabase/reader.ts'
import { WorldDatabase } from '../../src/geo/world/worldDatabase.ts'
import { progress } from '../progress.ts'
import { inventedHouses, type InventedHouse } from './inventedHouses.ts'
import { searchRow } from './searchRows.ts'

const LETTERS_SHARE = 0.6
const LIMIT = 10
/** Each question is about another house than the one before. */
const ASKED_SHARE = 0.002

export async function millionRows(job: {
  /** An empty folder that may be used. */
  readonly folder: string
  /** The path of the world database. */
  readonly world: string
  readonly addresses: number
  /** Questions of each kind. */
  readonly count: number
  readonly seed: number
}) {
  const { folder, addresses, count, seed } = job
  const world = new WorldDatabase(job.world)
  progress(`adding ${addresses} invented houses`)
  const asked: InventedHouse[] = []
  const file = await added(folder, inventedHouses(world, addresses, seed), (house, index) => {
    if (index % Math.floor(1 / ASKED_SHARE) === 0) asked.push(house)
  })
  const records = new PlaceDatabase(file.path)
  const sources = new SearchSources([{ records, bounds: file.bounds }], world)
  const common = { layers: SEARCH_LAYERS, countries: [], language: 'en' } as const
  const find = (query: string): number => forward(sources, { ...common, query, now: Date.now() }).length
  const cases: Readonly<Record<string, (house: InventedHouse) => number>> = {
    forward: ({ number, street, city, state, postalCode }) =>
      find(`${number} ${street}, ${city}, ${state} ${postalCode}`),
    'forward without the town': ({ number, street }) => find(`${number} ${street}`),
    'completion of a street': ({ street, position: near }) => {
      const query = street.slice(0, Math.ceil(street.length * LETTERS_SHARE))
      const all = { postalCode: undefined, isMailable: false, isAddressOnly: false }
      return autocomplete(sources, { ...common, ...all, query, near, limit: LIMIT, now: Date.now() }).length
    },
    'reverse, all layers': ({ position }) =>
      reverse({ regions: [records], world }, { position, layers: LAYERS, language: 'en', now: Date.now() })
        .length,
  }
  let turn = 0
  const rows = Object.entries(cases).map(([name, ask]) =>
    searchRow(`among a million, ${name}`, count, () => ask(asked[turn++ % asked.length]!)),
  )
  records.close()
  world.close()
  return rows
}

/** Adds houses. Resolves to the path and the bounds of their place database. */
async function added(
  folder: string,
  houses: Iterable<InventedHouse>,
  onHouse: (house: InventedHouse, index: number) => void,
): Promise<{ readonly path: string; readonly bounds: readonly [number, number, number, number] }> {
  const path = join(folder, 'houses.csv')
  const data = mapRegionsFolder(folder)
  mkdirSync(data, { recursive: true })
  const out = createWriteStream(path)
  out.write('LON,LAT,NUMBER,STREET,UNIT,CITY,DISTRICT,REGION,POSTCODE\n')
  let index = 0
  for (const house of houses) {
    const { number, street, city, state, postalCode, position } = house
    onHouse(house, index++)
    const place = position.map((degrees) => degrees.toFixed(7)).join()
    if (!out.write(`${place},${number},${street},,${city},,${state},${postalCode}\n`))
      await once(out, 'drain')
  }
  out.end()
  await finished(out)
  await once(fork(new URL('./addAddressesChild.ts', import.meta.url), [path, data]), 'message')
  rmSync(path)
  const build = join(data, readManifest(data).regions[0]!.folder)
  return { path: placesIn(stageFolder(build, 'places')), bounds: readRecord(build).bounds }
}
