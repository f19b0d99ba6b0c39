/** Vector tiles, read by the library that maps read them with. */
import assert from 'node:assert/strict'
import t from 'tap'
import { VectorTile } from '../../src/geo/mapFile/vectorTile.ts'
import fc from '../kit/fastCheck.ts'
import { featuresOf, type TileFeature } from './kit.ts'

const TYPES = { point: 1, line: 2, area: 3 } as const
const at = fc.integer({ min: -64, max: 4160 })
const value = fc.oneof(
  fc.constantFrom('', 'a', 'ü', 'x'.repeat(200), 0, 7, -1, 2.5, true, false, undefined),
  fc.nat(3),
)
const values = fc.record({ name: value, kind: value, rank: value }, { requiredKeys: [] })
const shapes = fc.constantFrom('point' as const, 'line' as const, 'area' as const)
const features = fc.array(
  fc.tuple(fc.constantFrom('roads', 'water'), shapes, values, at, at, fc.integer({ min: 1, max: 40 })),
  { maxLength: 40 },
)

function partOf(shape: keyof typeof TYPES, x: number, y: number, side: number): number[] {
  if (shape === 'point') return [x, y]
  if (shape === 'line') return [x, y, x + side, y + side]
  return [x, y, x + side, y, x + side, y + side]
}

t.test('property: a reader finds what was added; lines and areas with equal values are one', async (t) => {
  fc.assert(
    fc.property(features, (drawn) => {
      const tile = new VectorTile()
      const expected = new Map<string, TileFeature & { readonly parts: number[][] }>()
      for (const [i, [layer, shape, given, x, y, side]] of drawn.entries()) {
        const part = partOf(shape, x, y, side)
        tile.add(layer, shape, given, [part])
        const members = Object.entries(given).filter(([, one]) => one !== undefined)
        const properties = Object.fromEntries(members) as TileFeature['properties']
        const name = JSON.stringify([layer, shape, Object.entries(properties), shape === 'point' && i])
        const closed = shape === 'area' ? [...part, x, y] : part
        const known = expected.get(name)
        if (known !== undefined) known.parts.push(closed)
        else expected.set(name, { layer, type: TYPES[shape], properties, parts: [closed] })
      }
      // Properties of the library have no prototype.
      const ofLayer = (all: Iterable<TileFeature>, wanted: string) =>
        JSON.stringify([...all].filter(({ layer }) => layer === wanted))
      const read = featuresOf(tile.bytes())
      for (const layer of ['roads', 'water'])
        assert.equal(ofLayer(read, layer), ofLayer(expected.values(), layer))
    }),
    { numRuns: 300 },
  )
  t.pass('all of them')
})

t.test('areas with different values stay different, also if their hashes are equal', async (t) => {
  const tile = new VectorTile()
  const ring = [0, 0, 1, 0, 1, 1]
  // Each number is the number of its own value. The hashes of the last two areas are equal, as a search has shown.
  const count = 24_551
  for (let a = 0; a < count; a++) tile.add('areas', 'area', { a }, [ring])
  const alike = [
    { a: 15_345, b: 308 },
    { a: 24_550, b: 0 },
  ]
  for (const one of alike) tile.add('areas', 'area', one, [ring])
  const read = featuresOf(tile.bytes())
  t.equal(read.length, count + 2)
  t.strictSame(
    read.slice(count).map(({ properties }) => ({ ...properties })),
    alike,
  )
})
