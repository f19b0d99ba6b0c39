/** How much a question looks up, among many streets of the same names. */
import t from 'tap'
import type { OsmNode, OsmWay } from '../../src/geo/extract/osmPbfWriter.ts'
import { forward } from '../../src/geo/geocoding/forward.ts'
import { SEARCH_LAYERS } from '../../src/geo/geocoding/parameters.ts'
import { SearchSources } from '../../src/geo/geocoding/sources.ts'
import { validate } from '../../src/geo/geocoding/validate.ts'
import { PlaceDatabase } from '../../src/geo/placeDatabase/reader.ts'
import { SearchIndex } from '../../src/geo/placeDatabase/searchIndex.ts'
import { WorldDatabase } from '../../src/geo/world/worldDatabase.ts'
import { buildRegion, worldFile } from './kit.ts'

/** Real towns of the state of New York. */
const TOWNS = [
  ['Buffalo', '14201', -78.8846, 42.8967],
  ['Rochester', '14604', -77.608, 43.157],
  ['Syracuse', '13202', -76.149, 43.04],
  ['Albany', '12207', -73.748, 42.655],
  ['Utica', '13501', -75.2327, 43.1009],
  ['Ithaca', '14850', -76.5019, 42.444],
] as const
const STREETS = ['Oak', 'Elm', 'Pine', 'Park', 'Lake']
/** So many that not all of them are looked at. */
const MAIN_STREETS = 130
const MOST_LOOKED_AT = 200
/** How many results an answer has at most. */
const MOST_RESULTS = 10
/** How many more searches an index may take for an address that exists. */
const FEW = 2

const nodes: OsmNode[] = []
const ways: OsmWay[] = []

function addStreet(name: string, city: string, code: string, longitude: number, latitude: number): void {
  const id = nodes.length + 1
  const tags = { 'addr:housenumber': '10', 'addr:street': name, 'addr:city': city, 'addr:postcode': code }
  nodes.push({ id, longitude, latitude, tags })
  nodes.push({ id: id + 1, longitude: longitude + 0.001, latitude, tags: {} })
  ways.push({ id, nodes: [id, id + 1], tags: { highway: 'residential', name } })
}

for (const [city, code, longitude, latitude] of TOWNS)
  for (const [i, name] of STREETS.entries())
    addStreet(`${name} Street`, city, code, longitude, latitude + i / 1000)
for (let i = 0; i < MAIN_STREETS; i++)
  addStreet('Main Street', 'Buffalo', '14201', -78.8 + (i % 13) / 100, 42.8 + Math.floor(i / 13) / 100)

const region = await buildRegion(t, 'same names', { nodes, ways, relations: [] })
const records = new PlaceDatabase(region.places!)
const world = new WorldDatabase(worldFile())
t.teardown(() => {
  records.close()
  world.close()
})
const sourcesAnew = (): SearchSources => new SearchSources([{ records, bounds: region.bounds }], world)
const find = (query: string) =>
  forward(sourcesAnew(), { query, layers: SEARCH_LAYERS, countries: [], language: 'en', now: 0 })

t.test('an address with its town, state and postal code is found at once', async (t) => {
  for (const [city, code] of TOWNS) {
    const searches = t.capture(SearchIndex.prototype, 'search', SearchIndex.prototype.search)
    const found = find(`10 Oak Street, ${city}, NY ${code}`)
    const own = searches().filter(({ receiver }) => receiver === records.index)
    searches.restore()
    t.match(found, [{ addressLabel: '10 Oak Street', city, postalCode: code, confidence: 'exact' }], city)
    t.equal(found.length, 1, city)
    t.ok(own.length <= FEW, `${city}: ${own.length} searches`)
  }
})

t.test('a postal code of another state is noticed, however many words stand before it', async (t) => {
  const found = find('10 Oak Street, Syracuse, United States 67002')
  t.notOk(found.some(({ confidence }) => confidence === 'exact'))
})

t.test('a validation looks up the areas around the houses and streets that fit best', async (t) => {
  const looks = t.capture(SearchSources.prototype, 'surroundings', SearchSources.prototype.surroundings)
  const { result, address } = validate(sourcesAnew(), {
    countryCode: 'US',
    stateCode: 'NY',
    postalCode: '14201',
    city: 'Buffalo',
    firstLine: '10 Main Street',
    unit: undefined,
  })
  const looked = looks().length
  looks.restore()
  t.equal(result.verificationStatus, 'verified')
  t.match(address, { addressLabel: '10 MAIN ST', city: 'BUFFALO', postalCode: '14201' })
  t.ok(looked > 0 && looked <= MOST_LOOKED_AT, `${looked} look-ups`)
})

t.test('what houses of one street name lie in is only looked up for those that are shown', async (t) => {
  const lookUps = t.capture(SearchSources.prototype, 'surroundings', SearchSources.prototype.surroundings)
  const found = find('10 Main Street')
  t.equal(found.length, MOST_RESULTS)
  t.match(found[0], { addressLabel: '10 Main Street', city: 'Buffalo', confidence: 'exact' })
  t.equal(lookUps().length, found.length)
})
