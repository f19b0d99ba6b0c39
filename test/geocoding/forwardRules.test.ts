/** What forward geocoding leaves out and in which order it answers, over HTTP, in invented towns of New York State. */
import t from 'tap'
import type { OsmExtract, OsmNode, OsmWay } from '../../src/geo/extract/osmPbfWriter.ts'
import { buildRegion, serveGeocoding } from './kit.ts'

const BROOKLYN = { longitude: -73.9868, latitude: 40.7, code: '11201' } as const
const BUFFALO = { longitude: -78.8784, latitude: 42.8864, code: '14201' } as const

class Town {
  readonly nodes: OsmNode[] = []
  readonly ways: OsmWay[] = []

  house(number: string, street: string, code: string, longitude: number, latitude: number): void {
    const tags = { 'addr:housenumber': number, 'addr:street': street, 'addr:postcode': code }
    this.nodes.push({ id: this.nodes.length + 1, longitude, latitude, tags })
  }

  street(name: string, highway: string, longitude: number, latitude: number): void {
    const nodes = [0, 0.002].map((east) => {
      this.nodes.push({ id: this.nodes.length + 1, longitude: longitude + east, latitude, tags: {} })
      return this.nodes.length
    })
    this.ways.push({ id: this.ways.length + 1, nodes, tags: { highway, name } })
  }

  get extract(): OsmExtract {
    return { nodes: this.nodes, ways: this.ways, relations: [] }
  }
}

const state = new Town()
for (const { longitude, latitude, code } of [BROOKLYN, BUFFALO]) {
  state.street('Main Street', 'residential', longitude, latitude)
  state.house('10', 'Main Street', code, longitude, latitude + 1e-4)
}
// The same name, 2 km apart, in a small and in a large road.
state.street('River Road', 'residential', BROOKLYN.longitude, BROOKLYN.latitude + 0.01)
state.street('River Road', 'primary', BROOKLYN.longitude, BROOKLYN.latitude + 0.03)
// A dozen of one name and number.
for (let i = 0; i < 12; i++) {
  const latitude = BUFFALO.latitude + i / 100
  state.street('Oak Street', 'residential', BUFFALO.longitude, latitude)
  state.house('7', 'Oak Street', BUFFALO.code, BUFFALO.longitude, latitude)
}
/** Another source knows a house of Brooklyn, too, 40 m away. */
const other = new Town()
other.street('Main Street', 'residential', BROOKLYN.longitude, BROOKLYN.latitude)
other.house('10', 'MAIN STREET', BROOKLYN.code, BROOKLYN.longitude, BROOKLYN.latitude + 5e-4)
other.house('12', 'Main Street', BROOKLYN.code, BROOKLYN.longitude + 5e-4, BROOKLYN.latitude + 5e-4)

const [first, second] = [
  await buildRegion(t, 'state', state.extract),
  await buildRegion(t, 'other', other.extract),
]
const served = await serveGeocoding(t, [first, second])
const forward = async (query: string, more: Record<string, string> = {}) => {
  const { status, body } = await served.get('/v1/geocode/forward', { query, ...more })
  if (status !== 200) throw new Error(`${status}: ${body.meta.message}`)
  return body.addresses
}
const codesOf = async (query: string): Promise<string[]> =>
  (await forward(query)).map(({ postalCode, confidence }: { postalCode: string; confidence: string }) =>
    confidence === 'exact' ? postalCode : confidence,
  )

t.test(
  'an address is left out where the query names another city, state, country or postal code',
  async (t) => {
    t.strictSame((await codesOf('10 Main Street')).toSorted(), ['11201', '14201'])
    t.strictSame(await codesOf('10 Main Street, Brooklyn'), ['11201'])
    t.strictSame(await codesOf('10 Main Street, Buffalo, NY'), ['14201'])
    t.strictSame(await codesOf('10 Main Street, 14201'), ['14201'])
    t.strictSame(
      await codesOf('10 Main Street, 14202'),
      ['14201'],
      'a neighbouring code: the same first three digits',
    )
    t.notOk((await codesOf('10 Main Street, New Jersey')).some((code) => /^\d/.test(code)))
    t.notOk((await codesOf('10 Main Street, Canada')).some((code) => /^\d/.test(code)))
    t.notOk(
      (await codesOf('10 Mxyz Stqrst')).some((code) => /^\d/.test(code)),
      'too little of it fits',
    )
  },
)

t.test('large roads come before small ones of the same name', async (t) => {
  const roads = await forward('River Road', { layers: 'street' })
  t.equal(roads.length, 2)
  t.ok(roads[0].latitude > roads[1].latitude, 'the primary one is in the north')
})

t.test('large cities come before small ones of the same name, and before their state', async (t) => {
  const cities = await forward('Paris', { layers: 'locality' })
  t.equal(cities[0].countryCode, 'FR')
  t.ok(cities.length > 1 && cities[1].countryCode !== 'FR', 'there are others')
  t.match(await forward('New York', { layers: 'state,locality' }), [
    { layer: 'locality' },
    { layer: 'state' },
  ])
})

t.test('at most ten results, in a fixed order, and each house once', async (t) => {
  const oaks = await forward('7 Oak Street, Buffalo')
  t.equal(oaks.length, 10)
  t.ok(oaks.every(({ confidence }: { confidence: string }) => confidence === 'exact'))
  t.strictSame(await forward('7 Oak Street, Buffalo').then(positions), positions(oaks))
  served.regions = [second, first]
  t.strictSame(
    await forward('7 Oak Street, Buffalo').then(positions),
    positions(oaks),
    'whichever region comes first',
  )
  // Both regions know number 10; its spelling does not make it another house.
  const houses = await forward('10 main street brooklyn')
  t.equal(houses.length, 1)
  t.match(
    await forward('11 Main Street, Brooklyn'),
    [{ confidence: 'fallback', layer: 'street' }],
    'one fallback',
  )
})

function positions(
  addresses: readonly { readonly latitude: number; readonly longitude: number }[],
): string[] {
  return addresses.map(({ latitude, longitude }) => `${latitude},${longitude}`)
}
