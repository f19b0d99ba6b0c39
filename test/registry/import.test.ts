/** Import over a real server: every column, every refusal, and the command. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { placeId } from '../../src/geo/records/objectRecords.ts'
import { csvLine } from '../../src/http/csvLine.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { clear, CSV, HEADER, imported, records, rowsOf } from './importKit.ts'
import type { Json, Kind } from './importKit.ts'

/** Deeply nested lists. */
const DEEP = '['.repeat(5000) + ']'.repeat(5000)

const JFK = placeId('iata/JFK')
const ROOT = join(import.meta.dirname, '..', '..')

const server = await startServer(t)
await clear(server, 'geofences')

t.test('a dry run tells what an import would do, and writes nothing', async (t) => {
  const history = async () => (await server.api('GET', '/v1/imports/geofences')).body.imports.length
  const before = [await history(), (await records(server, 'geofences')).length]
  await server.api('PUT', '/v1/geofences/dry/1', {
    description: 'There',
    type: 'circle',
    coordinates: [1, 2],
    radius: 100,
  })
  const file = `${HEADER}${rowsOf('dry', 1, 600)}Bad,circle,dry,x,"[1,2]",-5\n`
  const dry = (query: string) =>
    server.api('POST', `/v1/imports/geofences?${query}`, file, KEYS.testSecret, CSV)
  const { status, body } = await dry('dryRun=true&fileName=dry.csv')
  t.match(
    [status, body.import],
    [
      200,
      {
        dryRun: true,
        status: 'completed',
        fileName: 'dry.csv',
        rows: 601,
        created: 599,
        updated: 1,
        refused: 1,
        errors: [{ row: 601, column: 'radius', value: '-5' }],
      },
    ],
  )
  t.strictSame([await history(), (await records(server, 'geofences')).length], [before[0], before[1]! + 1])
  t.match(await server.api('GET', `/v1/imports/geofences/${body.import._id}`), { status: 404 })
  const done = await imported(server, 'geofences', file)
  for (const name of ['rows', 'created', 'updated', 'refused', 'errors'])
    t.strictSame(done[name], body.import[name], `the import does what the dry run said: ${name}`)
  await clear(server, 'geofences')
})

t.test('refused rows as CSV', async (t) => {
  const file = `${HEADER}"A, ""b""",circle,csv,1,"[1,2]",-5\nB,circle,csv,2,"[1,2]",100\nC,circle,csv,3\n`
  const { _id } = await imported(server, 'geofences', file)
  const { status, body, headers } = await server.api('GET', `/v1/imports/geofences/${_id}/refused`)
  t.equal(status, 200)
  t.match(headers.get('content-type'), 'text/csv')
  t.match(headers.get('content-disposition'), 'refused-geofences.csv')
  const [head, first, second] = body.split('\r\n')
  t.equal(head, 'line,row,column,message,value')
  t.match(first, /^2,1,radius,".+",-5$/)
  t.match(second, /^4,3,,".+",$/)
  t.match(await server.api('GET', '/v1/imports/geofences/none/refused'), { status: 404 })
  t.match(await server.api('GET', `/v1/imports/beacons/${_id}/refused`), { status: 404 })
  const live = await server.api('GET', `/v1/imports/geofences/${_id}/refused`, undefined, KEYS.liveSecret)
  t.equal(live.status, 404, 'the other environment')
  await clear(server, 'geofences')
})

t.test('every column of a geofence file', async (t) => {
  const file =
    `\u{FEFF}description,type,tag,externalId,coordinates,address,radius,mode,enabled,metadata.color,metadata.the shop's size,operatingHours.Sunday,operatingHours.mon,stopDetection,disableAfter,deleteAfter,userId,userIds,ip,dwellThreshold,placeId,tripApproachingThreshold
"Shop ""One"", main\r\ndoor",circle,store,1,"[-73.99,40.73]",Broadway 1,100.5,,,"red, blue",7,"[[""9:00 AM"",""5:00 PM""]]","[[""22:00"",""02:00""]]",true,2031-01-01,2032-01-01T12:00:00+02:00,u0,"u1, u2","10.0.0.1,10.1.0.0/16",2.5,,15\r
Plain,polygon,store,2,"[[0,0],[1,0],[1,1],[0,0]]",,,,FALSE,,,,,,,,,,,,,
Airport,circle,store,3,,,,,,,,,,,,,,,,,${JFK},
`.replaceAll(/(?<!\r)\n/g, '\r\n')
  const { _id, createdAt, finishedAt, ...record } = await imported(server, 'geofences', file)
  t.match(_id, /^[0-9a-f]{24}$/)
  t.ok(Date.parse(finishedAt) >= Date.parse(createdAt))
  t.same(record, {
    kind: 'geofences',
    live: false,
    status: 'completed',
    rows: 3,
    created: 3,
    updated: 0,
    refused: 0,
    createdWithoutPair: 0,
    errors: [],
    moreErrors: 0,
  })
  const { body } = await server.api('GET', '/v1/geofences/store/1')
  t.match(body.geofence, {
    description: 'Shop "One", main\r\ndoor',
    type: 'circle',
    geometryCenter: { coordinates: [-73.99, 40.73] },
    geometryRadius: 100.5,
    enabled: true,
    metadata: { color: 'red, blue', "the shop's size": '7' },
    operatingHours: { Sunday: [['9:00 AM', '5:00 PM']], mon: [['22:00', '02:00']] },
    stopDetection: true,
    disableAfter: '2031-01-01T00:00:00.000Z',
    deleteAfter: '2032-01-01T10:00:00.000Z',
    userId: 'u0',
    userIds: ['u1', 'u2'],
    ip: '10.0.0.1,10.1.0.0/16',
    dwellThreshold: 2.5,
    tripApproachingThreshold: 15,
  })
  const second = (await server.api('GET', '/v1/geofences/store/2')).body.geofence
  t.match(second, { type: 'polygon', enabled: false })
  const third = (await server.api('GET', '/v1/geofences/store/3')).body.geofence
  t.match(third, { placeId: JFK, geometryRadius: 1000 })
  for (const absent of ['metadata', 'operatingHours', 'stopDetection', 'userIds', 'ip'])
    t.notOk(absent in second)

  const json = `description,type,tag,externalId,coordinates,radius,metadata,operatingHours,mode
x,circle,store,1,"[1,2]",10,"{""a"":1,""b"":true,""c"":""t""}","{""sat"":[[""08:00"",""24:00""]]}",car
`
  t.match(await imported(server, 'geofences', json), { created: 0, updated: 1 })
  const replaced = (await server.api('GET', '/v1/geofences/store/1')).body.geofence
  t.equal(replaced._id, body.geofence._id, 'the record stays')
  t.match(replaced, {
    metadata: { a: 1, b: true, c: 't' },
    operatingHours: { sat: [['08:00', '24:00']] },
    mode: 'car',
  })
  t.notOk('userIds' in replaced, 'a row replaces the whole definition')
})

t.test('every column of a beacon file, and rows that always create', async (t) => {
  const file = `description,tag,externalId,type,uuid,major,minor,uid,instance,coordinates,enabled,metadata
Door,shop,1,ibeacon,f7826da6-4fa2-4e98-8024-bc5b71e0893e,1,2,,,"[13.4,52.5]",true,"{""floor"":1}"
Gate,shop,2,eddystone,,,,edd1ebeac04e5defa017,0bdb87539b67,"[13.4,52.5]",false,
Free,,,ibeacon,f7826da6-4fa2-4e98-8024-bc5b71e0893e,3,4,,,"[13.4,52.5]",true,
Half,shop,,ibeacon,f7826da6-4fa2-4e98-8024-bc5b71e0893e,5,6,,,"[13.4,52.5]",true,
No,shop,3,ibeacon,f7826da6-4fa2-4e98-8024-bc5b71e0893e,5,6,,,"[13.4,52.5]",,
`
  const first = await imported(server, 'beacons', file)
  t.match(first, {
    rows: 5,
    created: 4,
    updated: 0,
    refused: 1,
    createdWithoutPair: 2,
    note: /^2 rows have no tag and externalId: importing the file again creates these beacons once more/,
    errors: [{ line: 6, row: 5, column: 'enabled', message: 'enabled: Required.', value: '' }],
  })
  t.match(await imported(server, 'beacons', file), { created: 2, updated: 2, createdWithoutPair: 2 })
  const all = await records(server, 'beacons')
  t.equal(all.length, 6)
  t.match(
    all.find(({ externalId }) => externalId === '1'),
    {
      description: 'Door',
      type: 'ibeacon',
      uuid: 'f7826da6-4fa2-4e98-8024-bc5b71e0893e',
      major: '1',
      minor: '2',
      geometry: { coordinates: [13.4, 52.5] },
      enabled: true,
      metadata: { floor: 1 },
    },
  )
  t.match(
    all.find(({ externalId }) => externalId === '2'),
    { uid: 'edd1ebeac04e5defa017', enabled: false },
  )
})

t.test('headers for which the whole file is refused', async (t) => {
  const MUST = 'description,type,tag,externalId,coordinates'
  const CASES: readonly (readonly [kind: Kind, file: string, param: string, sentence: RegExp])[] = [
    ['geofences', '', 'header', /The file is empty/],
    ['geofences', '\r\n\r\n', 'header', /The file is empty/],
    ['geofences', `${MUST},dwelThreshold\n`, 'dwelThreshold', /Unknown.*dwellThreshold/],
    ['geofences', `${MUST},Radius\n`, 'Radius', /Unknown column/],
    ['geofences', `${MUST},radius.x\n`, 'radius.x', /Unknown column/],
    [
      'beacons',
      'description,type,coordinates,enabled,metadata.prototype\n',
      'metadata.prototype',
      /not allowed/,
    ],
    ['geofences', `${MUST},metadata.constructor\n`, 'metadata.constructor', /Key not allowed/],
    ['geofences', `${MUST},metadata.__proto__\n`, 'metadata.__proto__', /Key not allowed/],
    ['geofences', `${MUST},metadata.\n`, 'metadata.', /Unknown column/],
    ['geofences', 'description;type;tag\n', 'description;type;tag', /separated by commas/],
    ['geofences', `${MUST},radius,radius\n`, 'radius', /appears twice/],
    ['geofences', `${MUST},metadata.a,metadata.a\n`, 'metadata.a', /appears twice/],
    ['geofences', `${MUST},,radius\n`, 'header', /Column 6 has no name/],
    [
      'geofences',
      `${MUST},metadata,metadata.a\n`,
      'metadata.a',
      /metadata and metadata\.a cannot be combined/,
    ],
    ['geofences', `operatingHours.sun,${MUST},operatingHours\n`, 'operatingHours.sun', /cannot be combined/],
    ['geofences', `${MUST},operatingHours.sun,operatingHours.Sunday\n`, 'operatingHours.Sunday', /same day/],
    ['geofences', `${MUST},operatingHours.someday\n`, 'operatingHours.someday', /is not a day/],
    ['geofences', `${MUST}${',metadata.x'.repeat(1000)}\n`, 'header', /1005 columns; at most 1000/],
    ['geofences', 'type,tag,externalId,coordinates\n', 'description', /is required/],
    ['geofences', 'description,tag,externalId,coordinates\n', 'type', /is required/],
    ['geofences', 'description,type,externalId,coordinates\n', 'tag', /is required/],
    ['geofences', 'description,type,tag,coordinates\n', 'externalId', /is required/],
    [
      'geofences',
      'description,type,tag,externalId\n',
      'coordinates',
      /One of the columns coordinates, address, placeId/,
    ],
    ['geofences', 'description,"type\n', 'header', /never closed/],
    ['beacons', 'description,type,coordinates\n', 'enabled', /is required/],
    ['beacons', 'description,type,enabled\n', 'coordinates', /is required/],
    ['beacons', 'description,type,enabled,coordinates,radius\n', 'radius', /Unknown column/],
  ]
  const before = await server.api('GET', '/v1/imports/geofences')
  for (const [kind, file, param, sentence] of CASES) {
    const { status, body } = await server.api('POST', `/v1/imports/${kind}`, file, KEYS.testSecret, CSV)
    t.equal(status, 400, file)
    t.match(body, { meta: { code: 400, param, message: sentence } }, file)
  }
  const latin = Buffer.from(`${MUST},metadata.gr\xf6\xdfe\n`, 'latin1')
  t.match((await server.api('POST', '/v1/imports/geofences', latin, KEYS.testSecret, CSV)).body.meta, {
    param: 'header',
  })
  t.same(
    (await server.api('GET', '/v1/imports/geofences')).body,
    before.body,
    'nothing is entered in the history',
  )

  const good = `${MUST}\n`
  t.equal((await server.api('POST', '/v1/imports/geofences', good)).status, 415)
  t.equal((await server.api('POST', '/v1/imports/geofences', good, KEYS.testPublishable, CSV)).status, 403)
  t.equal((await server.api('POST', '/v1/imports/users', good, KEYS.testSecret, CSV)).status, 404)
  t.match(await imported(server, 'geofences', good), { status: 'completed', rows: 0 })
})

t.test('refused rows, with their line, column and reason; the others are imported', async (t) => {
  const header = [
    'description',
    'type',
    'tag',
    'externalId',
    'coordinates',
    'radius',
    'enabled',
    'address',
    'placeId',
    'ip',
    'userIds',
    'disableAfter',
    'dwellThreshold',
    'metadata.a',
    'metadata.b',
    'operatingHours.sun',
    'operatingHours.mon',
  ]
  const good: Readonly<Record<string, string>> = {
    description: 'Good\none',
    type: 'circle',
    tag: 'rows',
    coordinates: '[1,2]',
    radius: '100',
  }
  const long = 'x'.repeat(5000)
  type Case = readonly [
    change: Readonly<Record<string, string>>,
    column: string,
    sentence: RegExp,
    value?: string,
  ]
  const CASES: readonly Case[] = [
    [{ description: '' }, 'description', /: Required\./, ''],
    [{ description: 'a\0b' }, 'description', /without NUL/, 'a\0b'],
    [{ type: 'square' }, 'type', /Valid values: circle, polygon, isochrone/, 'square'],
    [{ tag: '' }, 'tag', /: Required\./, ''],
    [{ externalId: 'e'.repeat(257) }, 'externalId', /at most 256/, 'e'.repeat(100)],
    [{ coordinates: '' }, 'coordinates', /One of coordinates, address and placeId/, ''],
    [{ coordinates: '1,2' }, 'coordinates', /valid JSON/, '1,2'],
    [{ coordinates: '[1,91]' }, 'coordinates', /Invalid latitude/, '[1,91]'],
    [{ type: 'polygon', coordinates: '[[0,0],[1,1],[0,0]]' }, 'coordinates', /between 4 and 2,000/],
    [{ coordinates: '', address: 'Main St' }, 'address', /It was not found/, 'Main St'],
    [{ coordinates: '', placeId: 'p' }, 'placeId', /There is no place with this _id/, 'p'],
    [{ radius: '' }, 'radius', /One of radius and placeId is required for a circle/, ''],
    [{ radius: '9' }, 'radius', /Valid range: \[10, 10000\]/, '9'],
    [{ radius: 'wide' }, 'radius', /must be a number/, 'wide'],
    [{ enabled: 'yes' }, 'enabled', /true or false/, 'yes'],
    [{ ip: '10.0.0.300' }, 'ip', /ip/, '10.0.0.300'],
    [{ disableAfter: 'soon' }, 'disableAfter', /date/, 'soon'],
    [{ dwellThreshold: '0' }, 'dwellThreshold', /greater than 0/, '0'],
    [{ type: 'isochrone' }, 'mode', /Required for an isochrone/],
    [{ 'operatingHours.mon': DEEP }, 'operatingHours.mon', /nested deeper than 64/, '['.repeat(100)],
    [{ 'metadata.a': 'fine', 'metadata.b': long }, 'metadata.b', /at most 4096/, 'x'.repeat(100)],
    [
      { 'operatingHours.sun': '[]', 'operatingHours.mon': '9 to 5' },
      'operatingHours.mon',
      /JSON list/,
      '9 to 5',
    ],
    [
      { 'operatingHours.sun': '[["9:00","25:00"]]', 'operatingHours.mon': '[]' },
      'operatingHours.sun',
      /not a time/,
      '[["9:00","25:00"]]',
    ],
  ]
  let file = csvLine(header)
  const expected: Json[] = []
  let line = 2
  for (const [i, [change, column, message, value]] of CASES.entries()) {
    for (const row of [good, { ...good, ...change }]) {
      const cells: Readonly<Record<string, string>> = { externalId: `${i}`, ...row }
      file += csvLine(header.map((name) => cells[name]))
      if (row !== good) {
        expected.push({ line, row: 2 * i + 2, column, message, ...(value !== undefined && { value }) })
      }
      line += cells['description']!.includes('\n') ? 2 : 1
    }
  }
  file += 'too,few\n'
  expected.push({ line, row: 2 * CASES.length + 1, message: /^The row has 2 cells, the header 17\.$/ })
  const record = await imported(server, 'geofences', file)
  t.match(record, { status: 'completed', created: CASES.length, updated: 0, refused: CASES.length + 1 })
  for (const [i, one] of expected.entries()) t.match(record.errors[i], one)
  t.equal(record.errors.length, expected.length)
  t.notOk('column' in record.errors.at(-1), 'not of a column')
  t.equal((await records(server, 'geofences')).filter(({ tag }) => tag === 'rows').length, CASES.length)

  const whole = csvLine([...HEADER.trim().split(','), 'metadata', 'operatingHours'])
  const deep = { ...good, externalId: 'deep', description: 'd' }
  const rowOf = (metadata: string, operatingHours: string) =>
    csvLine([
      ...HEADER.trim()
        .split(',')
        .map((name) => deep[name as keyof typeof deep]),
      metadata,
      operatingHours,
    ])
  t.match(
    await imported(
      server,
      'geofences',
      whole + rowOf('', `{"Sun":${DEEP}}`) + rowOf('{"constructor":1}', '') + rowOf('{"a":1}', ''),
    ),
    {
      created: 1,
      refused: 2,
      errors: [
        { line: 2, column: 'operatingHours', message: /nested deeper than 64/ },
        {
          line: 3,
          column: 'metadata',
          message: /^metadata.constructor: Key not allowed/,
          value: '{"constructor":1}',
        },
      ],
    },
    'as one column',
  )

  const latin = Buffer.from(
    'description,type,tag,externalId,coordinates,radius\nCaf\xe9,circle,rows,l,"[1,2]",10\n',
    'latin1',
  )
  t.match((await imported(server, 'geofences', latin)).errors, [
    { line: 2, row: 1, message: /not valid UTF-8/ },
  ])
  t.match(
    (await imported(server, 'geofences', 'description,type,tag,externalId,address\na,circle,rows,r,p\n'))
      .errors,
    [{ line: 2, column: 'radius' }],
    'a column that the file lacks',
  )
})

t.test('a repeated pair: the later row wins, also within a file', async (t) => {
  const row = (id: string, radius: number) => `d,circle,twice,${id},"[1,2]",${radius}\n`
  const header = 'description,type,tag,externalId,coordinates,radius\n'
  const file = header + row('a', 10) + row('b', 20) + row('a', 30)
  t.match(await imported(server, 'geofences', file), { rows: 3, created: 2, updated: 1 })
  t.equal((await server.api('GET', '/v1/geofences/twice/a')).body.geofence.geometryRadius, 30)
  t.match(await imported(server, 'geofences', file), { rows: 3, created: 0, updated: 3 })
})

t.test('the history, per kind and environment', async (t) => {
  const header = 'description,type,tag,externalId,coordinates,radius\n'
  const bad = header + 'd,circle,many,,"[1,2]",10\n'.repeat(1234)
  const upload = await server.api(
    'POST',
    '/v1/imports/geofences?fileName=many.csv',
    bad,
    KEYS.testSecret,
    CSV,
  )
  const { errors, moreErrors, ...counts } = upload.body.import
  t.match(counts, { rows: 1234, created: 0, refused: 1234, fileName: 'many.csv' })
  t.equal(errors.length, 1000)
  t.equal(moreErrors, 234)
  const { body } = await server.api('GET', '/v1/imports/geofences?limit=1')
  t.same(body, { meta: { code: 200, hasMore: true }, imports: [counts] }, 'newest first, without the rows')
  const one = await server.api('GET', `/v1/imports/geofences/${counts._id}`)
  t.same(one.body.import, upload.body.import)
  const older = await server.api('GET', `/v1/imports/geofences?limit=1&createdBefore=${counts.createdAt}`)
  t.ok(older.body.imports[0].createdAt < counts.createdAt)
  t.same((await server.api('GET', `/v1/imports/geofences?limit=1&before=${counts._id}`)).body, older.body)
  const newer = await server.api(
    'GET',
    `/v1/imports/geofences?createdAfter=${older.body.imports[0].createdAt}`,
  )
  t.same(newer.body, { meta: { code: 200, hasMore: false }, imports: [counts] })

  t.equal((await server.api('GET', `/v1/imports/beacons/${counts._id}`)).status, 404, 'another kind')
  t.equal(
    (await server.api('GET', `/v1/imports/geofences/${counts._id}`, undefined, KEYS.liveSecret)).status,
    404,
  )
  t.same((await server.api('GET', '/v1/imports/geofences', undefined, KEYS.liveSecret)).body.imports, [])
  t.equal((await server.api('GET', '/v1/imports/geofences', undefined, KEYS.testPublishable)).status, 403)
})

t.test('imports and tracking at the same time', async (t) => {
  const geofences = HEADER + rowsOf('busy', 0, 2000)
  const beacons = `description,type,uuid,major,minor,coordinates,enabled,tag,externalId\n${Array.from(
    { length: 1000 },
    (_, i) => `B,ibeacon,f7826da6-4fa2-4e98-8024-bc5b71e0893e,1,${i},"[1,2]",true,busy,${i}\n`,
  ).join('')}`
  const stop = new AbortController()
  const statuses = new Set<number>()
  let entered = 0
  const device = async (deviceId: string) => {
    for (let i = 0; !stop.signal.aborted; i++) {
      const body = { deviceId, latitude: 2, longitude: i % 2 === 0 ? 1 : 1.1, accuracy: 5 }
      const answer = await server.api('POST', '/v1/track', body, KEYS.testPublishable)
      statuses.add(answer.status)
      entered += (answer.body.events as Json[]).filter(({ type }) => type === 'user.entered_geofence').length
    }
  }
  const devices = ['a', 'b', 'c'].map(device)
  const [first, second, third] = await Promise.all([
    imported(server, 'geofences', geofences),
    imported(server, 'beacons', beacons),
    imported(server, 'geofences', geofences),
  ])
  stop.abort()
  await Promise.all(devices)
  t.same([...statuses], [200])
  t.ok(entered > 0, 'geofences that are just imported are entered')
  t.equal(first.created + third.created, 2000, 'two files with the same pairs')
  t.equal(first.updated + third.updated, 2000)
  t.match(second, { created: 1000, refused: 0 })
})

t.test('many rows are created in the order of the file, while it is read', async (t) => {
  const began = Date.now()
  await imported(server, 'geofences', HEADER + rowsOf('times', 0, 4000), KEYS.liveSecret)
  const now = Date.now()
  const found = await records(server, 'geofences', KEYS.liveSecret)
  t.same(
    found.map(({ externalId }) => Number(externalId)).toReversed(),
    Array.from({ length: 4000 }, (_, i) => i),
  )
  for (const name of ['createdAt', 'updatedAt']) {
    const times = found.map((one) => Date.parse(one[name]))
    t.ok(Math.min(...times) >= began && Math.max(...times) <= now, name)
  }
})

function command(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['src/cli/import.ts', ...args], {
    cwd: ROOT,
    env: { ...process.env, RINGFENCE_SECRET_KEY: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

t.test('npm run import', async (t) => {
  const folder = t.testdir({})
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const good = file('good.csv', HEADER + rowsOf('cli', 0, 1200))
  const bad = file('bad.csv', `${HEADER}Row,circle,cli,0,"[1,2]",100\nRow,circle,cli,1,"[1,2]",1\n`)
  const broken = file('broken.csv', `${HEADER}Row,circle,cli,0,"[1,2]",100\n"x`)
  const header = file('header.csv', 'description,colour\n')
  // More than the buffers of the sockets hold, so the refusal comes while the file is still being sent.
  const large = file('large.csv', `description,colour\n${'x,y\n'.repeat(4_000_000)}`)
  const url = ['--url', server.url]
  const key = { RINGFENCE_SECRET_KEY: KEYS.testSecret }
  const CASES: readonly (readonly [
    args: string[],
    env: Record<string, string>,
    code: number,
    output: RegExp,
  ])[] = [
    [
      ['geofences', good, ...url, '--key', KEYS.testSecret],
      {},
      0,
      /good\.csv: 1,200 rows in .*: 1,200 created, 0 updated, 0 refused/,
    ],
    [
      ['geofences', bad, ...url],
      key,
      1,
      /1 refused\.\n\nline +column +value +refused because\n─+.*\n3 +radius +1 +radius: Invalid radius/,
    ],
    [['geofences', broken, ...url], key, 1, /The import ended at line 3: A quoted cell is never closed/],
    [['geofences', header, ...url], key, 2, /nothing was imported \(400\)\. colour: Unknown column/],
    [['geofences', large, ...url], key, 2, /nothing was imported \(400\)\. colour: Unknown column/],
    [
      ['geofences', good, '--url', 'http://127.0.0.1:9'],
      key,
      2,
      /does not answer: no server listens at this address/,
    ],
    [['geofences', good, ...url, '--key', `${KEYS.testSecret}x`], {}, 2, /nothing was imported \(401\)/],
    [['geofences', good, ...url], {}, 2, /A secret key is required/],
    [['geofences', good, ...url, '--key', KEYS.testPublishable], {}, 2, /begins with prj_test_sk_/],
    [['users', good], key, 2, /Give geofences or beacons/],
    [['geofences', good, 'more.csv'], key, 2, /does not accept the argument "more\.csv"\./],
    [
      ['geofences', join(folder, 'nofile.csv'), ...url],
      key,
      2,
      /nofile\.csv cannot be read: there is no such file/,
    ],
    [['geofences', folder, ...url], key, 2, /is not a file\./],
    [['geofences', good, '--fast'], key, 2, /Unknown option '--fast'/],
    [['geofences', good, '--url', 'nowhere'], key, 2, /--url nowhere: not a URL/],
    [['--help'], {}, 0, /Usage: npm run import/],
  ]
  // One after another, because two cases share rows.
  for (const [args, env, code, output] of CASES) {
    const found = await command(args, env)
    t.equal(found.code, code, args.join(' '))
    t.match(found.output, output)
    t.notMatch(found.output, '\x1b', 'no colours and no bar where there is no terminal')
  }
  const { body } = await server.api('GET', '/v1/imports/geofences?limit=2')
  t.same(
    body.imports.map(({ fileName }: Json) => fileName),
    ['broken.csv', 'bad.csv'],
  )
})
