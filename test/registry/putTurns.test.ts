/** Long definitions: reading one, the edit and the answer have turns of their own, and none of them is seen half done. */
import t from 'tap'
import type { Test } from 'tap'
import type { Answer } from '../../src/http/route.ts'
import { geofenceRoutes } from '../../src/registry/geofences/geofenceRoutes.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { settingsRoutes } from '../../src/registry/settings/settingsRoutes.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { KEYS } from '../kit/server.ts'
import { NO_AREAS } from './areaFinders.ts'

const SCOPE = 2
const PAIR = { tag: 'long', externalId: '1' }
const CORNERS = 1999

function setUp(t: Test) {
  const registry = openRegistry({
    folder: t.testdir({}),
    clock: systemClock,
    createIndex: createGeofenceIndex,
    firstKeys: KEYS,
  })
  t.teardown(() => registry.close())
  const routes = [...geofenceRoutes(registry.geofences, NO_AREAS), ...settingsRoutes(registry.settings)]
  const call = (method: string, path: string, body: object, params: object = {}): Promise<Answer> => {
    const { handler } = routes.find((route) => route.method === method && route.path === path)!
    const given = { credentials: { scope: SCOPE }, params, body }
    return (handler as unknown as (given: object) => Promise<Answer>)(given)
  }
  const store = () => registry.geofences.store(SCOPE)
  return {
    put: (body: object) => call('PUT', '/v1/geofences/:tag/:externalId', body, PAIR),
    remove: () => call('DELETE', '/v1/geofences/:tag/:externalId', {}, PAIR),
    patchSettings: (body: object) => call('PATCH', '/v1/settings', body),
    settings: () => registry.settings.of(SCOPE),
    revision: () => registry.revision,
    geofence: () => {
      const known = store().byPair(PAIR.tag, PAIR.externalId)
      return known && store().whole(known)
    },
  }
}

function star(description: string) {
  const ring = Array.from({ length: CORNERS }, (_, i) => {
    const angle = (2 * Math.PI * i) / CORNERS
    const radius = i % 2 === 0 ? 0.02 : 0.01
    return [30 + radius * Math.cos(angle), 30 + radius * Math.sin(angle)]
  })
  return { description, type: 'polygon', coordinates: [[...ring, ring[0]]] }
}

function circle(description: string) {
  return { description, type: 'circle', coordinates: [30, 30], radius: 100 }
}

/** The turns of the event loop until `work` has its result. `look` is called in each. */
async function turnsOf(work: Promise<unknown>, look: () => void = () => {}): Promise<number> {
  let turns = 0
  const turn = () => {
    turns++
    look()
    handle = setImmediate(turn)
  }
  let handle = setImmediate(turn)
  try {
    await work
  } finally {
    clearImmediate(handle)
  }
  return turns
}

t.test('a PUT is read, made and answered in different turns, and seen as a whole', async (t) => {
  const { put, geofence, revision } = setUp(t)
  await put({ ...star('before'), metadata: { state: 'before' } })
  const revisions = new Set([revision()])
  const seen = new Set<string>()
  const body = { ...circle('after'), metadata: { state: 'after' } }
  const turns = await turnsOf(put(body), () => {
    const { description, shape, metadata } = geofence()!
    seen.add(`${description} ${shape.kind} ${metadata!['state']}`)
    revisions.add(revision())
  })
  t.ok(turns >= 2, `${turns} turns`)
  t.strictSame([...seen], ['before polygon before', 'after circle after'])
  t.equal(revisions.size, 2, 'it is one edit')
})

t.test('edits at once are made in the order in which they came', async (t) => {
  const { put, remove, geofence } = setUp(t)
  await put(circle('first'))
  const answers = await Promise.all([put(star('long')), put(circle('short')), put(star('last'))])
  t.strictSame(
    answers.map(({ body }) => (body!['geofence'] as { description: string }).description),
    ['long', 'short', 'last'],
  )
  t.match(geofence(), { description: 'last', shape: { kind: 'polygon' } })
  const again = put(star('again'))
  // By then it has been read, and waits for its turn.
  await Promise.resolve()
  await Promise.all([again, remove()])
  t.equal(geofence(), undefined)
})

t.test('a PATCH of the settings is made and answered in different turns, in order', async (t) => {
  const { patchSettings, settings } = setUp(t)
  const blocked = Array.from({ length: 8000 }, (_, i) => `user-${i}`)
  const seen = new Set<string>()
  const both = Promise.all([
    patchSettings({ fraud: { blocked }, exitDelaySeconds: 7 }),
    patchSettings({ exitDelaySeconds: 8 }),
  ])
  const turns = await turnsOf(both, () => {
    const { exitDelaySeconds, fraud } = settings()
    seen.add(`${fraud.blocked.length} ${exitDelaySeconds}`)
  })
  t.ok(turns >= 2, `${turns} turns`)
  t.equal([...seen].at(-1), '8000 8')
  const states = new Set(['0 0', '8000 7', '8000 8'])
  t.ok(
    [...seen].every((state) => states.has(state)),
    [...seen].join(', '),
  )
})
