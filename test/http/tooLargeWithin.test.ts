/** A list that is far too long, deep in a value: what is around it is not examined item by item. */
import t from 'tap'
import Type from 'typebox'
import { Validator } from '../../src/http/validate.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { WatchSchema } from '../../src/stream/watches.ts'

const Position = Type.Tuple([Type.Number(), Type.Number()])
const Ring = Type.Array(Position, { maxItems: 2000 })
const Polygon = Type.Object({ type: Type.Literal('polygon'), coordinates: Type.Array(Ring, { maxItems: 1 }) })
const LENGTH = 10_000

/** A ring that counts how often a position of it is looked at. */
function countedRing(): { readonly ring: object; readonly looks: () => number } {
  let looks = 0
  const positions = Array.from({ length: LENGTH }, (_, i) => [i / LENGTH, 0])
  const ring = new Proxy(positions, {
    get(target, name, receiver) {
      if (typeof name === 'string' && /^\d/.test(name)) looks++
      return Reflect.get(target, name, receiver)
    },
  })
  return { ring, looks: () => looks }
}

t.test('a ring of a watched area', async (t) => {
  const validator = new Validator(WatchSchema)
  const { ring, looks } = countedRing()
  t.throws(
    () => validator.check({ id: 'a', area: { type: 'polygon', coordinates: [ring] } }),
    new ApiError(400, 'area.coordinates.0: Must have at most 2000 items.', { param: 'area.coordinates.0' }),
  )
  t.ok(looks() <= 2 * LENGTH, `${looks()} looks at ${LENGTH} positions`)
})

t.test('a fault before it is told first', async (t) => {
  const validator = new Validator(
    Type.Object({
      name: Type.String(),
      areas: Type.Array(Polygon),
      last: Type.Array(Type.Number(), { maxItems: 1 }),
    }),
  )
  const area = { type: 'polygon', coordinates: [countedRing().ring] }
  const cases: readonly (readonly [value: Record<string, unknown>, param: string])[] = [
    [{ name: 1, areas: [area], last: [] }, 'name'],
    [{ name: 'x', areas: [{ type: 'x', coordinates: [] }, area], last: [1, 2] }, 'areas.0.type'],
    [{ name: 'x', areas: [area], last: [1, 2] }, 'areas.0.coordinates.0'],
    [{ name: 'x', areas: [], last: [1, 2] }, 'last'],
  ]
  for (const [value, param] of cases) t.throws(() => validator.check(value), { param } as object as Error)
})
