/** The demo as a user runs it: a process, its flags, what it prints, what it leaves behind. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseGpx } from '../../demo/gpx.ts'
import { Driver, seededRandom } from '../../src/simulation/streets.ts'
import { KEYS, startServer } from '../kit/server.ts'

const ROOT = join(import.meta.dirname, '..', '..')
/** A server that is busy answers late, and is used nevertheless. */
const SLOW_MS = 5000
const SHARED_DATA = join(ROOT, '..', 'shared', 'data')

/** @param interruptAt the output after which Ctrl-C is sent */
function demo(
  args: string[],
  env: Record<string, string> = {},
  interruptAt?: RegExp,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['demo/run.ts', ...args], {
    cwd: ROOT,
    env: { ...process.env, RINGFENCE_KEYS: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let interrupted = false
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (!interrupted && interruptAt?.test(output)) interrupted = child.kill('SIGINT')
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

/** Rows of the printed table: the lines between the rule and the next empty line, split at two blanks. */
function tableRows(output: string): string[][] {
  const lines = output.split('\n')
  const rule = lines.findIndex((line) => line.startsWith('──'))
  const end = lines.indexOf('', rule)
  return lines.slice(rule + 1, end).map((line) => line.trim().split(/ {2,}/))
}

/** A walk along the equator, one point every 10 s and 11.1 m, from 111 m west of longitude 0 to 333 m east of it. */
function walk(extension = ''): string {
  let points = ''
  for (let i = 0; i <= 40; i++) {
    const time = new Date(Date.UTC(2026, 2, 1, 8) + i * 10_000).toISOString()
    points += `<trkpt lat="0" lon="${(-0.001 + i * 0.0001).toFixed(6)}"><time>${time}</time>${extension}</trkpt>\n`
  }
  return `<?xml version="1.0"?>\n<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>\n${points}</trkseg></trk></gpx>`
}

const STOPS = `description,type,tag,externalId,coordinates,radius,metadata.line
"First, at zero",circle,walk,a,"[0,0]",30,7
Far away,circle,walk,b,"[10,10]",30,7
Last,polygon,walk,c,"[[0.0025,-0.0005],[0.0040,-0.0005],[0.0040,0.0005],[0.0025,0.0005],[0.0025,-0.0005]]",,7
`

const server = await startServer(t, { env: { RINGFENCE_RATE_LIMITS: 'on' } })

t.test('a trace is replayed with its own times', async (t) => {
  const folder = t.testdir({ 'walk.gpx': walk(), 'stops.csv': STOPS })
  const args = ['--gpx', join(folder, 'walk.gpx'), '--geofences', join(folder, 'stops.csv')]
  // Points 8 (−22 m) to 12 are within 30 m of longitude 0; the first one outside again is 13. The polygon begins at
  // point 35.
  const expected = [
    ['First, at zero', '2026-03-01 08:01:20', '0.83', '2026-03-01 08:02:10'],
    ['Last', '2026-03-01 08:05:50', 'still inside'],
  ]
  for (const run of ['first', 'second']) {
    const { code, output } = await demo([...args, '--url', server.url, '--key', KEYS.testSecret])
    t.equal(code, 0, `${run} run ends well`)
    t.match(output, /stop +entered +minutes inside +exited/)
    t.same(tableRows(output), expected, `${run} run: table`)
    t.match(output, /2 entries, 1 exits from 41 points \(7 minutes/)
    t.notMatch(output, '\x1b', 'no colours where there is no terminal')
  }
  const { body } = await server.api('GET', '/v1/geofences?tag=walk')
  t.equal(body.geofences.length, 3, 'the geofences of the file stay')
  t.equal(body.geofences.find((g: { externalId: string }) => g.externalId === 'a').metadata.line, '7')
})

async function demoUsers(): Promise<string[]> {
  const { body } = await server.api('GET', '/v1/users?limit=1000')
  const ids = body.users.map((user: { deviceId: string }) => user.deviceId)
  return ids.filter((id: string) => id.startsWith('demo-'))
}

t.test('the city drives through its own geofences and removes them', async (t) => {
  const keys = Object.values(KEYS).join(',')
  const args = ['--url', server.url, '--devices', '200', '--seconds', '2']
  const { code, output } = await demo(args, { RINGFENCE_KEYS: keys })
  t.equal(code, 0)
  t.match(output, /60 geofences with the tag demo, 200 devices/)
  t.match(output, /\d+ updates\/s +[\d.]+ events\/s +latency p50 [\d.]+ ms, p99 [\d.]+ ms/)
  t.match(output, /entered geofence +demo-\S+ +\S.* confidence [123]/)
  const summary = /(\d+) updates and (\d+) events in [\d.]+ s$/m.exec(output)
  t.ok(Number(summary?.[1]) >= 200, 'each device has sent, and none was refused')
  t.equal(
    Number(summary?.[2]),
    output.match(/(entered|exited) geofence/g)?.length,
    'events are counted as printed',
  )
  t.same((await server.api('GET', '/v1/geofences?tag=demo')).body.geofences, [])
  t.same(await demoUsers(), [])

  const kept = await demo([...args.with(3, '3'), '--keep', '--key', KEYS.testSecret])
  t.equal(kept.code, 0)
  t.equal((await server.api('GET', '/v1/geofences?tag=demo')).body.geofences.length, 60, '--keep keeps')
  t.equal((await demoUsers()).length, 3)
})

t.test('if no server answers, it starts its own until Ctrl-C', async (t) => {
  const args = ['--url', 'http://127.0.0.1:9', '--devices', '20']
  const { code, output } = await demo(args, {}, /updates\/s/)
  t.equal(code, 0, output)
  t.match(output, /No server responds at http:\/\/127\.0\.0\.1:9: starting one for this demo/)
  t.match(output, /\d+ updates and \d+ events/)
  const data = /its data is in (.+)\. Both are removed/.exec(output)?.[1]
  t.notOk(data === undefined || existsSync(data), 'its data folder is gone')
})

/** The URL of a server that answers in its own way. */
async function openServer(t: Test, listener: RequestListener): Promise<string> {
  const other = createServer(listener)
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => {
    other.closeAllConnections()
    other.close()
  })
  return `http://127.0.0.1:${(other.address() as AddressInfo).port}`
}

t.test('errors say what the user must change', async (t) => {
  const slow = await openServer(t, (_request, response) => void setTimeout(() => response.end(), SLOW_MS))
  const silent = await openServer(t, () => {})
  const folder = t.testdir({
    'walk.gpx': walk(),
    'wide.csv': STOPS.replace(',30,', ',wide,'),
    'no-time.gpx': '<gpx><trk><trkseg><trkpt lat="1" lon="1"/></trkseg></trk></gpx>',
  })
  const gpx = join(folder, 'no-time.gpx')
  const toServer = ['--url', server.url, '--key', KEYS.testSecret]
  const cases: [string[], RegExp][] = [
    [['--url', server.url], /needs a key.*--key prj_test_sk_.*RINGFENCE_KEYS/],
    [['--url', slow], /needs a key/],
    [
      ['--url', 'http://127.0.0.1:9', '--key', 'banana'],
      /No server responds at http:\/\/127\.0\.0\.1:9, and a key was/,
    ],
    [['--url', silent], /The server at http:\/\/127\.0\.0\.1:\d+ has not answered for 30 s\./],
    [['--url', server.url, '--key', KEYS.liveSecret], /a secret test key begins with prj_test_sk_/],
    [['--url', server.url, '--key', 'prj_test_sk_x'], /answered 401: .*Invalid API key/],
    [
      ['--gpx', 'nofile', '--geofences', gpx, '--url', server.url, '--key', KEYS.testSecret],
      /nofile cannot be read: there is no such file or folder\./,
    ],
    [
      ['--gpx', join(folder, 'walk.gpx'), '--geofences', join(folder, 'wide.csv'), ...toServer],
      /wide\.csv, line 2: radius: Invalid radius/,
    ],
    [
      ['--gpx', join(folder, 'walk.gpx'), '--geofences', join(folder, 'walk.gpx'), ...toServer],
      /answered 400: .*header: There is a quote inside/,
    ],
    [['--url', 'nowhere'], /--url nowhere: not a URL/],
    [['--gpx', gpx], /--gpx and --geofences must be given together/],
    [['--devices', '0'], /--devices: a whole number above 0/],
    [['--seconds', 'soon'], /--seconds: a number above 0/],
    [['--fast'], /Unknown option '--fast'/],
    [
      ['--gpx', gpx, '--geofences', gpx, '--url', server.url, '--key', KEYS.testSecret],
      /no-time\.gpx: Track point 1 has no time/,
    ],
  ]
  const runs = await Promise.all(cases.map(([args]) => demo(args)))
  for (const [i, { code, output }] of runs.entries()) {
    t.equal(code, 1, cases[i]![0].join(' '))
    t.match(output, cases[i]![1])
  }
  const help = await demo(['--help'])
  t.equal(help.code, 0)
  t.match(help.output, /--gpx FILE/)
})

const BUS_GPX = join(SHARED_DATA, 'bus-304.gpx')
const noBus = existsSync(BUS_GPX) ? false : '../shared/data/bus-304.gpx is not there'
t.test('the real bus journey', { skip: noBus }, async (t) => {
  const stops = join(SHARED_DATA, 'bus-304-stops.csv')
  const { code, output } = await demo([
    '--gpx',
    BUS_GPX,
    '--geofences',
    stops,
    '--url',
    server.url,
    '--key',
    KEYS.testSecret,
  ])
  t.equal(code, 0)
  t.match(output, /36 entries, 35 exits from 2144 points/)
  const rows = tableRows(output)
  t.equal(new Set(rows.map(([stop]) => stop)).size, 36, 'each stop once')
  const entered = rows.map((row) => row[1]!)
  t.same(entered, entered.toSorted(), 'in their order')
})

t.test('GPX', async (t) => {
  const [first, ...others] = parseGpx(
    walk('<extensions><x:accuracy xmlns:x="urn:x">4.5</x:accuracy></extensions>'),
  )
  t.same(first, { latitude: 0, longitude: -0.001, time: Date.UTC(2026, 2, 1, 8), accuracy: 4.5 })
  t.equal(others.length, 40)
  t.equal(parseGpx(walk())[0]?.accuracy, 10, 'accuracy where the file has none')
  const swapped = walk().replace('08:00:00.000Z', '09:00:00.000Z')
  t.equal(parseGpx(swapped).at(-1)?.longitude, -0.001, 'in the order of times')
  t.throws(() => parseGpx('<gpx></gpx>'), /no track points/)
  t.throws(() => parseGpx('<gpx><trk>'), /unclosed tag/)
  t.throws(() => parseGpx(walk().replace('lat="0"', '')), /Track point 1 has no coordinates/)
})

t.test('drivers keep to the streets of their city', async (t) => {
  const city = { latitude: 52, longitude: 13, sizeMeters: 3000, blockMeters: 100 }
  const random = seededRandom(7)
  const onStreet = (meters: number) => Math.abs(meters / 100 - Math.round(meters / 100)) < 1e-6
  let farthest = 0
  let turns = 0
  for (let i = 0; i < 50; i++) {
    const driver = new Driver(city, random)
    for (let step = 0; step < 400; step++) {
      const before = { east: driver.east, north: driver.north }
      driver.advance(2)
      const moved = Math.abs(driver.east - before.east) + Math.abs(driver.north - before.north)
      farthest = Math.max(farthest, moved)
      if (driver.east !== before.east && driver.north !== before.north) turns++
      const inside = [driver.east, driver.north].every(
        (meters) => meters > -1 && meters < city.sizeMeters + 1,
      )
      const good =
        inside &&
        (onStreet(driver.east) || onStreet(driver.north)) &&
        driver.accuracy >= 5 &&
        driver.accuracy <= 30
      if (!good) t.fail('a driver left the streets', { driver, step })
    }
  }
  t.ok(farthest > 20 && farthest <= 30 + 1e-6, 'up to 15 m/s')
  t.ok(turns > 50, 'they turn')
})
