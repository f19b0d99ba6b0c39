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
  t.match(await state(), /^(?:none|santa-cruz); sample: building/)

  // If the first start is killed in the middle, the next start makes the sample. What the first one left does not
  // prevent that.
  await until(() => existsSync(join(folder, 'sample.osm.pbf')))
  await server.kill9()
  t.match(readManifest(folder).regions, [{ name: 'santa-cruz' }])
  await server.restart()
  const seen = new Set<string>()
  await until(async () => {
    const detail = await state()
    seen.add(detail.replace(/\d+ %/, ''))
    // Until every product of every sample is in service.
    if (detail !== 'montevideo, santa-cruz') t.match(detail, /; sample: building/)
    const body = { deviceId: 'car', latitude: -34.9, longitude: -56.16, accuracy: 5 }
    const tracked = await server.api('POST', '/v1/track', body, KEYS.testPublishable)
    t.equal(tracked.status, 200)
    await sleep(100)
    return detail === 'montevideo, santa-cruz'
  })
  t.ok(
    [...seen].some((detail) => detail.startsWith('santa-cruz; sample: building routing tiles')),
    [...seen].join(', '),
  )

  const { regions, sampleImported } = readManifest(folder)
  t.equal(sampleImported, true)
  t.strictSame(
    readdirSync(folder).sort(),
    ['lock', ...regions.map((one) => one.folder), 'regions.json'].sort(),
  )
  const build = join(folder, regions[0]!.folder)
  t.match(readRecord(build), {
    name: 'montevideo',
    attribution: '© OpenStreetMap contributors',
    licence: /^ODbL 1\.0/,
    roads: 13_592,
    sources: [{ dataOf: /^2017-12-/ }],
  })
  t.ok(readCoverage(build).nodesAt(-56.16, -34.9) > 100)
  t.match(
    (await region('list', '--data', server.data)).output,
    /^montevideo: 13,592 roads, (?:.|\n)+© OpenStreetMap contributors, ODbL 1\.0/,
  )

  // As a new user tries it: an address of each, and what is near.
  const ask = async (path: string, query: Record<string, string>) =>
    (
      await server.api(
        'GET',
        `${path}?${new URLSearchParams(query).toString()}`,
        undefined,
        KEYS.testPublishable,
      )
    ).body
  t.match(await ask('/v1/geocode/forward', { query: '18 de Julio 1056, Montevideo' }), {
    addresses: [{ confidence: 'exact', number: '1056' }],
  })
  const { addresses, meta } = await ask('/v1/geocode/forward', { query: '1414 Pacific Ave, Santa Cruz, CA' })
  t.match(addresses, [
    {
      confidence: 'interpolated',
      formattedAddress: '1414 Pacific Ave, Santa Cruz, CA 95060 USA',
      county: 'Santa Cruz County',
    },
  ])
  t.match(meta.attribution, /^U\.S\. Census Bureau, TIGER\/Line, /, 'only what the answer comes from')
  const coordinates = `${addresses[0].latitude},${addresses[0].longitude}`
  const nearby = (await ask('/v1/geocode/reverse', { coordinates, layers: 'address,street,postalCode' }))
    .addresses
  t.strictSame(
    nearby.map((one: { layer: string; addressLabel: string }) => [one.layer, one.addressLabel]),
    [
      ['address', '1414 Pacific Ave'],
      ['street', 'Pacific Ave'],
      ['postalCode', '95060'],
    ],
  )
  const parts = { city: 'Santa Cruz', stateCode: 'CA', postalCode: '95060', countryCode: 'US' }
  const { result, address } = await ask('/v1/addresses/validate', {
    addressLabel: '1414 Pacific Avenue',
    ...parts,
  })
  t.equal(result.verificationStatus, 'partially verified')
  t.equal(address.formattedAddress, '1414 PACIFIC AVE, SANTA CRUZ, CA 95060 US')
  t.match(await ask('/v1/search/autocomplete', { query: '1414 pacific', near: coordinates }), {
    addresses: [{ addressLabel: '1414 Pacific Ave' }],
  })

  for (const name of ['montevideo', 'santa-cruz'])
    t.match(await region('remove', name, '--data', server.data), { code: 0 })
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
