/**
 * Hostile input for every hand-written reader, sent the way it would arrive: queries, headers, forms, JSON, CSV files
 * and frames of a stream. Each has about `n` characters.
 */
import { request } from 'node:http'
import { KEYS, type Server } from '../kit/server.ts'
import { Stream, type Encoding } from '../kit/stream.ts'

const KIB = 1024
/** The limit for a request's line and headers is 32 KiB, and some characters are sent as three. */
const HEAD_SIZE = 24 * KIB
const URL_SIZE = 8 * KIB
const BODY_SIZE = 256 * KIB
/** For forms and lists that would otherwise have too many members and be refused before they are read. */
const FEW_SIZE = 128 * KIB
const FILE_SIZE = 1024 * KIB

export interface Attack {
  readonly name: string
  /** Characters of the largest input. */
  readonly size: number
  /** Resolves to the status of the answer, or to 0 for a stream. */
  readonly send: (server: Server, n: number) => Promise<number>
}

const { testPublishable, testSecret } = KEYS
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** A piece, repeated as often as it fits into `n` characters. */
function repeated(piece: string, n: number): string {
  return piece.repeat(Math.floor(n / piece.length))
}

/** As many values of `length` characters as fit into `n`. */
function times<T>(n: number, length: number, value: (i: number) => T): T[] {
  return Array.from({ length: Math.floor(n / length) }, (_, i) => value(i))
}

/** Pieces with their numbers, as many as fit into `n` characters. */
function numbered(piece: (i: number) => string, n: number, between = ''): string {
  const pieces: string[] = []
  for (let i = 0, left = n; ; i++) {
    const next = piece(i)
    left -= next.length + between.length
    if (left < 0) return pieces.join(between)
    pieces.push(next)
  }
}

/** Rows of digits that are not a number, and other texts that may be hard for readers of numbers. */
const NUMBERS: readonly (readonly [name: string, text: (n: number) => string])[] = [
  ['digits and an x', (n) => `${repeated('1', n)}x`],
  ['digits behind a point, and an x', (n) => `1.${repeated('0', n)}x`],
  ['an exponent of digits', (n) => `1e${repeated('1', n)}x`],
  ['digits', (n) => repeated('1', n)],
  ['blanks', (n) => `1${repeated(' ', n)}1`],
]

function query(name: string, path: string, text: (n: number) => string, size = URL_SIZE): Attack {
  const send = async (server: Server, n: number) =>
    (await server.api('GET', path + text(n).replaceAll(' ', '+'))).status
  return { name: `query ${name}`, size, send }
}

function header(
  name: string,
  path: string,
  fields: (n: number) => Record<string, string>,
  method = 'GET',
): Attack {
  return {
    name: `header ${name}`,
    size: HEAD_SIZE,
    send: (server, n) => raw(server, method, path, fields(n)),
  }
}

function form(name: string, text: (n: number) => string, path = '/v1/track', method = 'POST'): Attack {
  const key = path === '/v1/track' ? testPublishable : testSecret
  const send = async (server: Server, n: number) =>
    (await server.api(method, path, text(n), key, FORM)).status
  return { name: `form ${name}`, size: FEW_SIZE, send }
}

interface Call {
  readonly path?: string
  readonly method?: string
  readonly size?: number
}

function json(name: string, text: (n: number) => string, call: Call = {}): Attack {
  const { path = '/v1/track', method = 'POST', size = BODY_SIZE } = call
  const key = path.startsWith('/v1/track') ? testPublishable : testSecret
  const send = async (server: Server, n: number) => (await server.api(method, path, text(n), key)).status
  return { name: `JSON ${name}`, size, send }
}

/** A definition with a hostile field. */
function geofence(name: string, field: (n: number) => Record<string, unknown>, size = BODY_SIZE): Attack {
  const body = (n: number) => {
    const good = { description: 'x', type: 'circle', coordinates: [0, 0], radius: 100 }
    return JSON.stringify({ ...good, ...field(n) })
  }
  return json(`geofence, ${name}`, body, { path: '/v1/geofences/hostile/1', method: 'PUT', size })
}

/** A ring, flattened as in forms. */
function flatRing(name: string, text: (n: number) => string): Attack {
  const body = (n: number) => `description=x&type=polygon${text(n)}`
  return form(`a flat ring: ${name}`, body, '/v1/geofences/hostile/1', 'PUT')
}

function csv(name: string, text: (n: number) => string): Attack {
  const send = async (server: Server, n: number) => {
    const path = '/v1/imports/geofences'
    return (await server.api('POST', path, text(n), testSecret, { 'content-type': 'text/csv' })).status
  }
  return { name: `CSV ${name}`, size: FILE_SIZE, send }
}

const ROW = {
  description: 'x',
  type: 'circle',
  tag: 'hostile',
  externalId: '1',
  coordinates: '[0,0]',
  radius: '100',
}

/** A file of one row with a hostile cell. */
function cell(column: string, name: string, text: (n: number) => string): Attack {
  return csv(`cell of ${column}: ${name}`, (n) => {
    const row = { ...ROW, [column]: text(n) }
    const cells = Object.values(row).map((one) => `"${one.replaceAll('"', '""')}"`)
    return `${Object.keys(row).join(',')}\n${cells.join(',')}\n`
  })
}

type Content = string | Uint8Array

function frame(
  name: string,
  text: (n: number) => Content,
  encoding: Encoding = 'json',
  size = BODY_SIZE,
): Attack {
  const send = async (server: Server, n: number) => {
    const stream = await Stream.open(server, { encoding })
    stream.socket.send(text(n))
    // The server may close the stream because of the frame.
    await Promise.race([stream.next().catch(() => undefined), stream.closed])
    await stream.close()
    return 0
  }
  return { name: `${encoding} frame ${name}`, size, send }
}

const FORM_UPDATE = 'deviceId=hostile&longitude=1&latitude=1&accuracy=5'
const AT = '"latitude":1,"longitude":1,"accuracy":5'
const UPDATE = `"deviceId":"hostile",${AT}`
const CSV_HEAD = 'description,type,tag,externalId,coordinates\n'

export const ATTACKS: readonly Attack[] = [
  ...NUMBERS.flatMap(([name, text]) => [
    query(`limit: ${name}`, '/v1/geofences?limit=', text, HEAD_SIZE),
    query(`radius: ${name}`, '/v1/search/users?near=1,1&radius=', text, HEAD_SIZE),
    query(`near: ${name}`, '/v1/search/geofences?near=1,', text, HEAD_SIZE),
    query(`createdBefore: ${name}`, '/v1/events?createdBefore=', text, HEAD_SIZE),
    query(`locations: ${name}`, '/v1/route/directions?locations=1,1|1,', text, HEAD_SIZE),
    // The longest value that is accepted, compared with each geofence.
    query(`metadata of geofences: ${name}`, '/v1/geofences?metadata[size]=', text, 4 * KIB - 8),
    query(`metadata of users: ${name}`, '/v1/search/users?near=1,1&metadata[size]=', text, 4 * KIB - 8),
    form(`latitude: ${name}`, (n) => `deviceId=hostile&longitude=1&latitude=${text(n)}`),
    form(`updatedAt: ${name}`, (n) => `${FORM_UPDATE}&updatedAt=${text(n)}`),
    form(`metadata: ${name}`, (n) => `${FORM_UPDATE}&metadata[a]=${text(n)}`),
    form(
      `radius: ${name}`,
      (n) => `description=x&type=circle&radius=${text(n)}`,
      '/v1/geofences/hostile/1',
      'PUT',
    ),
    json(`latitude: ${name}`, (n) => `{"latitude":${text(n)},"longitude":1,"deviceId":"hostile"}`),
    json(`latitude as text: ${name}`, (n) => `{"latitude":"${text(n)}","longitude":1,"deviceId":"hostile"}`),
    json(`updatedAt: ${name}`, (n) => `{${UPDATE},"updatedAt":"${text(n)}"}`),
    geofence(`radius: ${name}`, (n) => ({ radius: text(n) })),
    geofence(`a position: ${name}`, (n) => ({ coordinates: [text(n), 1] })),
    geofence(`disableAfter: ${name}`, (n) => ({ disableAfter: text(n) })),
    cell('radius', name, text),
    cell('disableAfter', name, text),
    cell('dwellThreshold', name, text),
    frame(`latitude: ${name}`, (n) => `{"type":"track","id":1,"updates":[{"latitude":${text(n)}}]}`),
    frame(
      `latitude as text: ${name}`,
      (n) => `{"type":"track","id":1,"updates":[{"latitude":"${text(n)}"}]}`,
    ),
  ]),

  query('tags', '/v1/search/geofences?near=1,1&tags=', (n) => repeated('a,', n), HEAD_SIZE),
  query('metadata of many keys', '/v1/geofences?', (n) => numbered((i) => `metadata[k${i}]=1`, n, '&')),
  query('metadata nested', '/v1/geofences?metadata', (n) => `${repeated('[a]', n)}=1`),
  query(
    'metadata as JSON',
    '/v1/geofences?metadata=',
    (n) => `${repeated('{"a":', n)}1${repeated('}', n / 5)}`,
  ),
  query('pairs', '/v1/geofences?', (n) => repeated('&', n), HEAD_SIZE),
  query('blanks', '/v1/geofences?tag=', (n) => repeated('+', n), HEAD_SIZE),
  query('types of a stream', '/v1/events/stream?from=none&types=', (n) => repeated('a,', n), 4 * KIB),
  query(
    'locations',
    '/v1/route/matrix?mode=car&destinations=1,1&origins=',
    (n) => `${repeated('1,1|', n)}1,1`,
    HEAD_SIZE,
  ),
  query(
    'modes',
    '/v1/route/distance?origin=1,1&destination=1,1&modes=',
    (n) => repeated('car,', n),
    HEAD_SIZE,
  ),
  query('an IP address', '/v1/geocode/ip?ip=', (n) => repeated('1:', n), HEAD_SIZE),
  query('a path of slashes', '/v1', (n) => repeated('/', n), HEAD_SIZE),
  query('a path of escapes', '/v1/geofences/', (n) => repeated('%25', n), HEAD_SIZE),

  header('If-None-Match', '/docs/', (n) => ({ 'if-none-match': repeated('W/"a",', n) })),
  header('X-Forwarded-For', '/v1/config', (n) => ({ 'x-forwarded-for': repeated('127.0.0.1,', n) })),
  header('X-Forwarded-For of brackets', '/v1/config', (n) => ({ 'x-forwarded-for': repeated('[', n) })),
  header('X-Forwarded-For of colons', '/v1/config', (n) => ({ 'x-forwarded-for': repeated(':', n) })),
  header('Last-Event-ID', '/v1/events/stream', (n) => ({ 'last-event-id': repeated('a', n) })),
  header('Authorization', '/v1/config', (n) => ({ authorization: repeated('Basic ', n) })),
  header('Prefer', '/v1/track/replay', (n) => ({ prefer: repeated('a,', n) }), 'POST'),
  header('Content-Type', '/v1/track', (n) => ({ 'content-type': repeated('a;', n) }), 'POST'),
  header(
    'Access-Control-Request-Headers',
    '/v1/track',
    (n) => ({
      origin: 'http://x',
      'access-control-request-method': 'POST',
      'access-control-request-headers': repeated('x-radar-a,', n),
    }),
    'OPTIONS',
  ),
  header('Sec-WebSocket-Protocol', '/v1/stream', (n) => ({
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-protocol': repeated('a,', n),
  })),

  form('pairs', (n) => repeated('a&', n)),
  form('names nested', (n) => `metadata${repeated('[a]', n)}=1`),
  form('names of brackets', (n) => `metadata${repeated('[', n)}=1`),
  form('names of brackets that close', (n) => `metadata[${repeated(']', n)}=1`),
  form('a name', (n) => `${FORM_UPDATE}&metadata[${repeated('a', n)}]=1`),
  // Fewer than 10,000 pairs.
  form('keys', (n) => `${FORM_UPDATE}&${numbered((i) => `metadata[k${i}]=1`, n, '&')}`),
  form('one key', (n) => repeated('metadata[k]=1&', n) + FORM_UPDATE),
  form('items', (n) => repeated('beacons[][uuid]=1&', n) + FORM_UPDATE),
  form('items of many members', (n) => numbered((i) => `beacons[][k${i}]=1`, n, '&')),
  form('items of two members', (n) => repeated('beacons[][uuid]=1&beacons[][rssi]=1&', n) + FORM_UPDATE),
  form('numbered items', (n) => numbered((i) => `beacons[${i}][uuid]=1`, n, '&')),
  form('numbered items from the end', (n) => numbered((i) => `beacons[${9999 - i}][uuid]=1`, n, '&')),
  form('a list', (n) => repeated('geofenceIds=a&', n) + FORM_UPDATE),
  form('lists in lists', (n) => repeated('beacons[][][][][][][][]=1&', n) + FORM_UPDATE),
  form('many names', (n) => `${FORM_UPDATE}&${numbered((i) => `unknown${1000 + i}=1`, n, '&')}`),
  form('blanks', (n) => `deviceId=${repeated('+', n)}`),
  form('escapes', (n) => `deviceId=${repeated('%41', n)}`),
  form('broken escapes', (n) => `deviceId=${repeated('%4', n)}`),
  form('JSON in a field', (n) => `${FORM_UPDATE}&beacons=${repeated('[', n / 2)}${repeated(']', n / 2)}`),
  form(
    'JSON objects in a field',
    (n) => `${FORM_UPDATE}&metadata=${repeated('{"a":', n)}1${repeated('}', n / 5)}`,
  ),
  form('booleans', (n) => `${FORM_UPDATE}&stopped=${repeated('TRUE', n)}`),
  form('blank lines', (n) => repeated('\n', n)),
  form('settings', (n) => `beaconUuids=${repeated('a,', n)}`, '/v1/settings', 'PATCH'),

  json('lists in lists', (n) => repeated('[', n)),
  json('lists in lists that end', (n) => `{"a":${repeated('[', n / 2)}${repeated(']', n / 2)}}`),
  json('objects in objects', (n) => repeated('{"a":', n)),
  json('objects in objects that end', (n) => `${repeated('{"a":', n)}1${repeated('}', n / 5)}`),
  json('a text that does not end', (n) => `{"a":"${repeated('\\"', n)}`),
  json('texts', (n) => `{"a":[${repeated('"",', n)}`),
  json('blanks', (n) => `${repeated(' ', n)}x`),
  json('blank lines', (n) => `{${repeated('\n', n)}"a":}`),
  json('values that are missing', (n) => `[${repeated('1,', n)}`),
  json('a token at the end', (n) => `{"a":[${repeated('[],', n)}x]}`),
  json('a text of escapes before a token', (n) => `{"a":"${repeated('\\\\', n)}","b":x}`),
  json('keys', (n) => `{${numbered((i) => `"k${i}":1`, n, ',')}}`),
  json('one key', (n) => `{${repeated('"a":1,', n)}"a":1}`),
  json('keys of metadata', (n) => `{${UPDATE},"metadata":{${numbered((i) => `"k${i}":1`, n, ',')}}}`),
  json('a key of metadata', (n) => `{${UPDATE},"metadata":{"${repeated('a', n)}":1}}`),
  json('nulls', (n) => `{${UPDATE},"metadata":{${numbered((i) => `"k${i}":null`, n, ',')}}}`, {
    size: 8 * KIB,
  }),
  json('beacons', (n) => `{${UPDATE},"beacons":[${numbered((i) => `{"uuid":"${i}"}`, n, ',')}]}`),
  json(
    '1000 beacons',
    (n) => `{${UPDATE},"beacons":[${numbered((i) => `{"uuid":"${i}","major":"1","minor":"1"}`, n, ',')}]}`,
    { size: 38 * KIB },
  ),
  json('bad beacons', (n) => `{${UPDATE},"beacons":[${repeated('1,', n)}1]}`),
  json(
    'stays',
    (n) => `{"deviceId":"anonymous",${AT},"geofenceIds":[${numbered((i) => `"${i}"`, n, ',')}]}`,
    { size: 64 * KIB },
  ),
  json(
    'stays by beacon',
    (n) => `{"deviceId":"anonymous",${AT},"beaconIds":[${numbered((i) => `"${i}"`, n, ',')}]}`,
    { size: 64 * KIB },
  ),
  json('replays', (n) => `{"replays":[${repeated('{},', n)}{}]}`, { path: '/v1/track/replay' }),
  json('the path of a match', (n) => `{"path":[${repeated('{},', n)}{}]}`, { path: '/v1/route/match' }),
  json('a name of a setting', (n) => `{"${repeated('a', n)}":1}`, { path: '/v1/settings', method: 'PATCH' }),
  json('the name of an event', (n) => `{"name":"${repeated('\u{FDFA}', n)}"}`, { path: '/v1/events' }),
  json('a URL', (n) => `{"url":"http://${repeated('a.', n)}"}`, { path: '/v1/webhooks' }),

  geofence('ip', (n) => ({ ip: repeated('1.1.1.1,', n) })),
  geofence('1000 addresses', (n) => ({ ip: numbered((i) => `1.1.${i >> 8}.${i & 255}`, n, ',') }), 9000),
  geofence('ip of colons', (n) => ({ ip: repeated(':', n) })),
  geofence('ip of short addresses', (n) => ({ ip: repeated('1,', n) })),
  geofence('ip as a list', (n) => ({ ip: times(n, 4, () => 'a') })),
  geofence('userIds', (n) => ({ userIds: numbered(String, n, ',') })),
  geofence('10,000 userIds', (n) => ({ userIds: numbered(String, n, ',') }), 47 * KIB),
  geofence('userIds as JSON', (n) => ({ userIds: `[${numbered((i) => `"${i}"`, n, ',')}` })),
  geofence('days', (n) => ({ operatingHours: Object.fromEntries(times(n, 8, (i) => [`d${i}`, []])) })),
  geofence('pairs of a day', (n) => ({ operatingHours: { Sun: times(n, 4, () => []) } })),
  geofence('a time', (n) => ({ operatingHours: { Sun: [[repeated('1', n), '2']] } })),
  geofence('operatingHours as text', (n) => ({ operatingHours: repeated('{"a":', n) })),
  geofence('too many points', (n) => ({ type: 'polygon', coordinates: times(n, 6, () => [0, 0]) })),
  geofence(
    'a round ring',
    (n) => ({ type: 'polygon', coordinates: ring(n, (angle) => [Math.cos(angle), Math.sin(angle)]) }),
    58 * KIB,
  ),
  geofence(
    'a comb',
    (n) => ({ type: 'polygon', coordinates: ring(n, (angle, i) => [angle, i % 2 === 0 ? 10 : 0]) }),
    58 * KIB,
  ),
  flatRing('numbers', (n) => repeated('&coordinates=1', n)),
  flatRing('empty', (n) => repeated('&coordinates=', n)),
  flatRing('lists', (n) => repeated('&coordinates=[1,1]', n)),
  flatRing('open lists', (n) => repeated('&coordinates=[', n)),
  flatRing('a number of digits', (n) => `&coordinates=1&coordinates=${repeated('1', n)}`),
  flatRing('texts', (n) => repeated(`&coordinates=${'1'.repeat(500)}x`, n)),
  flatRing('a zigzag', (n) => numbered((i) => `&coordinates=${i / 100}&coordinates=${10 * (i % 2)}`, n)),
  geofence('numbers for a ring', (n) => ({ type: 'polygon', coordinates: times(n, 2, () => 1) })),
  geofence('rings', (n) => ({ type: 'polygon', coordinates: times(n, 10, () => [[0, 0]]) })),
  geofence('coordinates in lists', (n) => ({ coordinates: repeated('[', n) })),
  geofence('a boolean', (n) => ({ enabled: repeated(' ', n) })),
  geofence('a description', (n) => ({ description: repeated('a', n) })),

  csv('a header that is one name', (n) => repeated('a', n)),
  csv(
    'a name that stands twice',
    (n) => `metadata.${repeated('a', n / 2)},metadata.${repeated('a', n / 2)}\n`,
  ),
  csv('a header of many names', (n) => `${numbered((i) => `metadata.k${i}`, n, ',')}\n`),
  csv('a header of days', (n) => `${numbered((i) => `operatingHours.${i}`, n, ',')}\n`),
  csv('quotes', (n) => `"${repeated('""', n)}"\n`),
  csv('a quote that is not closed', (n) => `"${repeated('a', n)}`),
  csv('quotes within a cell', (n) => repeated('a"', n)),
  csv('commas', (n) => CSV_HEAD + repeated(',', n)),
  csv('blank lines', (n) => repeated('\n', n)),
  csv('blanks', (n) => `${repeated(' ', n)}x`),
  csv('blanks within a cell', (n) => `${CSV_HEAD}a${repeated(' ', n)}a\n`),
  csv('carriage returns', (n) => repeated('\r', n)),
  csv('bad rows', (n) => CSV_HEAD + repeated('a,b,c,d,e\n', n)),
  csv('a thousand columns', (n) => thousandColumns(n)),
  cell('coordinates', 'lists in lists', (n) => repeated('[', n)),
  cell('ip', 'addresses', (n) => repeated('1.1.1.1,', n)),
  cell('userIds', 'users', (n) => numbered(String, n, ',')),
  cell('metadata', 'objects in objects', (n) => repeated('{"a":', n)),
  cell('metadata', 'keys', (n) => `{${numbered((i) => `"k${i}":1`, n, ',')}}`),
  cell('operatingHours', 'days', (n) => `{${numbered((i) => `"d${i}":[]`, n, ',')}}`),

  frame('lists in lists', (n) => `{"type":"track","id":1,"updates":${repeated('[', n)}`),
  frame('updates', (n) => `{"type":"track","id":1,"updates":[${repeated('{},', n)}{}]}`),
  frame(
    '1000 bad updates',
    (n) => `{"type":"track","id":1,"updates":[${repeated('{"longitude":1},', n)}{}]}`,
    'json',
    15 * KIB,
  ),
  frame('types', (n) => JSON.stringify({ type: repeated('a', n) })),
  frame('items of a filter', (n) => subscribe({ types: times(n, 4, () => 'a') })),
  frame('1000 items of a filter', (n) => subscribe({ types: times(n, 7, String) }), 'json', 7000),
  frame('names in a filter', (n) => subscribe({ [repeated('a', n)]: [] })),
  frame('rings', (n) => watch(times(n, 3, () => []))),
  frame('points', (n) => watch([times(n, 6, () => [0, 0])])),
  frame('lists in lists', (n) => Buffer.alloc(n, 0x91), 'msgpack'),
  frame('maps in maps', (n) => Buffer.from('81a161'.repeat(n / 3), 'hex'), 'msgpack'),
  frame(
    'a list',
    (n) => Buffer.concat([Buffer.from('81a161dd', 'hex'), uint32(n), Buffer.alloc(n, 1)]),
    'msgpack',
  ),
  frame('keys', (n) => msgpackKeys(Math.floor(n / 6)), 'msgpack'),
  frame('groups in groups', (n) => Buffer.alloc(n, 0x0b), 'protobuf'),
  frame('updates', (n) => protobufTrack(Buffer.from('1200'.repeat(n / 2), 'hex')), 'protobuf'),
  frame('numbers that do not end', (n) => Buffer.alloc(n, 0xff), 'protobuf'),
]

function subscribe(filter: Record<string, unknown>): string {
  return JSON.stringify({ type: 'subscribe', id: 'a', filter })
}

function watch(coordinates: unknown): string {
  return JSON.stringify({ type: 'watch', id: 'a', area: { type: 'polygon', coordinates } })
}

/** A closed ring with a point for every 30 characters. */
function ring(n: number, point: (angle: number, i: number) => number[]): number[][] {
  const points = times(n - 30, 30, (i) => point((i * 2 * Math.PI * 30) / n, i))
  return [...points, points[0]!]
}

/** Rows of a thousand cells, none of which is valid. */
function thousandColumns(n: number): string {
  const columns = times(990, 1, (i) => `metadata.k${i}`).join(',')
  const cells = ',x'.repeat(990)
  return `${CSV_HEAD.trim()},${columns}\n${repeated(`x,circle,hostile,1,"[0,0]"${cells}\n`, n)}`
}

/** A map of `count` keys of four characters. */
function msgpackKeys(count: number): Buffer {
  const pairs = times(count, 1, (i) => `\u00a4${i.toString(36).padStart(4, '0')}\u0001`).join('')
  return Buffer.concat([Buffer.from('df', 'hex'), uint32(count), Buffer.from(pairs, 'latin1')])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A `track` message with these fields. */
function protobufTrack(fields: Buffer): Buffer {
  const length: number[] = []
  for (let left = fields.length; ; left >>>= 7) {
    length.push(left < 128 ? left : (left & 127) | 128)
    if (left < 128) break
  }
  return Buffer.concat([Buffer.from([0x0a, ...length]), fields])
}

/** Sends a header of any kind and length, which fetch does not. Resolves to the status of the answer. */
function raw(server: Server, method: string, path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = { authorization: testSecret, ...headers }
    const out = request(server.url + path, { method, headers: sent, agent: false }, (answer) => {
      answer.destroy()
      resolve(answer.statusCode!)
    })
    out.on('upgrade', ({ statusCode }, socket) => {
      socket.destroy()
      resolve(statusCode!)
    })
    out.on('error', reject)
    out.end()
  })
}
