/** Sorted lists with totals, and changes and deletions of all records that match a filter, over a real server. */
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { clear, imported, records, type Json } from './importKit.ts'

const server = await startServer(t)
const NAMES = ['Store 10', 'store 2', 'Ärger', 'Zoo', 'alley', 'Store 1']

async function list(query: string, kind = 'geofences'): Promise<Json> {
  const { status, body } = await server.api('GET', `/v1/${kind}?${query}`)
  return status === 200 ? body : { status, ...body }
}

t.before(async () => {
  await clear(server, 'geofences')
  for (const [i, description] of NAMES.entries()) {
    const { status } = await server.api('PUT', `/v1/geofences/${i % 2 === 0 ? 'even' : 'odd'}/${i}`, {
      description,
      type: 'circle',
      coordinates: [1, 2],
      radius: 100,
      metadata: { floor: i },
    })
    t.equal(status, 200)
  }
})

t.test('each order, ascending and descending, in pages of every length', async (t) => {
  const whole = async (query: string): Promise<Json[]> => (await list(`limit=1000&${query}`)).geofences
  const names = async (query: string) => (await whole(query)).map((one) => one.description)
  t.strictSame(await names('sortBy=description'), ['alley', 'Ärger', 'Store 1', 'store 2', 'Store 10', 'Zoo'])
  t.strictSame(await names('sortBy=createdAt&order=asc'), NAMES)
  t.strictSame(await names('order=desc'), NAMES.toReversed())
  t.strictSame(
    (await whole('sortBy=externalId')).map((one) => one.externalId),
    ['0', '1', '2', '3', '4', '5'],
  )
  t.strictSame(
    (await whole('sortBy=tag')).map(({ tag, externalId }) => `${tag}${externalId}`),
    ['even0', 'even2', 'even4', 'odd1', 'odd3', 'odd5'],
    'equal ones in the order of creation',
  )
  await server.api('PUT', '/v1/geofences/even/2', {
    description: 'Ärger',
    type: 'circle',
    coordinates: [1, 2],
    radius: 50,
  })
  t.equal((await names('sortBy=updatedAt'))[0], 'Ärger', 'the newest change first')
  for (const order of ['asc', 'desc'])
    for (const sortBy of ['createdAt', 'updatedAt', 'description', 'tag', 'externalId'])
      for (const limit of [1, 4]) {
        const query = `sortBy=${sortBy}&order=${order}`
        const pages: Json[] = []
        for (let before = ''; ;) {
          const page = await list(`${query}&limit=${limit}&includeTotal=true${before}`)
          pages.push(...page.geofences)
          t.equal(page.meta.total, 6)
          if (!page.meta.hasMore) break
          before = `&before=${page.geofences.at(-1)._id}`
        }
        t.strictSame(pages, await whole(query), `${query}, ${limit} at a time`)
      }
})

t.test('totals count what matches, whatever the page', async (t) => {
  t.equal((await list('includeTotal=true&tag=odd&limit=1')).meta.total, 3)
  t.equal((await list('includeTotal=true&text=STORE')).meta.total, 3)
  t.equal((await list('includeTotal=true&metadata[floor]=4')).meta.total, 1)
  t.equal((await list('includeTotal=true', 'beacons')).meta.total, 0)
  t.equal((await list('limit=1')).meta.total, undefined)
  t.match(await list('sortBy=tag&before=nothing'), { status: 404, meta: { param: 'before' } })
})

t.test('changes of all that match', async (t) => {
  const change = (query: string, body: unknown, key: string = KEYS.testSecret) =>
    server.api('PATCH', `/v1/geofences?${query}`, body, key)
  t.match(await change('tag=odd&expectedCount=2', { enabled: false }), {
    status: 409,
    body: { meta: { param: 'expectedCount', message: /3 geofences match, and not 2/ } },
  })
  t.ok(
    (await records(server, 'geofences')).every(({ enabled }) => enabled),
    'nothing was changed',
  )
  t.match(
    await change('tag=odd&expectedCount=3', { enabled: false, metadata: { a: 1 }, dwellThreshold: 5 }),
    {
      status: 200,
      body: { count: 3 },
    },
  )
  for (const { tag, enabled, metadata, dwellThreshold, geometryRadius } of await records(
    server,
    'geofences',
  )) {
    t.equal(enabled, tag === 'even')
    if (tag === 'odd') t.match({ metadata, dwellThreshold }, { metadata: { a: 1 }, dwellThreshold: 5 })
    t.ok(geometryRadius > 0)
  }
  t.match(
    await change('metadata[a]=1&expectedCount=3', { enabled: null, metadata: null, dwellThreshold: '' }),
    {
      status: 200,
      body: { count: 3 },
    },
  )
  for (const one of await records(server, 'geofences'))
    t.match([one.enabled, one.dwellThreshold], [true, undefined], 'null means the default')
  for (const [query, body, param] of [
    ['expectedCount=6', { enabled: false }, 'all'],
    ['tag=odd&expectedCount=3', {}, 'body'],
    ['tag=odd&expectedCount=3', { radius: 50 }, 'radius'],
    ['tag=odd&expectedCount=3', { enabled: false, tag: 'x' }, 'tag'],
  ] as const)
    t.match(
      await change(query, body),
      { status: 400, body: { meta: { param } } },
      `${query} ${JSON.stringify(body)}`,
    )
  t.match(await change('tag=odd&expectedCount=3', { enabled: false }, KEYS.testPublishable), { status: 403 })
  t.match(await change('tag=odd&expectedCount=3', { enabled: false }, KEYS.liveSecret), {
    status: 409,
    body: { meta: { message: /^expectedCount: 0 geofences match/ } },
  })
})

t.test('deletions of all that match, in more than one commit', async (t) => {
  const rows = Array.from({ length: 950 }, (_, i) => `Row,circle,many,${i},"[1,2]",100\n`).join('')
  await imported(server, 'geofences', `description,type,tag,externalId,coordinates,radius\n${rows}`)
  const remove = (query: string) => server.api('DELETE', `/v1/geofences?${query}`)
  t.match(await remove('tag=many&expectedCount=949'), { status: 409 })
  t.match(await remove('expectedCount=956'), { status: 400, body: { meta: { param: 'all' } } })
  t.match(await remove('tag=many&text=row&expectedCount=950'), { status: 200, body: { count: 950 } })
  t.equal((await list('includeTotal=true')).meta.total, 6)
  t.match(await remove('tag=many&expectedCount=0'), { status: 200, body: { count: 0 } })
  t.match(await remove('all=true&expectedCount=6'), { status: 200, body: { count: 6 } })
  t.strictSame(await records(server, 'geofences'), [])
  const beacon = { description: 'Door', type: 'eddystone', uid: 'a'.repeat(20), instance: 'b'.repeat(12) }
  for (const id of [1, 2])
    await server.api('PUT', `/v1/beacons/doors/${id}`, { ...beacon, coordinates: [1, 2], enabled: true })
  t.match(await server.api('PATCH', '/v1/beacons?tag=doors&expectedCount=2', { enabled: false }), {
    body: { count: 2 },
  })
  t.match(
    (await records(server, 'beacons')).map(({ enabled }) => enabled),
    [false, false],
  )
  t.match(await server.api('DELETE', '/v1/beacons?tag=doors&expectedCount=2'), { body: { count: 2 } })
  t.match(await server.api('DELETE', '/v1/hooks?tag=doors&expectedCount=2'), { status: 405 })
})
