/** A map region that an earlier version imported, without a place database or with an older one. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startServer } from '../kit/server.ts'

for (const [what, change] of [
  ['no place database', (stages: Record<string, unknown>) => delete stages['places']],
  [
    'an older one',
    (stages: Record<string, { engine: string }>) => (stages['places']!.engine = 'place database 0'),
  ],
] as const) {
  t.test(`${what}: routes as before, /readyz says what to do, and reverse knows the city`, async (t) => {
    const server = await startServer(t, { sample: true })
    const reverse = '/v1/geocode/reverse?coordinates=-34.9053,-56.1914'
    const layersOf = async (): Promise<string[]> =>
      (await server.api('GET', reverse)).body.addresses.map(({ layer }: { layer: string }) => layer)
    t.ok((await layersOf()).includes('address'))
    t.ok(readdirSync(join(server.data, 'world')).some((name) => /^world-.*\.db$/.test(name)))
    await server.stop()
    const regions = join(server.data, 'regions')
    const build = join(
      regions,
      readdirSync(regions).find((name) => name.startsWith('montevideo-'))!,
    )
    const file = join(build, 'region.json')
    const record = JSON.parse(readFileSync(file, 'utf8'))
    change(record.stages)
    writeFileSync(file, JSON.stringify(record))
    rmSync(join(build, 'places'), { recursive: true })
    await server.restart()
    t.strictSame(await layersOf(), ['locality', 'county', 'state', 'country'])
    const { body } = await server.api('GET', '/readyz')
    t.equal(
      body.checks.find(({ name }: { name: string }) => name === 'regions').detail,
      'montevideo (without geocoding: npm run region -- update montevideo), santa-cruz',
    )
    const route = '/v1/route/distance?origin=-34.9059,-56.1913&destination=-34.9121,-56.1637&modes=car'
    t.equal((await server.api('GET', route)).status, 200)
  })
}
