/** GET /v1/search/autocomplete over HTTP: how many results it has, and what ends a house number, in an invented town. */
import t from 'tap'
import type { OsmNode } from '../../src/geo/extract/osmPbfWriter.ts'
import { buildRegion, serveGeocoding } from './kit.ts'

const [WEST, SOUTH] = [-56.19, -34.9]
const SITES = 4

const nodes: OsmNode[] = []
const node = (east: number, north: number, tags: Record<string, string> = {}): number => {
  nodes.push({ id: nodes.length + 1, longitude: WEST + east, latitude: SOUTH + north, tags })
  return nodes.length
}
const street = {
  id: 1,
  nodes: [node(0, 0), node(0.002, 0)],
  tags: { highway: 'residential', name: 'Colonia' },
}
node(0.001, 1e-4, { 'addr:housenumber': '1200', 'addr:street': 'Colonia' })
// Each café is in the data twice, 50 m apart.
for (let site = 0; site < SITES; site++)
  for (const north of [0, 5e-4]) node(0.01 * site, north, { amenity: 'cafe', name: 'Café Azul' })
const region = await buildRegion(t, 'town', { nodes, ways: [street], relations: [] })
const served = await serveGeocoding(t, [region])

const complete = async (query: string, more: Record<string, string> = {}) => {
  const near = `${SOUTH},${WEST}`
  const { status, body } = await served.get('/v1/search/autocomplete', { query, near, ...more })
  if (status !== 200) throw new Error(`${status}: ${body.meta.message}`)
  return body.addresses
}

t.test('there are as many results as asked for, although some records are duplicates', async (t) => {
  for (let limit = 1; limit <= SITES; limit++) {
    const found = await complete('cafe azul', { layers: 'place', limit: `${limit}` })
    t.equal(found.length, limit)
  }
  t.equal(
    (await complete('cafe azul', { layers: 'place', limit: '9' })).length,
    SITES,
    'and no more than there are',
  )
})

t.test('a letter after a comma does not belong to the house number', async (t) => {
  for (const query of ['Colonia 1200, M', 'colonia 1200,b']) {
    const numbers = (await complete(query)).map(({ number }: { number?: string }) => number)
    t.equal(numbers[0], '1200', query)
    t.notOk(
      numbers.some((number?: string) => /^1200\w/.test(number ?? '')),
      query,
    )
  }
  const numbers = (await complete('Colonia 1200 b')).map(({ number }: { number?: string }) => number)
  t.ok(numbers.includes('1200B'), 'without a comma it may')
})
