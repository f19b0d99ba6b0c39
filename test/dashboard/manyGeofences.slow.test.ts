/** A hundred thousand geofences in view: all are on the map, one is opened from it, and the table shows them in parts. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parseKeys } from '../../src/registry/projects/keys.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { KEYS } from '../kit/server.ts'
import { progress, until } from '../kit/waiting.ts'
import { makeWorld, shareWorld } from '../kit/world.ts'
import { definitionOf } from '../registry/areaFinders.ts'
import { openBrowser, openPage, signIn, startWithDashboard } from './kit.ts'

const COUNT = 100_000
const COLUMNS = 400
/** Geofences in one transaction. */
const AT_ONCE = 5000
const MIDDLE = [13.5, 53.5] as const
/** Degrees between neighbours: 200 and 450 m. */
const STEP = { east: 0.003, north: 0.004 } as const
const MAP = 'window.ringfenceMap?.opened?.map'

t.test('a hundred thousand geofences', { skip: skipWithoutChromium() }, async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'ringfence-many-'))
  t.teardown(() => rmSync(data, { recursive: true, force: true }))
  await makeWorld()
  shareWorld(data)
  store(data)
  const server = await startWithDashboard(t, { data })
  const browser = await openBrowser(t)
  const { page, complaints } = await openPage(t, browser, server)
  await signIn(page, `/test/map?at=${MIDDLE.join()}&zoom=8`)

  // At this zoom each is a point, and points that are near each other are one with their number.
  const shown = `(() => {
    const map = ${MAP}
    if (!map?.getLayer('fence-tile-points')) return 0
    const points = map.queryRenderedFeatures({ layers: ['fence-tile-points'] })
    const areas = map.queryRenderedFeatures({ layers: ['fence-tile-fill'] })
    return points.reduce((sum, { properties }) => sum + (properties.count ?? 1), 0) + areas.length
  })()`
  await until(async () => Number(await page.evaluate(shown)) >= COUNT)
  t.equal(await page.evaluate(shown), COUNT, 'none is missing, and none is there twice')

  // Near by they are areas; a click opens the one in the middle.
  await page.evaluate(`${MAP}.jumpTo({ center: ${JSON.stringify(MIDDLE)}, zoom: 14 })`)
  const areas = `${MAP}.queryRenderedFeatures({ layers: ['fence-tile-fill'] }).length`
  await until(async () => Number(await page.evaluate(areas)) > 4)
  const box = (await page.getByRole('region', { name: 'Live map' }).boundingBox())!
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
  await page.waitForURL(/\/test\/geofences\/[0-9a-f]{24}/)
  const middle = (Math.floor(COUNT / COLUMNS / 2) * COLUMNS + COLUMNS / 2).toString()
  await page.getByRole('heading', { name: `Geofence ${middle}`, exact: true }).waitFor()

  await page.goto('/test/geofences')
  await page.getByText('100 shown').waitFor()
  await page.getByRole('button', { name: 'Show more' }).click()
  await page.getByText('200 shown').waitFor()
  await page.getByLabel('Search').fill('Geofence 99999')
  await page.getByText('1 shown, all of them').waitFor()
  t.strictSame(complaints, [])
})

/** Stores the geofences, because sending each would take minutes. */
function store(folder: string): void {
  const registry = openRegistry({
    folder,
    clock: systemClock,
    createIndex: createGeofenceIndex,
    firstKeys: parseKeys(Object.values(KEYS).join(',')),
  })
  const { scope } = registry.keys.authenticate(KEYS.testSecret)!
  for (let first = 0; first < COUNT; first += AT_ONCE) {
    const definitions = Array.from({ length: AT_ONCE }, (_, i) => {
      const [row, column] = [Math.floor((first + i) / COLUMNS), (first + i) % COLUMNS]
      return definitionOf({
        description: `Geofence ${first + i}`,
        tag: 'many',
        externalId: String(first + i),
        type: 'circle',
        coordinates: [
          MIDDLE[0] + (column - COLUMNS / 2) * STEP.east,
          MIDDLE[1] + (row - Math.floor(COUNT / COLUMNS / 2)) * STEP.north,
        ],
        radius: 90,
      })
    })
    registry.geofences.putMany(scope, definitions)
    progress()
  }
  registry.close()
}
