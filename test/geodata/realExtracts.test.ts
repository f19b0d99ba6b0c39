/** Real extracts, if ../shared/data has them: import, and routes over HTTP. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { region } from './kit.ts'

const DATA = join(import.meta.dirname, '../../../shared/data')

interface Case {
  readonly title: string
  readonly file: string
  /** Latitude, longitude. */
  readonly from: string
  readonly to: string
  /** Metres by road. */
  readonly atLeast: number
  readonly atMost: number
}

const CASES: readonly Case[] = [
  {
    title: 'Liechtenstein is imported, and a route leads from Vaduz to Schaan',
    file: 'liechtenstein.osm.pbf',
    // 2.8 km in a straight line.
    from: '47.141,9.521',
    to: '47.165,9.509',
    atLeast: 2800,
    atMost: 4500,
  },
  {
    title: 'a part of Queens is imported, and a route leads through it',
    file: 'queens-village.osm.pbf',
    from: '40.71,-73.74',
    to: '40.72,-73.75',
    atLeast: 1390,
    atMost: 3000,
  },
]

/** One of them in the quick suite, by RINGFENCE_SEED; both where more is drawn. */
const DRAWN =
  process.env['RINGFENCE_TEST_RUNS'] === undefined
    ? [CASES[Number(process.env['RINGFENCE_SEED'] ?? Date.now()) % CASES.length]!]
    : CASES

for (const { title, file, from, to, atLeast, atMost } of DRAWN) {
  const path = join(DATA, file)
  const skip = existsSync(path) ? false : `../shared/data/${file} is not there`
  t.test(title, { skip }, async (t) => {
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
