/** A place database that is missing, damaged or replaced while users are in places. */
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { destination } from '../../src/geometry/distance.ts'
import { mapRegionsFolder } from '../../src/geo/extract/mapRegionFiles.ts'
import { startServer } from '../kit/server.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const server = await startServer(t, { sample: true })

async function good(method: string, path: string, body?: unknown): Promise<Json> {
  const answer = await server.api(method, path, body)
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

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
