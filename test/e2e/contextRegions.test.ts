/** GET /v1/context while the regions of its location are not known, over HTTP. */
import t from 'tap'
import type { Regions } from '../../src/model/region.ts'
import { createServer } from '../../src/http/server.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { contextRoutes } from '../../src/sdk/contextRoutes.ts'
import { createGeofenceIndex } from '../../src/spatial/cellIndex.ts'

const clock = new ManualClock(Date.UTC(2026, 0, 1))
const registry = openRegistry({ folder: t.testdir({}), clock, createIndex: createGeofenceIndex })
const keys = registry.createFirstProject()!
let regions: () => Promise<Regions>
const server = createServer({
  routes: contextRoutes(registry, { regionsAt: () => regions() }),
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

const US = { _id: '0'.repeat(24), type: 'country', code: 'US', name: 'United States', flag: '🇺🇸' } as const

t.test('the answer does not wait for regions that are still being prepared', async (t) => {
  regions = () => new Promise(() => {})
  t.match(await context(), { status: 200, body: { geofences: [], context: { geofences: [] } } })
  regions = async () => ({ country: US })
  t.match(await context(), { status: 200, body: { country: US, context: { country: US } } })
})

t.test('without the packages there are no regions; other failures are answered as they are', async (t) => {
  regions = () => Promise.reject(new ApiError(503, 'A package is missing.'))
  t.match(await context(), { status: 200, body: { geofences: [], country: undefined } })
  regions = () => Promise.reject(new ApiError(503, 'Too many questions.', { retryAfter: 1 }))
  t.match(await context(), { status: 503, body: { meta: { message: 'Too many questions.' } } })
})
