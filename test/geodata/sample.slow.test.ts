import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  readCoverage,
  readManifest,
  readRecord,
  mapRegionsFolder,
} from '../../src/geo/extract/mapRegionFiles.ts'
import { until } from '../kit/waiting.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { region } from './kit.ts'

t.test('the sample city is made automatically, once, while devices are tracked', async (t) => {
  // A relative path like the default ./data, because the tools that make the sample run in other folders.
  const data = relative('.', mkdtempSync(join(tmpdir(), 'ringfence-sample-')))
  t.teardown(() => rmSync(data, { recursive: true, force: true }))
  const server = await startServer(t, { env: { RINGFENCE_SAMPLE_REGION: 'on' }, data })
  const folder = mapRegionsFolder(server.data)
  const state = async (): Promise<string> => {
    const { body, status } = await server.api('GET', '/readyz')
    t.equal(status, 200, 'ready without it')
    return body.checks.find(({ name }: { name: string }) => name === 'regions').detail
  }
  t.match(await state(), /^none; sample: (?:waiting|unpacking|reading|building)/)

  // If the first start is killed in the middle, the next start makes the sample. What the first one left does not
  // prevent that.
  await until(() => existsSync(join(folder, 'sample.osm.pbf')))
  await server.kill9()
  t.strictSame(readManifest(folder).regions, [])
  await server.restart()
  const seen = new Set<string>()
  await until(async () => {
    const detail = await state()
    seen.add(detail.replace(/\d+ %/, ''))
    const body = { deviceId: 'car', latitude: -34.9, longitude: -56.16, accuracy: 5 }
    const tracked = await server.api('POST', '/v1/track', body, KEYS.testPublishable)
    t.equal(tracked.status, 200)
    await sleep(100)
    return detail === 'montevideo'
  })
  t.ok(
    [...seen].some((detail) => detail.startsWith('none; sample: building routing tiles')),
    [...seen].join(', '),
  )

  const { regions, sampleImported } = readManifest(folder)
  t.equal(sampleImported, true)
  t.strictSame(readdirSync(folder).sort(), ['lock', regions[0]!.folder, 'regions.json'].sort())
  const build = join(folder, regions[0]!.folder)
  t.match(readRecord(build), {
    name: 'montevideo',
    attribution: '© OpenStreetMap contributors',
    licence: /^ODbL 1\.0/,
    roads: 13_592,
    source: { dataOf: /^2017-12-/ },
  })
  t.ok(readCoverage(build).nodesAt(-56.16, -34.9) > 100)
  t.match(
    (await region('list', '--data', server.data)).output,
    /^montevideo: 13,592 roads, (?:.|\n)+© OpenStreetMap contributors, ODbL 1\.0/,
  )

  t.match(await region('remove', 'montevideo', '--data', server.data), { code: 0 })
  await until(async () => (await state()) === 'none')
  await server.stop()
  await server.restart()
  t.equal(await state(), 'none', 'who removed it does not want it')
  t.strictSame(readManifest(folder).regions, [])
})

t.test('the sample city is not made if a remote server answers routing requests', async (t) => {
  const env = { RINGFENCE_SAMPLE_REGION: 'on', RINGFENCE_ROUTING_URL: 'http://127.0.0.1:1' }
  const server = await startServer(t, { env })
  const { body } = await server.api('GET', '/readyz')
  t.match(body.checks, [{}, {}, { name: 'regions', detail: 'none' }])
  t.notOk(existsSync(mapRegionsFolder(server.data)))
})
