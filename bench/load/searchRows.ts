/** What forward geocoding and completions cost, for addresses drawn from a place database, in one thread and without HTTP. */
import { autocomplete } from '../../src/geo/geocoding/autocomplete.ts'
import { forward } from '../../src/geo/geocoding/forward.ts'
import { SEARCH_LAYERS } from '../../src/geo/geocoding/parameters.ts'
import type { Address } from '../../src/geo/geocoding/port.ts'
import { SearchSources } from '../../src/geo/geocoding/sources.ts'
import { PlaceDatabase } from '../../src/geo/placeDatabase/reader.ts'
import { WorldDatabase } from '../../src/geo/world/worldDatabase.ts'
import { quantile, rounded } from '../figures.ts'
import { progress } from '../progress.ts'
import { distinctHouses, housesIn, SPELLINGS, type House } from './addressQuestions.ts'

/** The figures to reach. */
export const STATED_SEARCHES: Readonly<
  Record<string, { readonly p50Ms: number; readonly p99Ms?: number; readonly perSecond?: number }>
> = {
  'forward, as written': { p50Ms: 5, perSecond: 500 },
  'completion of a street': { p50Ms: 2, p99Ms: 10 },
  'among a million, forward': { p50Ms: 5, perSecond: 500 },
  'among a million, forward without the town': { p50Ms: 5, perSecond: 500 },
  'among a million, completion of a street': { p50Ms: 2, p99Ms: 10 },
  'among a million, reverse, all layers': { p50Ms: 1, perSecond: 2000 },
}

const MANNER = { city: 'Montevideo', isNumberFirst: false }
const LETTERS_SHARE = 0.6
const LIMIT = 10

export function searchRows(job: {
  readonly file: string
  readonly bounds: readonly [number, number, number, number]
  readonly world: string
  readonly count: number
  readonly random: () => number
}) {
  const { file, bounds, count, random } = job
  const records = new PlaceDatabase(file)
  const world = new WorldDatabase(job.world)
  const sources = new SearchSources([{ records, bounds }], world)
  const houses = distinctHouses(housesIn(file))
  const common = { layers: SEARCH_LAYERS, countries: [], language: 'en' } as const
  const find = (query: string): Address[] => forward(sources, { ...common, query, now: Date.now() })
  const complete = (query: string, { position: near }: House): Address[] =>
    autocomplete(sources, {
      ...common,
      query,
      near,
      limit: LIMIT,
      postalCode: undefined,
      isMailable: false,
      isAddressOnly: false,
      now: Date.now(),
    })
  const begun = (text: string): string => text.slice(0, Math.ceil(text.length * LETTERS_SHARE))
  const cases: Readonly<Record<string, (house: House) => Address[]>> = {
    'forward, as written': (house) => find(SPELLINGS['as written']!(house, MANNER, random)!),
    'forward, one wrong letter': (house) =>
      find(SPELLINGS['one wrong letter']!(house, MANNER, random) ?? house.street),
    'completion of a street': (house) => complete(begun(house.street), house),
    'completion of three letters': (house) => complete(house.street.slice(0, 3), house),
    'completion of a number': (house) => complete(`${house.street} ${house.number.slice(0, 2)}`, house),
  }
  const draw = (): House => houses[Math.floor(random() * houses.length)]!
  const rows = Object.entries(cases).map(([name, one]) => searchRow(name, count, () => one(draw()).length))
  records.close()
  world.close()
  return rows
}

/**
 * What a kind of question costs.
 * @param ask asks one and returns the number of its results
 */
export function searchRow(name: string, count: number, ask: () => number) {
  progress(name)
  for (let i = 0; i < count / 5; i++) ask()
  const times = new Float64Array(count)
  let results = 0
  const began = process.cpuUsage()
  for (let i = 0; i < count; i++) {
    const start = performance.now()
    results += ask()
    times[i] = performance.now() - start
  }
  const { user, system } = process.cpuUsage(began)
  const micros = (user + system) / count
  times.sort()
  return {
    case: name,
    results: rounded(results / count, 2),
    p50Ms: rounded(quantile(times, 0.5), 3),
    p99Ms: rounded(quantile(times, 0.99), 3),
    microsOfCpu: Math.round(micros),
    perSecond: Math.round(1e6 / micros),
  }
}
