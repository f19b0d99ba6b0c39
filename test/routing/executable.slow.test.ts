/**
 * Compares distances and durations with Valhalla's own server on the same tiles, for random places of the sample city
 * and every mode. Also uses that server as the engine by URL. RINGFENCE_TEST_RUNS=50 tries a thousand pairs of places
 * per mode.
 */
import t from 'tap'
import type { TravelMode } from '../../src/model/geofence.ts'
import type { RouteAnswer } from '../../src/geo/routing/valhallaJson.ts'
import { costingOf, SNAP_METERS } from '../../src/geo/routing/travel.ts'
import { distanceOf, durationOf } from '../../src/geo/routing/units.ts'
import { Seeded } from '../crash/seeded.ts'
import { skipUnless } from '../kit/goServers.ts'
import { sampleTiles } from '../kit/sampleRegion.ts'
import { startValhalla, valhallaServer } from '../kit/valhallaServer.ts'
import { serveRoutes } from './served.ts'

const runs = Number(process.env.RINGFENCE_TEST_RUNS ?? 1)
const seed = Number(process.env.RINGFENCE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const random = new Seeded(seed)
const MODES: readonly TravelMode[] = ['car', 'truck', 'foot', 'bike', 'motorbike']
/** The built-up area of Montevideo; some of it is water. */
const [WEST, SOUTH, EAST, NORTH] = [-56.22, -34.915, -56.1, -34.83]

const skip = await skipUnless(valhallaServer)

t.test(
  `distances and durations are those of Valhalla's own executable, seed ${seed}`,
  { skip },
  async (t) => {
    const tiles = await sampleTiles()
    const url = await startValhalla(t, tiles)
    const { get } = await serveRoutes(t, tiles)
    for (const mode of MODES) {
      let ways = 0
      for (let i = 0; i < 20 * runs; i++) {
        const [from, to] = [somewhere(), somewhere()]
        const answer = await fetch(`${url}/route`, {
          method: 'POST',
          body: JSON.stringify({
            locations: [from, to].map((place) => ({ ...place, search_cutoff: SNAP_METERS })),
            costing: costingOf(mode),
            directions_type: 'none',
          }),
        })
        const query = { origin: text(from), destination: text(to), modes: mode, units: 'metric' }
        const { status, body } = await get('distance', query)
        if (!answer.ok) {
          await answer.body?.cancel()
          t.equal(status, 404, `${mode} ${text(from)} ${text(to)}`)
          continue
        }
        ways++
        const { summary } = ((await answer.json()) as RouteAnswer).trip
        const wanted = {
          distance: distanceOf(summary.length * 1000, 'metric'),
          duration: durationOf(summary.time),
        }
        t.strictSame(body.routes?.[mode], wanted, `${mode} ${text(from)} ${text(to)}`)
      }
      t.ok(ways > 10 * runs, `${ways} ways by ${mode}`)
    }
  },
)

interface Place {
  readonly lat: number
  readonly lon: number
}

function somewhere(): Place {
  const between = (from: number, to: number) => Number(random.between(from, to).toFixed(6))
  return { lat: between(SOUTH, NORTH), lon: between(WEST, EAST) }
}

function text({ lat, lon }: Place): string {
  return `${lat},${lon}`
}
