/** GET /v1/context while the regions of its location are not known, over HTTP. */
import t from 'tap'
import { CellAtlas, type CellReader } from '../../src/geo/atlas/cellAtlas.ts'
import { makePlaceCell } from '../../src/geo/atlas/placeCellMaker.ts'
import type { RegionCell } from '../../src/geo/atlas/regionCell.ts'
import { makeRegionCell } from '../../src/geo/atlas/regionCellMaker.ts'
import { createServer } from '../../src/http/server.ts'
import { Unfetched } from '../../src/rules/atlas.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { contextRoutes } from '../../src/sdk/contextRoutes.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'

const clock = new ManualClock(Date.UTC(2026, 0, 1))
let read: (cell: number) => Promise<RegionCell>
const reader: CellReader = {
  readRegions: (cell) => read(cell),
  readPlaces: async (cell) => makePlaceCell(cell, []),
  readCrowdedPlaces: async (cell) => makePlaceCell(cell, []),
  readChains: async () => ({ chains: [] }),
  readPlace: async () => ({}),
  readRegion: async () => ({}),
}
const atlas = new CellAtlas(reader, clock, createLogger('fatal'), undefined, 100)
const registry = openRegistry({ folder: t.testdir({}), clock, createIndex: createGeofenceIndex, atlas })
const keys = registry.createFirstProject()!
const server = createServer({
  routes: contextRoutes(registry),
  authenticate: (key) => registry.keys.authenticate(key),
  trustedProxies: [],
  clock,
})
const port = await server.listen('127.0.0.1', 0)
t.teardown(async () => {
  await server.close()
  registry.close()
})

async function context(): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/context?coordinates=40.7,-73.9`, {
    headers: { authorization: keys.testPublishable },
  })
  return { status: response.status, body: await response.json() }
}

t.test('the answer does not wait for regions that are still being prepared', async (t) => {
  let made: () => void = () => {}
  read = (cell) =>
    new Promise((resolve) => (made = () => resolve(makeRegionCell(cell, { regions: [], world: undefined }))))
  const without = { status: 200, body: { geofences: [], context: { geofences: [] }, country: undefined } }
  t.match(await context(), without)
  t.match(await context(), without, 'at once, because it was not ready just now')
  made()
  await new Promise((resolve) => setImmediate(resolve))
  const country = { code: 'US', name: 'United States', flag: '🇺🇸' }
  t.match(await context(), { status: 200, body: { country, context: { country } } }, 'without the packages')
})

t.test('data that cannot be read are said', async (t) => {
  atlas.changed()
  read = () => Promise.reject(new Error('The file is damaged.'))
  const message = 'The regions and places of this location cannot be read at the moment.'
  t.match(await context(), { status: 503, body: { meta: { message } } })
  read = async (cell) => makeRegionCell(cell, { regions: [], world: undefined })
  t.match(await context(), { status: 503 }, 'it is not tried again at once')
  clock.advance(10_000)
  t.match(await context(), { status: 200, body: { country: { code: 'US' } } })
})

t.test('contexts that waited for the same regions are made in turns of their own (G7)', async (t) => {
  const CONTEXTS = 20
  atlas.changed()
  let made: () => void = () => {}
  read = (cell) =>
    new Promise((resolve) => (made = () => resolve(makeRegionCell(cell, { regions: [], world: undefined }))))
  let waiting = 0
  let ofTurn = 0
  let most = 0
  const ask = atlas.regionsAt.bind(atlas)
  t.intercept(atlas, 'regionsAt', {
    value: (...place: Parameters<typeof ask>) => {
      const answer = ask(...place)
      if (answer instanceof Unfetched) {
        if (++waiting === CONTEXTS) setImmediate(made)
        return answer
      }
      most = Math.max(most, ++ofTurn)
      // Longer than a slice.
      for (const began = performance.now(); performance.now() - began < 3;);
      return answer
    },
  })
  let isOver = false
  const count = () => {
    ofTurn = 0
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const answers = await Promise.all(Array.from({ length: CONTEXTS }, () => context()))
  isOver = true
  t.equal(waiting, CONTEXTS)
  for (const answer of answers) t.match(answer, { status: 200, body: { country: { code: 'US' } } })
  t.equal(most, 1, 'contexts in one turn')
})
