/** Bodies and queries as curl, PHP, Python, jQuery and the SDKs write them, against a real server. */
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'

const { testPublishable } = KEYS
const server = await startServer(t)
const form = (method: string, path: string, body: string, key?: string) =>
  server.api(method, path, body, key, { 'content-type': 'application/x-www-form-urlencoded' })

t.test('geofences and beacons by form, under both prefixes', async (t) => {
  const circle = await form(
    'PUT',
    '/api/v1/geofences/store/1',
    'description=Main+Street&type=circle&coordinates[]=10&coordinates[]=50&radius=100&enabled=True' +
      '&metadata[floor]=2&metadata[open]=true&metadata[zip]=00501&userIds[]=ann&userIds[]=1024' +
      '&operatingHours[sun][0][0]=9:00+AM&operatingHours[sun][0][1]=17:30&operatingHours[mon]=[["8:00","24:00"]]',
  )
  t.equal(circle.status, 200, JSON.stringify(circle.body.meta))
  const json = await server.api('PUT', '/v1/geofences/store/2', {
    description: 'Main Street',
    type: 'circle',
    coordinates: [10, 50],
    radius: 100,
    metadata: { floor: 2, open: true, zip: '00501' },
    userIds: ['ann', '1024'],
    operatingHours: { sun: [['9:00 AM', '17:30']], mon: [['8:00', '24:00']] },
  })
  const own = { _id: '', externalId: '', createdAt: '', updatedAt: '' }
  const shape = (geofence: object): object => ({ ...geofence, ...own })
  t.strictSame(shape(circle.body.geofence), shape(json.body.geofence), 'a form is as good as JSON')

  const ring = [
    [10, 50],
    [10.01, 50],
    [10.01, 50.01],
    [10, 50],
  ]
  const points = (style: (i: number, j: number) => string): string =>
    ring.flatMap((point, i) => point.map((degrees, j) => `coordinates${style(i, j)}=${degrees}`)).join('&')
  for (const [externalId, coordinates] of [
    ['php', points((i, j) => `[${i}][${j}]`)],
    ['jquery', points((i) => `%5B${i}%5D%5B%5D`)],
    ['json', `coordinates=${JSON.stringify(ring)}`],
    ['geojson', `coordinates=${JSON.stringify([ring])}`],
    ['requests', points(() => '')],
    ['requests, padded', points(() => '').replaceAll('=10&', '=10.000&')],
    ['flat brackets', points(() => '[]')],
    ['requests, geojson', ring.map((point) => `coordinates=[${point.join('%2C+')}]`).join('&')],
  ] as const) {
    const { status, body } = await form(
      'PUT',
      `/api/v1/geofences/area/${externalId}`,
      `description=Area&type=polygon&${coordinates}`,
    )
    t.strictSame([status, body.geofence?.geometry.coordinates], [200, [ring]], externalId)
  }
  for (const [body, param] of [
    ['description=Area&type=polygon&coordinates[999999]=1', 'coordinates'],
    ['description=Area&type=polygon&coordinates[0][1]=1', 'coordinates'],
    ['description=Area&type=circle&coordinates[x]=1&radius=10', 'coordinates'],
    ['description=Area&type=circle&coordinates[]=1&coordinates[]=2&radius=ten', 'radius'],
  ] as const) {
    const answer = await form('PUT', '/v1/geofences/area/bad', body)
    t.strictSame([answer.status, answer.body.meta.param], [400, param], body)
  }
  const flat = (count: number) => Array.from({ length: count }, (_, i) => `coordinates=${i % 90}`).join('&')
  for (const [coordinates, sentence] of [
    ['coordinates=10&coordinates=50', /between 4 and 2,000/],
    [flat(7), /A flat list must have a longitude and a latitude for each position; it has 7 numbers\./],
    // Leaving out an empty value would move all the others.
    [points(() => '').replace('=10.01', '='), /must be a number/],
    [points(() => '').replace('=10.01', '=x'), /must be a number/],
    [points(() => '').replace('=50', '=95'), /latitude/],
    [flat(4002), /between 4 and 2,000/],
    [flat(9990), /between 4 and 2,000/],
    [flat(9991), /it has 9991 numbers/],
  ] as const) {
    const { status, body } = await form(
      'PUT',
      '/v1/geofences/area/bad',
      `description=Area&type=polygon&${coordinates}`,
    )
    t.strictSame([status, body.meta.param], [400, 'coordinates'], coordinates.slice(0, 80))
    t.match(body.meta.message, sentence)
  }
  const long = await form('POST', '/v1/geofences', `description=Area&type=polygon&${flat(10_001)}`)
  t.match(long.body.meta, { code: 400, message: /Too many parameters/ })
  // As JSON, because a request has room for half a million of them.
  for (const count of [4002, 400_000]) {
    const polygon = { description: 'x', type: 'polygon', coordinates: Array.from({ length: count }, () => 1) }
    const { body } = await server.api('PUT', '/v1/geofences/area/bad', polygon)
    t.match(body.meta, { code: 400, message: /between 4 and 2,000/ })
  }
  // The largest number of positions, by POST and by id.
  const many = Array.from({ length: 1999 }, (_, i) => {
    const angle = (2 * Math.PI * i) / 1999
    return [10 + Math.cos(angle), 50 + Math.sin(angle)]
  })
  const most = [...many, many[0]!].flat().map((degrees) => `coordinates=${degrees}`)
  const round = `description=Round&type=polygon&${most.join('&')}`
  const made = await form('POST', '/v1/geofences', `${round}&tag=area&externalId=most`)
  t.equal(made.body.geofence?.geometry.coordinates[0].length, 2000, JSON.stringify(made.body.meta))
  t.equal((await form('PUT', `/v1/geofences/${made.body.geofence?._id}`, round)).status, 200)
  t.equal((await server.api('GET', '/v1/geofences/area/bad')).status, 404, 'nothing was made')
  t.equal(
    (await form('PUT', '/v1/geofences/area/bad', 'type=circle')).body.meta.message,
    'description: Required.',
  )

  const beacon = await form(
    'POST',
    '/api/v1/beacons',
    'description=Door&tag=doors&externalId=1&type=ibeacon&uuid=b9407f30-f5f8-466e-aff9-25556b57fe6d&major=7&minor=0010' +
      '&coordinates=[10,50]&enabled=true&metadata={"floor":2,"open":true}',
  )
  t.equal(beacon.status, 200, JSON.stringify(beacon.body.meta))
})

t.test('a track as a form has the same effect as one in JSON', async (t) => {
  const { status, body } = await form(
    'POST',
    '/v1/track',
    'deviceId=one&userId=ann&latitude=50&longitude=10&accuracy=5&foreground=True&stopped=1&metadata[floor]=2' +
      '&metadata[vip]=true&metadata[code]=007&beacons[][type]=ibeacon' +
      '&beacons[][uuid]=B9407F30-F5F8-466E-AFF9-25556B57FE6D&beacons[][major]=7&beacons[][minor]=10&unknown[a][b]=c',
    testPublishable,
  )
  t.equal(status, 200, JSON.stringify(body.meta))
  t.match(body.user, { foreground: true, stopped: true, metadata: { floor: 2, vip: true, code: '007' } })
  t.match(body.user.beacons, [{ tag: 'doors' }])
  const replayed = await form(
    'POST',
    '/v1/track/replay',
    'replays[0][deviceId]=two&replays[0][latitude]=50&replays[0][longitude]=10&replays[0][accuracy]=5' +
      '&replays[0][updatedAtMs]=1795148460123',
    testPublishable,
  )
  t.equal(replayed.status, 200, JSON.stringify(replayed.body.meta))
})

t.test('metadata filters match the text, or the value that it stands for', async (t) => {
  const lists = [
    ['/v1/geofences?tag=store', 'geofences', 2],
    ['/v1/search/geofences?near=50,10&tags=store', 'geofences', 2],
    ['/v1/beacons?tag=doors', 'beacons', 1],
    ['/v1/search/beacons?near=50,10', 'beacons', 1],
    ['/v1/search/users?near=50,10', 'users', 1],
  ] as const
  for (const [path, name, all] of lists) {
    const flag = name === 'users' ? 'vip' : 'open'
    const count = async (filter: string): Promise<unknown> => {
      const { status, body } = await server.api('GET', `${path}&${filter}`)
      return status === 200 ? body[name].length : body.meta
    }
    for (const [filter, wanted] of [
      ['metadata[floor]=2', all],
      ['metadata[floor]=2.0', all],
      ['metadata%5Bfloor%5D=2', all],
      ['metadata[floor]=3', 0],
      ['metadata[floor]=two', 0],
      [`metadata[floor]=2&metadata[${flag}]=true`, all],
      [`metadata[${flag}]=1`, 0],
      [`metadata=${encodeURIComponent(`{"floor":2,"${flag}":true}`)}`, all],
      ['metadata=[object%20Object]', name === 'users' ? 2 : all],
      ['metadata[none]=', name === 'users' ? 2 : all],
      ['metadata[none]=x', 0],
    ] as const) {
      t.equal(await count(filter), wanted, `${path}&${filter}`)
    }
  }
  const code = async (text: string): Promise<number> =>
    (await server.api('GET', `/v1/search/geofences?near=50,10&metadata[zip]=${text}`)).body.geofences.length
  t.strictSame([await code('00501'), await code('501')], [2, 0], 'a text is matched as a text')
})

t.test('queries accept numbers and booleans as text', async (t) => {
  const keys = async (includeGeometry: string): Promise<boolean> =>
    'geometry' in
    (await server.api('GET', `/v1/search/geofences?near=50,10&limit=1&includeGeometry=${includeGeometry}`))
      .body.geofences[0]
  t.strictSame(
    [await keys('true'), await keys('false'), await keys('False'), await keys('0')],
    [true, false, false, false],
  )
})

const UUIDS = ['e2c56db5-dffb-48d2-b060-d0f5a71096e0', 'f7826da6-4fa2-4e98-8024-bc5b71e0893e']

t.test('settings as a form: the named ones change, and an unknown name is refused', async (t) => {
  const { settings } = (
    await form(
      'PATCH',
      '/v1/settings',
      `bufferExits=true&dwellThreshold=5&beaconUuids=${UUIDS.join('&beaconUuids=')}`,
    )
  ).body
  t.match(settings, { bufferExits: true, dwellThreshold: 5, beaconUuids: UUIDS })
  for (const [body, param] of [
    ['bufferexits=false', 'bufferexits'],
    ['bufferExits[a]=false', 'bufferExits'],
    ['buffer[Exits]=false', 'buffer[Exits]'],
    ['dwellThreshold=null', 'dwellThreshold'],
  ] as const) {
    const answer = await form('PATCH', '/v1/settings', body)
    t.strictSame([answer.status, answer.body.meta.param], [400, param], body)
  }
  const emptied = await form('PATCH', '/v1/settings', 'beaconUuids[]=')
  t.strictSame(emptied.body.settings.beaconUuids, [])
  const gone = await server.api('PATCH', '/v1/settings', { dwellThreshold: null, bufferExits: null })
  t.match(
    gone.body.settings,
    { dwellThreshold: null, bufferExits: true },
    'null is absent, or the end of what has it',
  )
})
