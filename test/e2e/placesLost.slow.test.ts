/** A place database that is missing, damaged or replaced while users are in places. */
import { cpSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t from 'tap'
import { destination } from '../../src/geometry/distance.ts'
import { mapRegionsFolder } from '../../src/geo/extract/mapRegionFiles.ts'
import { startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const server = await startServer(t, { sample: true })

const { good } = server

const types = ({ events }: Json): string[] => events.map(({ type }: Json) => type)

await good('PATCH', '/v1/settings', { places: true })
const near = '/v1/search/places?near=-34.9061,-56.1934&radius=10000&limit=1&categories=cafe'
const [cafe] = (await good('GET', near)).places
const [longitude, latitude] = cafe.location.coordinates
const track = (deviceId: string, meters: number): Promise<Json> =>
  good('POST', '/v1/track', {
    deviceId,
    ...destination(latitude, longitude, 90, meters),
    accuracy: 5,
    stopped: true,
  })

/** All place databases. */
const folder = mapRegionsFolder(server.data)
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('places.db'))
  .map((name) => join(folder, name))

/** What happens to a database while the server is down. */
const DAMAGES: Readonly<Record<string, (file: string) => void>> = {
  missing: (file) => rmSync(file),
  empty: (file) => writeFileSync(file, ''),
  'no database': (file) => writeFileSync(file, 'x'.repeat(100_000)),
}

/** The check of /readyz, which stays 200: tracking goes on. */
async function readiness(): Promise<string> {
  const { status, body } = await server.api('GET', '/readyz')
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.checks.find(({ name }: Json) => name === 'places').detail
}

t.test('a place database that is missing, damaged or back again', async (t) => {
  t.equal(files.length, 2, 'of both map regions')
  const first = await track('stays', 0)
  t.strictSame(types(first), ['user.entered_place'])
  const { place } = first.user
  await track('leaves', 0)
  for (const file of files) cpSync(file, `${file}.kept`)
  for (const [name, damage] of Object.entries(DAMAGES)) {
    await server.kill9()
    for (const file of files) damage(file)
    await server.restart()
    const close = await track('stays', 10)
    t.strictSame([types(close), close.user.place], [[], place], `${name}: the user stays in the place`)
    const far = await track('leaves', 3000)
    t.strictSame([types(far), far.user.place], [[], place], `${name}: it is not known what is there`)
    t.strictSame(types(await track(name, 0)), [], `${name}: nobody enters`)
    t.match(
      await readiness(),
      /warning: the place database of .* users keep their places and enter none/,
      name,
    )
    const { status } = await server.api('GET', `/v1/context?coordinates=${latitude},${longitude}`)
    t.equal(status, 503, `${name}: the context says so`)
    for (let i = 0; i < 2; i++) {
      const search = await server.api('GET', near)
      t.match(search, { status: 503, body: { meta: { code: 503 } } }, `${name}: so does the search`)
    }
  }
  await server.kill9()
  for (const file of files) cpSync(`${file}.kept`, file)
  await server.restart()
  t.strictSame(types(await track('stays', 10)), [], 'back: still in it')
  t.equal(types(await track('leaves', 3000))[0], 'user.exited_place')
  t.strictSame(types(await track('missing', 0)), ['user.entered_place'])
})

/** What happens to a database while the server runs, and what /readyz says of it. */
const RUNNING: Readonly<Record<string, readonly [damage: (file: string) => void, problem: RegExp]>> = {
  removed: [(file) => rmSync(file), /is missing/],
  'cut off': [(file) => truncateSync(file, 8192), /is cut off/],
  emptied: [(file) => writeFileSync(file, ''), /is empty/],
  overwritten: [(file) => writeFileSync(file, 'x'.repeat(100_000)), /is damaged/],
  'of another version': [(file) => patch(file, 60, Buffer.from([0, 0, 0, 1])), /is of another version/],
  'damaged inside': [
    (file) => patch(file, 4096, Buffer.alloc(readFileSync(file).length - 4096, 0x5a)),
    /cannot be read/,
  ],
}

function patch(file: string, at: number, bytes: Buffer): void {
  const content = readFileSync(file)
  bytes.copy(content, at)
  writeFileSync(file, content)
}

t.test('a place database that is damaged while the server runs', async (t) => {
  for (const [name, [damage, problem]] of Object.entries(RUNNING)) {
    t.strictSame(types(await track(`in ${name}`, 0)), ['user.entered_place'])
    await track(`leaves ${name}`, 0)
    for (const file of files) damage(file)
    // Until the server has noticed.
    let asked = 0
    await until(async () => {
      const { status } = await server.api('GET', `/v1/context?coordinates=${latitude},${longitude}`)
      asked++
      return status === 503
    })
    await until(async () => problem.test(await readiness()))
    t.match(await readiness(), /users keep their places and enter none/, name)
    const close = await track(`in ${name}`, 10)
    t.strictSame([types(close), close.user.place._id], [[], cafe._id], `${name}: the user stays`)
    const far = await track(`leaves ${name}`, 3000)
    t.strictSame([types(far), far.user.place._id], [[], cafe._id], `${name}: it is not known what is there`)
    t.strictSame(types(await track(`new ${name}`, 0)), [], `${name}: nobody enters`)
    // Geocoding looks at its files once a second.
    await until(async () => (await server.api('GET', near)).status === 503)
    for (const file of files) cpSync(`${file}.kept`, file)
    await until(async () => !(await readiness()).includes('warning'))
    await until(async () => types(await track(`after ${name} ${asked++}`, 0)).length > 0)
    t.strictSame(types(await track(`in ${name}`, 12)), [], `${name}: back, and still in it`)
    t.equal(types(await track(`leaves ${name}`, 3000))[0], 'user.exited_place', name)
    await until(async () => (await server.api('GET', near)).status === 200)
  }
})

/** Puts another database in the place of the café's, as an import does: a new file with the same name. */
function replaced(change: (database: Database.Database) => void): void {
  for (const file of files) {
    cpSync(`${file}.kept`, `${file}.new`)
    const database = new Database(`${file}.new`)
    change(database)
    database.close()
    renameSync(`${file}.new`, file)
  }
}

const UNITS = 1e7
const explained = async (deviceId: string): Promise<Json> =>
  (await good('GET', `/v1/users/${deviceId}/explain`)).explanation.place

t.test('a place database that is replaced while users are in the place', async (t) => {
  const inside = async (...deviceIds: string[]) => {
    for (const deviceId of deviceIds)
      t.strictSame(types(await track(deviceId, 0)), ['user.entered_place'], deviceId)
  }
  await inside('same', 'removed', 'gone away')
  const { place } = (await good('GET', '/v1/users/same')).user

  replaced(() => {})
  // The server looks at its files once a second.
  for (let i = 0; i < 25; i++) {
    const { user, events } = await track('same', i % 2)
    t.strictSame([events, user.place], [[], place], 'the same places: nothing happens')
    await sleep(100)
  }

  replaced((database) => database.prepare('DELETE FROM place WHERE key = ?').run(cafe._id))
  await until(async () => (await track('removed', 1)).user.place?._id !== cafe._id)
  t.notHas((await good('GET', '/v1/users/removed')).user, 'place', 'gone')
  t.strictSame(
    (await good('GET', '/v1/events?deviceId=removed&type=user.exited_place')).events,
    [],
    'silently',
  )
  const reason = /no longer in the data: it is left without an event/
  t.match(await explained('removed'), { was: { _id: cafe._id }, events: [], reason })
  t.match(
    await track('gone away', 5000),
    { events: [], user: { deviceId: 'gone away' } },
    'also for a user who is far away at the next update',
  )
  const [other] = (await track('comes', 0)).events
  t.not(other?.place._id, cafe._id, 'nobody enters it')

  replaced(() => {})
  let tries = 0
  await until(async () => (await track(`back ${tries++}`, 0)).user.place?._id === cafe._id)
  await inside('moved')
  const [x, y] = [longitude * UNITS, latitude * UNITS].map(Math.round) as [number, number]
  const north = Math.round((400 / 111_000) * UNITS)
  replaced((database) => {
    const id = database.prepare('SELECT id FROM place WHERE key = ?').pluck().get(cafe._id)
    if (id === undefined) return
    database
      .prepare('UPDATE place SET x = ?, y = ?, rings = NULL, size = 0 WHERE id = ?')
      .run(x, y + north, id)
    database
      .prepare('UPDATE ground_box SET south = ?, north = ? WHERE id = ?')
      .run(y + north - 3000, y + north + 3000, id)
  })
  let left: Json
  await until(async () => types((left = await track('moved', 2))).includes('user.exited_place'))
  t.match(left.events[0], { place: { _id: cafe._id } }, 'it has moved away from the user')
})
