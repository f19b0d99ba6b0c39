/** Real extracts, if ../shared/data has them: import, and routes over HTTP. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { region } from './kit.ts'

const DATA = join(import.meta.dirname, '../../../shared/data')

interface Case {
  readonly file: string
  /** Latitude, longitude. */
  readonly from: string
  readonly to: string
  /** Metres by road. */
  readonly atLeast: number
  readonly atMost: number
}

const CASES: readonly Case[] = [
  // Vaduz to Schaan, 2.8 km in a straight line.
  { file: 'liechtenstein.osm.pbf', from: '47.141,9.521', to: '47.165,9.509', atLeast: 2800, atMost: 4500 },
  { file: 'queens-village.osm.pbf', from: '40.71,-73.74', to: '40.72,-73.75', atLeast: 1390, atMost: 3000 },
]

/** One of them in the quick suite, by RINGFENCE_SEED; both where more is drawn. */
const DRAWN =
  process.env['RINGFENCE_TEST_RUNS'] === undefined
    ? [CASES[Number(process.env['RINGFENCE_SEED'] ?? Date.now()) % CASES.length]!]
    : CASES

for (const { file, from, to, atLeast, atMost } of DRAWN) {
  const path = join(DATA, file)
  const skip = existsSync(path) ? false : `../shared/data/${file} is not there`
  t.test(`${file} becomes a region, and a route leads through it`, { skip }, async (t) => {
    const server = await startServer(t)
    const { code, output } = await region('import', path, '--data', server.data)
    t.equal(code, 0, output)
    t.notMatch(output, /time zone/, 'nothing was left out')
    await until(async () => {
      const { body } = await server.api('GET', '/readyz')
      return body.checks.find(({ name }: { name: string }) => name === 'regions').detail !== 'none'
    })
    const query = `origin=${from}&destination=${to}&modes=car,foot&units=metric`
    const { status, body } = await server.api('GET', `/v1/route/distance?${query}`)
    t.equal(status, 200, JSON.stringify(body))
    for (const mode of ['car', 'foot']) {
      const metres = body.routes[mode].distance.value
      t.ok(metres >= atLeast && metres <= atMost, `${mode}: ${metres} m`)
    }
  })
}
