/** Place databases of invented and real extracts, and the geocoding endpoints above them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { readExtract } from '../../src/geo/extract/extractReader.ts'
import { placesIn } from '../../src/geo/extract/mapRegionFiles.ts'
import { writeOsmPbf, type OsmExtract } from '../../src/geo/extract/osmPbfWriter.ts'
import { buildProducts } from '../../src/geo/extract/products.ts'
import type { MapRegion, MapRegions } from '../../src/geo/extract/port.ts'
import { GeocoderPool } from '../../src/geo/geocoding/geocoderPool.ts'
import { geocodingRoutes } from '../../src/geo/geocoding/geocodingRoutes.ts'
import { placeRoutes } from '../../src/geo/geocoding/placeRoutes.ts'
import { validationRoutes } from '../../src/geo/geocoding/validationRoutes.ts'
import { buildWorld } from '../../src/geo/world/worldBuilder.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/model/settings.ts'
import { openApiDocument } from '../../src/http/openapi.ts'
import { createServer } from '../../src/http/server.ts'
import { systemClock as clock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { ApiContract } from '../kit/apiContract.ts'
import { WORLD } from '../kit/world.ts'

/** A map region with places and without routing tiles. */
export async function buildRegion(t: Test, name: string, extract: string | OsmExtract): Promise<MapRegion> {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-geocoding-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = typeof extract === 'string' ? extract : join(folder, 'any.osm.pbf')
  if (typeof extract !== 'string') writeOsmPbf(path, extract)
  const { members, bounds } = await readExtract(path, () => {})
  const signal = new AbortController().signal
  await buildProducts({
    extract: path,
    members,
    folders: { places: folder },
    signal,
    onProgress() {},
    onNote() {},
  })
  return {
    id: `${name}-00000000`,
    name,
    bounds,
    attribution: `© ${name}`,
    tiles: '/',
    places: placesIn(folder),
    map: undefined,
  }
}

export interface Served {
  /** The map regions in service; may be changed. */
  regions: readonly MapRegion[]
  /** Of the environment that asks; may be changed. */
  settings: Settings
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  get(
    path: string,
    query: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ status: number; body: any; headers: Headers }>
}

/** The only requester whose place is known. */
export const NEAR_REQUESTER = { ip: '24.50.200.1', position: [-66.1, 18.46] as const }

/** The geocoding endpoints over HTTP. */
export async function serveGeocoding(t: Test, regions: readonly MapRegion[]): Promise<Served> {
  const logger = createLogger('fatal')
  const served: Served = { regions, settings: DEFAULT_SETTINGS, get }
  const source = {
    get all() {
      return served.regions
    },
  } as MapRegions
  const geocoder = openGeocoder(t, source)
  const routes = [
    ...validationRoutes(geocoder),
    ...placeRoutes(geocoder, () => served.settings),
    ...geocodingRoutes(geocoder, async (ip) =>
      ip === NEAR_REQUESTER.ip ? NEAR_REQUESTER.position : undefined,
    ),
  ]
  const contract = new ApiContract(JSON.stringify(openApiDocument(routes, 'test')))
  const server = createServer({
    routes,
    authenticate: () => ({ scope: 1, level: 'publishable', keyId: 'test' }),
    trustedProxies: ['127.0.0.1'],
    clock,
    logger,
  })
  const base = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
  t.teardown(() => server.close())
  async function get(
    path: string,
    query: Readonly<Record<string, string>>,
    more: Readonly<Record<string, string>> = {},
  ) {
    const answer = await fetch(`${base}${path}?${new URLSearchParams(query).toString()}`, {
      headers: { authorization: 'key', ...more },
    })
    const text = await answer.text()
    const body = text === '' ? '' : JSON.parse(text)
    const result = { status: answer.status, body, headers: answer.headers }
    // Not in the document: whoever asks by version knows it.
    if (answer.status !== 304) contract.check('GET', path, result)
    return result
  }
  return served
}

/** Ends with the test. */
export function openGeocoder(t: Test, regions: Pick<MapRegions, 'all'>): GeocoderPool {
  const geocoder = new GeocoderPool(regions as MapRegions, async () => worldFile(), createLogger('fatal'))
  t.teardown(() => geocoder.stop())
  return geocoder
}

/** The file of the world database, which is made once and kept. */
export function worldFile(): string {
  return buildWorld(WORLD)
}
