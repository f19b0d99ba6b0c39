/** Which chain a place belongs to: by invented items, and by those of the package. */
import t from 'tap'
import { chainSource, readChains } from '../../src/geo/extract/chainFiles.ts'
import { Chains, slugOf, type ChainItem } from '../../src/geo/records/chains.ts'

const tags = (fields: Record<string, string>): Map<string, string> => new Map(Object.entries(fields))

const item = (name: string, fields: Partial<ChainItem> = {}): ChainItem => ({
  key: 'amenity',
  value: 'cafe',
  id: 'any-0123ab',
  displayName: name,
  locationSet: {},
  tags: { brand: name, name },
  ...fields,
})
const chains = (...items: ChainItem[]): Chains =>
  new Chains(items, {
    isUsedIn: ({ include = [] }, country) => include.length === 0 || include.includes(country),
    domainOf: (brandId) => `${brandId.toLowerCase()}.example`,
  })
const slugIn = (known: Chains, fields: Record<string, string>, country = 'UY'): string | undefined =>
  known.of(tags(fields), () => country)?.slug

t.test('slugs: of the English name, in ASCII, otherwise of the id', async (t) => {
  for (const [name, slug] of [
    ['Burger King', 'burger-king'],
    ["McDonald's", 'mcdonalds'],
    ['McDonald’s', 'mcdonalds'],
    ['Dr. Oetker', 'dr-oetker'],
    ['A&W', 'aandw'],
    ['& Other Stories', 'and-other-stories'],
    ['Café Olé!', 'cafe-ole'],
    ['7-Eleven', '7-eleven'],
    ['  --  x  ', 'x'],
    ['すき家', 'any'],
  ] as const)
    t.equal(slugOf(item(name)), slug)
  t.equal(
    slugOf(item('スターバックス', { tags: { brand: 'スターバックス', 'brand:en': 'Starbucks' } })),
    'starbucks',
  )
  t.equal(slugOf(item('x'.repeat(100_000))).length, 255)
})

t.test('the id in Wikidata wins, then display name, name and brand, then other names', async (t) => {
  const known = chains(
    item('Alpha', { tags: { brand: 'Alpha', name: 'Alpha', 'brand:wikidata': 'Q1' }, matchNames: ['Beta'] }),
    item('Beta', { displayName: 'Beta (shown)', tags: { brand: 'Beta', name: 'Beta Café' } }),
  )
  t.equal(slugIn(known, { amenity: 'cafe', brand: 'Beta', 'brand:wikidata': 'Q1' }), 'alpha')
  t.equal(slugIn(known, { shop: 'books', 'brand:wikidata': 'Q1' }), 'alpha', 'whatever it is')
  t.equal(slugIn(known, { amenity: 'cafe', brand: 'ALPHA', name: 'Beta' }), 'alpha', 'brand before name')
  t.equal(slugIn(known, { amenity: 'cafe', brand: 'beta', 'brand:wikidata': 'Q99' }), 'beta', 'not Alpha')
  for (const name of ['Beta', 'béta', 'Beta (shown)', 'BetaCafé'])
    t.equal(slugIn(known, { amenity: 'cafe', name }), 'beta', name)
  t.equal(slugIn(known, { amenity: 'bar', name: 'Beta' }), undefined, 'another kind of place')
  t.equal(slugIn(known, { amenity: 'bar;cafe', name: 'Beta' }), 'beta', 'several kinds')
  t.equal(slugIn(known, { amenity: 'cafe', name: 'Gamma' }), undefined)
  t.equal(slugIn(known, { amenity: 'cafe', name: '()' }), undefined, 'no letters')
  t.equal(slugIn(known, { amenity: 'cafe' }), undefined)
  t.equal(
    slugIn(known, { amenity: '__proto__', name: 'constructor', 'brand:wikidata': 'toString' }),
    undefined,
  )
})

t.test('a name counts where the chain is; a slug has one name; domains are those of the brand', async (t) => {
  const there = (country: string) => ({ locationSet: { include: [country] } })
  const known = chains(
    item('Delta', { ...there('CA'), tags: { brand: 'DELTA', name: 'DELTA', 'brand:wikidata': 'Q1' } }),
    item('Delta', { ...there('US'), tags: { brand: 'Delta', name: 'Delta', 'brand:wikidata': 'Q2' } }),
    item('Delta (fuel)', { ...there('US'), value: 'fuel', tags: { brand: 'Delta', 'brand:wikidata': 'Q2' } }),
  )
  const of = (fields: Record<string, string>, country: string | undefined) =>
    known.of(tags(fields), () => country)
  const delta = { slug: 'delta', name: 'Delta' }
  t.strictSame(of({ amenity: 'cafe', name: 'Delta' }, 'CA'), { ...delta, domain: 'q1.example' })
  t.strictSame(of({ amenity: 'cafe', name: 'Delta' }, 'US'), { ...delta, domain: 'q2.example' })
  t.equal(of({ amenity: 'cafe', name: 'Delta' }, 'UY'), undefined)
  t.equal(of({ amenity: 'cafe', name: 'Delta' }, undefined), undefined, 'at sea')
  t.match(of({ amenity: 'cafe', 'brand:wikidata': 'Q2' }, 'UY'), delta, 'by its id everywhere')
})

t.test('the package: countries by code, region, part, feature and point', async (t) => {
  t.match(chainSource(), /^name-suggestion-index \d+\.\d+\.\d+$/)
  const known = readChains()
  const of = (fields: Record<string, string>, country: string) => known.of(tags(fields), () => country)
  t.strictSame(of({ amenity: 'fast_food', name: "McDonald's" }, 'UY'), {
    slug: 'mcdonalds',
    name: "McDonald's",
    domain: 'mcdonalds.com',
  })
  t.match(of({ amenity: 'cafe', name: 'スターバックス', 'brand:wikidata': 'Q37158' }, 'JP'), {
    slug: 'starbucks',
  })
  t.match(of({ amenity: 'fast_food', name: 'A&W' }, 'CA'), { slug: 'aandw', domain: 'web.aw.ca' })
  t.match(of({ amenity: 'fast_food', name: 'A&W' }, 'US'), { slug: 'aandw', domain: 'awrestaurants.com' })
  t.match(of({ shop: 'supermarket', name: 'Disco' }, 'UY'), { slug: 'disco' })
  t.equal(of({ shop: 'supermarket', name: 'Disco' }, 'DE'), undefined)
  t.match(of({ amenity: 'fast_food', name: 'Abokado' }, 'GB'), { slug: 'abokado' }, 'gb-lon.geojson')
  t.equal(of({ amenity: 'fast_food', name: 'Abokado' }, 'FR'), undefined)
  t.match(of({ amenity: 'fast_food', name: "McDonald's" }, 'PR'), { slug: 'mcdonalds' }, 'a territory')
})
