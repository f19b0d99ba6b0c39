/**
 * A query that repeats what can be read in several ways costs no more than its words (issue 15): each of these once took
 * hundreds of searches of each index, because every choice of the repeated words was looked for again, for each side of
 * each crossing and each attempt with other letters.
 */
import t from 'tap'
import { autocomplete } from '../../src/geo/geocoding/autocomplete.ts'
import { forward } from '../../src/geo/geocoding/forward.ts'
import { SEARCH_LAYERS } from '../../src/geo/geocoding/parameters.ts'
import { SearchSources } from '../../src/geo/geocoding/sources.ts'
import { PlaceDatabase } from '../../src/geo/placeDatabase/reader.ts'
import { SearchIndex } from '../../src/geo/placeDatabase/searchIndex.ts'
import { WorldDatabase } from '../../src/geo/world/worldDatabase.ts'
import { buildRegion, worldFile } from '../geocoding/kit.ts'
import { growthOf, ownCost } from './growth.ts'

/** The longest query that is read. */
const LONGEST = 1000
const EIGHTH = 8
/** Less cannot be told from noise. */
const LEAST_MS = 4
/** How many searches of one index a question may cause, and how many more around a point for each of them. */
const MOST_SEARCHES = 100
const MOST_NEAR = 2
/** How many pairs of words may be looked up in one index. */
const MOST_PAIRS = 100

const TYPES = ['Avenida', 'Calle', 'Rambla', 'Camino', 'San', 'General', 'Los']
const NAMES = ['Flores', 'Rivera', 'Ejido', 'Jose', 'Italia', 'Maria', 'del Sur', 'de Julio']

/** Streets of two or three words, of which each occurs in many. */
function manyStreets() {
  const nodes = []
  const ways = []
  for (const [i, first] of TYPES.entries())
    for (const [j, second] of NAMES.entries())
      for (const [k, third] of ['', ...NAMES].entries()) {
        const id = 1 + (i * NAMES.length + j) * (NAMES.length + 1) + k
        const [longitude, latitude] = [-56.2 + i * 0.01 + k * 0.001, -34.9 + j * 0.01]
        nodes.push({ id: 2 * id, longitude, latitude, tags: {} })
        nodes.push({
          id: 2 * id + 1,
          longitude: longitude + 0.0005,
          latitude,
          tags: { 'addr:housenumber': '1234', 'addr:street': `${first} ${second} ${third}`.trim() },
        })
        ways.push({
          id,
          nodes: [2 * id, 2 * id + 1],
          tags: { highway: 'residential', name: `${first} ${second} ${third}`.trim() },
        })
      }
  return { dataOf: 0, nodes, ways, relations: [] }
}

/** What is repeated: streets and numbers, crossings, light words, units, wrong letters, and different words. */
const PIECES: readonly string[] = [
  'avenida 1234 y calle, ',
  'avenida y ',
  'san ',
  'calle 1234 ',
  'general flores 2345 & ',
  'rambla 12 bis apto 4 y ejido, ',
  'avenidq 1234 y calke, ',
  'Montevideo, ',
  'a ',
  `${[...TYPES, ...NAMES].join(' ')} and `,
  'south, it ru norte north la spain us ',
]

t.test('a repeated query', async (t) => {
  const region = await buildRegion(t, 'many', manyStreets())
  const records = new PlaceDatabase(region.places!)
  const world = new WorldDatabase(worldFile())
  t.teardown(() => {
    records.close()
    world.close()
  })
  const common = { layers: SEARCH_LAYERS, countries: [], language: 'en', now: 0 } as const
  const completion = { limit: 10, postalCode: undefined, isMailable: false, isAddressOnly: false } as const
  const ask = {
    forward: (query: string) => forward(sourcesAnew(), { ...common, query }),
    autocomplete: (query: string) =>
      autocomplete(sourcesAnew(), { ...common, ...completion, query, near: [-56.17, -34.87] }),
  }
  /** Without what earlier questions have found out. */
  const sourcesAnew = (): SearchSources => new SearchSources([{ records, bounds: region.bounds }], world)
  const found = ask.forward('Avenida Flores 1234')
  t.match(found[0], { addressLabel: 'Avenida Flores 1234', confidence: 'exact' }, 'the streets are there')

  for (const [kind, answer] of Object.entries(ask))
    for (const piece of PIECES) {
      const textOf = (length: number): string =>
        piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
      const searches = t.capture(SearchIndex.prototype, 'search', SearchIndex.prototype.search)
      const pairs = t.capture(SearchIndex.prototype, 'hasAll', SearchIndex.prototype.hasAll)
      answer(textOf(LONGEST))
      const pairsAsked = pairs().length
      pairs.restore()
      t.ok(pairsAsked <= 2 * MOST_PAIRS, `${kind} ${piece}: ${pairsAsked} pairs of words`)
      const most = 2 * MOST_SEARCHES * (1 + MOST_NEAR)
      const asked = searches().map(({ args, receiver }) => ({ index: receiver, key: JSON.stringify(args) }))
      searches.restore()
      t.ok(asked.length <= most, `${kind} ${piece}: ${asked.length} searches`)
      const different = new Set(asked.map(({ index, key }) => `${index === records.index} ${key}`))
      t.equal(different.size, asked.length, `${kind} ${piece}: nothing is searched for twice`)
      const cost = (length: number): number => ownCost(() => answer(textOf(length)))
      const { small, large, isLinear } = await growthOf(cost, LONGEST, LEAST_MS)
      const says = `${large.toFixed(1)} ms of ${LONGEST} characters, ${small.toFixed(1)} ms of an eighth`
      t.ok(isLinear, `${kind} ${piece}: ${says}`)
      // From an eighth on, all words that are read are there, so more of them cost nothing.
      const short = await growthOf(cost, LONGEST / EIGHTH, LEAST_MS)
      t.ok(short.isLinear, `${kind} ${piece}: ${short.large.toFixed(1)} ms of an eighth of that`)
    }
})
