/** How often geocoding finds the right house among the 315,000 of the sample: the thresholds of the bench. */
import t from 'tap'
import { distinctHouses, housesIn } from '../../bench/load/addressQuestions.ts'
import { drawQuestions } from '../../bench/load/geocoderQuestions.ts'
import { measureQuality } from '../../bench/load/geocodingQuality.ts'
import { seededRandom } from '../../src/simulation/streets.ts'
import { samplePlaces } from '../kit/sampleRegion.ts'
import { worldFile } from './kit.ts'

/** A set that stays the same, so that a change of the code is what changes the figures. */
const SEED = 1
const COUNT = 200

t.test('right answers for addresses of the sample', async (t) => {
  const file = await samplePlaces()
  const manner = { city: 'Montevideo', isNumberFirst: false }
  const rows = await measureQuality({
    name: 'montevideo',
    file,
    bounds: [-57, -36, -55, -34],
    world: worldFile(),
    questions: drawQuestions(distinctHouses(housesIn(file)), manner, COUNT, seededRandom(SEED)),
  })
  t.ok(rows.length > 8)
  for (const { question, percent, least, asked } of rows) {
    t.ok(asked > COUNT / 2, `${question}: ${asked} asked`)
    if (least !== undefined) t.ok(percent >= least, `${question}: ${percent} %, at least ${least} %`)
  }
})
