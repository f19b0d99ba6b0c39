/** How far a user may move while the same place stays the first candidate, compared with looking again and again. */
import assert from 'node:assert/strict'
import t from 'tap'
import { destination, pointDistance } from '../../src/geometry/distance.ts'
import type { Place } from '../../src/model/place.ts'
import { DEFAULT_SETTINGS } from '../../src/model/settings.ts'
import type { PlaceNear, PlacesHere } from '../../src/rules/atlas.ts'
import { candidatesAmong, firstStaysFor } from '../../src/rules/placeOrder.ts'
import { runs } from '../actor/kit.ts'
import { Random, type Point } from '../actor/world.ts'
import fc from '../kit/fastCheck.ts'

interface Spot {
  readonly place: Place
  readonly radius: number
}

const CENTRES: readonly Point[] = [
  { latitude: -34.9061, longitude: -56.1934 },
  { latitude: 0, longitude: 179.9999 },
  { latitude: 69.6, longitude: 18.9 },
]
const { placeFilters } = DEFAULT_SETTINGS

const offset = (at: Point, random: Random, reach: number): Point =>
  destination(at.latitude, at.longitude, random.between(0, 360), random.between(0, reach))

/** Houses with a few shops in each, some of them at the very same point. */
function street(random: Random, centre: Point): Spot[] {
  const spots: Spot[] = []
  for (let house = 0; house < 6; house++) {
    let at = offset(centre, random, 150)
    for (let shop = 0; shop < 4; shop++) {
      if (random.chance(0.7)) at = offset(at, random, random.pick([0.05, 4, 25]))
      const id = spots.length.toString(16).padStart(24, '0')
      const chain = random.chance(0.3) ? { slug: 'bees', name: 'Bees', domain: undefined } : undefined
      const radius = random.pick([30, 30, 30, 60])
      const position = [at.longitude, at.latitude] as const
      spots.push({
        place: { id, name: id, categories: ['cafe'], position, chain, extentMeters: radius },
        radius,
      })
    }
  }
  return spots
}

function seenFrom({ latitude, longitude }: Point, spots: readonly Spot[], areRound: boolean): PlacesHere {
  const near = spots.map(({ place, radius }): PlaceNear => {
    const [x, y] = place.position
    const pointMeters = pointDistance(latitude, longitude, y, x)
    const area = Math.PI * radius * radius
    return { place, meters: pointMeters - radius, pointMeters, area, isRound: areRound }
  })
  return { isCovered: true, near, restMeters: 20_000 }
}

const firstAt = (here: PlacesHere) => candidatesAmong(here, placeFilters, 10, 1)[0]

t.test('property: the first stays the first that far, in every direction', async (t) => {
  let moves = 0
  let [plain, round] = [0, 0]
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = new Random(seed)
      const centre = random.pick([...CENTRES])
      const spots = street(random, centre)
      for (let i = 0; i < 20; i++) {
        const from = offset(centre, random, 250)
        const here = seenFrom(from, spots, true)
        const first = firstAt(here)
        const meters = firstStaysFor(first, here, placeFilters)
        const least = firstStaysFor(first, seenFrom(from, spots, false), placeFilters)
        assert.ok(meters >= least, `${meters} m, ${least} without knowing that they are circles`)
        if (first !== undefined) {
          plain += least
          round += meters
        }
        // Distances may be off by a millimetre.
        const reach = meters * 0.998 - 0.01
        if (reach <= 0) continue
        for (let turn = 0; turn < 12; turn++) {
          const bearing = 30 * turn + random.between(0, 30)
          const way = random.chance(0.7) ? reach : random.between(0, reach)
          const to = destination(from.latitude, from.longitude, bearing, way)
          const now = firstAt(seenFrom(to, spots, true))
          assert.equal(now?.place.id, first?.place.id, `${way} of ${reach} m to ${bearing}°`)
          moves++
        }
      }
    }),
    runs(200),
  )
  t.comment(`${moves} moves; mean ratio ${(round / plain).toFixed(2)}`)
  t.ok(round > 1.2 * plain, 'and farther than half of the lead')
})

t.test('two shops at one point never change their order', async (t) => {
  const [centre] = CENTRES as [Point]
  const random = new Random(1)
  const [one] = street(random, centre) as [Spot]
  const twin = { ...one, place: { ...one.place, id: 'f'.repeat(24) } }
  const [x, y] = one.place.position
  const from = destination(y, x, 90, 40)
  const here = seenFrom(from, [twin, one], true)
  const first = firstAt(here)!
  t.equal(first.place.id, one.place.id, 'by their _id')
  t.equal(firstStaysFor(first, here, placeFilters), 75 - first.meters, 'until both are too far away')
})
