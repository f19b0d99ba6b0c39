/** The places around a point by its cell, compared with a look at all places of the sample city. */
import t from 'tap'
import Database from 'better-sqlite3'
import { cellOf, PLACE_CELLS } from '../../src/geo/atlas/grid.ts'
import { nearestOfChains, placesOfCell, type PlaceCell } from '../../src/geo/atlas/placeCell.ts'
import { makeChainCell, makePlaceCell } from '../../src/geo/atlas/placeCellMaker.ts'
import { PlaceDatabase } from '../../src/geo/placeDatabase/reader.ts'
import { signedMeters } from '../../src/geo/records/placeExtent.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import type { Position } from '../../src/model/geofence.ts'
import { Random } from '../actor/world.ts'
import { samplePlaces } from '../kit/sampleRegion.ts'

const file = await samplePlaces()
const records = new PlaceDatabase(file)
t.teardown(() => records.close())
const database = new Database(file, { readonly: true })
const keys = database.prepare('SELECT key FROM place').pluck().all() as string[]
const chains = (database.prepare('SELECT DISTINCT slug FROM chain').pluck().all() as string[]).slice(0, 20)
database.close()
const all = keys.map((key) => records.placeByKey(key)!)
const region = { records: () => records, bounds: [-56.5, -35, -56, -34.7] as const }
const random = new Random(18)

/** Some in the densest part, some around it. */
function drawn(): Position {
  const { position } = random.pick(all)
  const reach = random.pick([0.0005, 0.005, 0.05])
  return [position[0] + random.between(-reach, reach), position[1] + random.between(-reach, reach)]
}

t.test('the places around a point are those of a look at all of them', async (t) => {
  const cells = new Map<number, PlaceCell>()
  let found = 0
  for (let i = 0; i < 150; i++) {
    const [x, y] = drawn()
    const number = cellOf(y, x, PLACE_CELLS)
    const cell = cells.get(number) ?? makePlaceCell(number, [region])
    cells.set(number, cell)
    const { near, restMeters } = placesOfCell(cell, y, x)
    const known = new Map(near.map((one) => [one.place.id, one]))
    for (const place of all) {
      const meters = signedMeters(place, [x, y])
      const one = known.get(place.key)
      if (one === undefined) {
        if (meters <= 125 || meters < restMeters)
          t.fail(`${place.key} is missing: ${meters} m, rest ${restMeters}`)
        continue
      }
      found++
      if (Math.abs(one.meters - meters) > 1e-6) t.fail(`${place.key}: ${one.meters}, not ${meters}`)
      if (one.meters < one.pointMeters - one.place.extentMeters - 0.1) t.fail(`${place.key} reaches farther`)
    }
  }
  t.ok(found > 1000, `${found} places around points`)
})

t.test('the nearest place of a chain is that of a look at all of them', async (t) => {
  for (let i = 0; i < 20; i++) {
    const [x, y] = drawn()
    const nearest = nearestOfChains(makeChainCell(cellOf(y, x, PLACE_CELLS), chains, [region]), y, x)
    chains.forEach((slug, at) => {
      const distances = all
        .filter(({ chain }) => chain?.slug === slug)
        .map(({ position }) => pointDistance(y, x, position[1], position[0]))
      const least = Math.min(Infinity, ...distances)
      if (Math.abs(nearest[at]!.meters - Math.min(least, 15_100)) > 1e-6)
        t.fail(`${slug}: ${nearest[at]!.meters}, not ${least}`)
    })
  }
  t.ok(chains.length > 5)
})

t.test('where no map region is, nothing is near, and its places are not gone', async (t) => {
  const cell = makePlaceCell(cellOf(48, 11, PLACE_CELLS), [region])
  t.match(placesOfCell(cell, 48, 11), { isCovered: false, near: [], restMeters: Number })
  t.ok(placesOfCell(cell, 48, 11).restMeters > 10_000)
  t.ok(
    placesOfCell(makePlaceCell(cellOf(48, 11, PLACE_CELLS), []), 48, 11).restMeters > 10_000,
    'without any',
  )
})
