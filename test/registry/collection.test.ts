/**
 * A kind of records that nothing in src/ knows, made only from its schema, rules and texts (chargers.ts): routes over
 * real HTTP, forms, the document, restarts, an older data folder, and a registry that several processes share.
 */
import t from 'tap'
import type { Test } from 'tap'
import { EntryCodec } from '../../src/cluster/registry/entryCodec.ts'
import { openApiRoute } from '../../src/http/openapi.ts'
import { createServer } from '../../src/http/server.ts'
import { collectionRoutes } from '../../src/registry/records/collectionRoutes.ts'
import { openRegistry, registryRows, type Registry } from '../../src/registry/registry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { CHARGERS } from './chargers.ts'
import { MemoryStream } from './memoryStream.ts'
import { folderOf, openReplica, START } from './replicatedKit.ts'

const KEYS = {
  testPublishable: `prj_test_pk_${'1'.repeat(40)}`,
  livePublishable: `prj_live_pk_${'2'.repeat(40)}`,
  testSecret: `prj_test_sk_${'3'.repeat(40)}`,
  liveSecret: `prj_live_sk_${'4'.repeat(40)}`,
}
const CHARGER = { description: 'Harbour', plug: 'ccs', kilowatts: 50, tag: 'quay', externalId: '1' }

function open(folder: string): Registry {
  const clock = new ManualClock(START)
  return openRegistry({
    folder,
    clock,
    createIndex: createGeofenceIndex,
    firstKeys: KEYS,
    collections: [CHARGERS],
  })
}

/** Calls the routes of the collection; a string body is a form. */
async function serve(t: Test, registry: Registry) {
  const routes = collectionRoutes(CHARGERS, registry.collection(CHARGERS))
  const server = createServer({
    routes: [...routes, openApiRoute(routes, '1.0.0')],
    authenticate: (key) => registry.keys.authenticate(key),
    trustedProxies: [],
    clock: new ManualClock(START),
  })
  const port = await server.listen('127.0.0.1', 0)
  t.teardown(() => server.close())
  return async (method: string, path: string, body?: unknown, key: string = KEYS.testSecret) => {
    const type = typeof body === 'string' ? 'application/x-www-form-urlencoded' : 'application/json'
    const response = await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
      method,
      headers: { authorization: key, 'content-type': type },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const answer: Record<string, any> = { status: response.status, ...((await response.json()) as object) }
    return answer
  }
}

t.test('created, read, listed, replaced and deleted, by id and by pair', async (t) => {
  const registry = open(folderOf(t))
  t.teardown(() => registry.close())
  const call = await serve(t, registry)
  const { status, charger } = await call('POST', 'chargers', CHARGER)
  t.equal(status, 200)
  t.match(charger, { ...CHARGER, isPublic: false, createdAt: new Date(START).toISOString() })
  t.match(await call('POST', 'chargers', CHARGER), {
    status: 409,
    meta: {
      param: 'externalId',
      message: 'A charger with tag quay and externalId 1 already exists.',
    },
  })
  const put = await call('PUT', 'chargers/quay/1', { ...CHARGER, kilowatts: undefined, amperes: '100' })
  t.match(put, { status: 200, charger: { _id: charger._id, kilowatts: 40 } })
  const form = 'description=Airport&plug=type2&kilowatts=11&isPublic=true&metadata=%7B%22level%22%3A2%7D'
  t.match(await call('PUT', 'chargers/air/9', form), {
    status: 200,
    charger: { tag: 'air', externalId: '9', kilowatts: 11, isPublic: true, metadata: { level: 2 } },
  })
  const nameless = await call('POST', 'chargers', 'description=Street&plug=ccs&amperes=5')
  t.match(nameless, { status: 200, charger: { kilowatts: 2, tag: undefined } })

  const list = async (query = '') =>
    (await call('GET', `chargers${query}`)).chargers.map(({ description }: any) => description)
  t.strictSame(await list(), ['Street', 'Airport', 'Harbour'])
  t.strictSame(await list('?tag=air'), ['Airport'])
  t.strictSame(await list('?metadata[level]=2'), ['Airport'])
  t.match(await call('GET', 'chargers?limit=1'), { meta: { hasMore: true }, chargers: { length: 1 } })
  t.strictSame(await list(`?before=${nameless.charger._id}`), ['Airport', 'Harbour'])

  const replaced = await call('PUT', `chargers/${charger._id}`, { ...CHARGER, description: 'Port' })
  t.match(replaced, { charger: { _id: charger._id, tag: 'quay', description: 'Port' } })
  t.strictSame((await call('GET', 'chargers/quay/1')).charger, replaced.charger)
  t.strictSame((await call('GET', `chargers/${charger._id}`)).charger, replaced.charger)
  t.match(await call('PUT', `chargers/${charger._id}`, { ...CHARGER, tag: 'air', externalId: '9' }), {
    status: 409,
  })
  t.match(await call('GET', 'chargers', undefined, KEYS.liveSecret), { chargers: [] }, 'of another scope')
  t.match(await call('GET', 'chargers', undefined, KEYS.testPublishable), { status: 403 })

  t.match(await call('DELETE', 'chargers/air/9'), { status: 200 })
  t.match(await call('DELETE', `chargers/${charger._id}`), { status: 200 })
  t.match(await call('GET', 'chargers/air/9'), { status: 404, meta: { message: /Charger not found/ } })
  t.match(await call('DELETE', `chargers/${charger._id}`), { status: 404 })
  t.strictSame(await list(), ['Street'])
})

t.test('one table of rules validates and documents', async (t) => {
  const registry = open(folderOf(t))
  t.teardown(() => registry.close())
  const call = await serve(t, registry)
  const BAD: readonly (readonly [change: object, param: string, message: RegExp])[] = [
    [{ description: undefined }, 'description', /Required/],
    [{ description: '' }, 'description', /Required/],
    [{ plug: 'schuko' }, 'plug', /Valid values: ccs, type2/],
    [{ kilowatts: 401 }, 'kilowatts', /\[1, 400\]/],
    [{ kilowatts: 'many' }, 'kilowatts', /must be a number/],
    [{ kilowatts: undefined }, 'kilowatts', /One of kilowatts and amperes/],
    [{ isPublic: 'perhaps' }, 'isPublic', /true or false/],
    [{ externalId: 'x'.repeat(257) }, 'externalId', /256/],
  ]
  for (const [change, param, message] of BAD) {
    const answer = await call('POST', 'chargers', { ...CHARGER, ...change })
    t.match(answer, { status: 400, meta: { param, message } }, JSON.stringify(change).slice(0, 50))
  }
  t.match(await call('PUT', 'chargers/quay/2', CHARGER), { status: 400, meta: { param: 'externalId' } })

  const { paths, components } = await call('GET', 'openapi.json')
  t.strictSame(
    Object.fromEntries(Object.entries(paths).map(([path, item]) => [path, Object.keys(item as object)])),
    {
      '/v1/chargers': ['post', 'get'],
      '/v1/chargers/{tag}/{externalId}': ['put', 'get', 'delete'],
      '/v1/chargers/{id}': ['put', 'get', 'delete'],
      '/v1/openapi.json': ['get'],
    },
  )
  const body = components.schemas.ChargerDefinition
  t.strictSame(body.required, ['description', 'plug'])
  t.strictSame(body.properties.plug, { type: 'string', maxLength: 64, description: 'ccs or type2.' })
  t.match(paths['/v1/chargers'].post, { tags: ['Chargers'], summary: 'Create a charger' })
})

t.test('records survive a restart; an older data folder gets the table', async (t) => {
  const folder = folderOf(t)
  openRegistry({
    folder,
    clock: new ManualClock(START),
    createIndex: createGeofenceIndex,
    firstKeys: KEYS,
  }).close()
  let registry = open(folder)
  const { scope } = registry.keys.authenticate(KEYS.testSecret)!
  const { record } = registry.collection(CHARGERS).put(scope, {
    description: 'Harbour',
    plug: 'ccs',
    kilowatts: 50,
    isPublic: true,
    tag: 'quay',
    externalId: '1',
  })
  registry.close()
  registry = open(folder)
  t.strictSame(registry.collection(CHARGERS).store(scope).byPair('quay', '1'), record)
  registry.close()
})

t.test(
  'in a shared registry: HTTP in one process, the record in the other; invalid entries are refused',
  async (t) => {
    const stream = new MemoryStream()
    const unreadable = new Set<string>()
    const options = {
      collections: [CHARGERS],
      firstKeys: KEYS,
      unreadable: (entry: string) => unreadable.add(entry),
    }
    const a = await openReplica(t, async () => stream.client(), options)
    const b = await openReplica(t, async () => stream.client(), options)
    const callA = await serve(t, a)
    const callB = await serve(t, b)
    const { charger } = await callA('PUT', 'chargers/quay/1', CHARGER)
    // This edit by the other process follows in the stream.
    await callB('PUT', 'chargers/quay/2', { ...CHARGER, externalId: undefined })
    t.strictSame((await callB('GET', `chargers/${charger._id}`)).charger, charger)
    t.match(await callB('POST', 'chargers', CHARGER), { status: 409 })
    await callB('DELETE', 'chargers/quay/1')
    await a.edit(() => a.settings.update(3, { stopDetection: true }))
    t.match(await callA('GET', 'chargers/quay/1'), { status: 404 })

    const codec = new EntryCodec(registryRows([CHARGERS]))
    const { scope } = a.keys.authenticate(KEYS.testSecret)!
    const store = b.collection(CHARGERS).store(scope)
    const [kept] = [...store.inOrder()]
    const change = { kind: 'chargers', key: `${scope}.${kept!.id}` }
    const row = { id: kept!.id, scope, tag: 'quay', externalId: '2', createdAt: START, updatedAt: START }
    const { name, value } = codec.entryOf({ ...change, row: { ...row, definition: '{"plug":"schuko"}' } })
    const client = stream.client()
    await client.append('foreign', [{ name, value }], await client.lastSequence())
    await b.edit(() => b.settings.update(3, { stopDetection: false }))
    t.strictSame([...unreadable], [name])
    t.strictSame([...store.inOrder()], [])
  },
)
