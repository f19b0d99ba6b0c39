/**
 * Our styles in a real browser, as apps show them: the map plugin of the Radar web SDK with only its host changed, and
 * MapLibre of the oldest and the newest version that must show them. What is drawn is compared by its colours: land, sea
 * and roads are there in the right shares, whatever the browser does with edges.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { STYLES } from '../../src/geo/maps/palettes.ts'
import { buildWorld } from '../../src/geo/world/worldBuilder.ts'
import { packageFolder } from '../../src/runtime/packageFolder.ts'
import { drivePage, skipWithoutChromium, WEBGL_FLAGS, type DrivenPage } from '../kit/chromium.ts'
import { KEYS, startServer, type Server } from '../kit/server.ts'
import { WORLD } from '../kit/world.ts'

const CITY = [-56.19, -34.9] as const
const [WIDTH, HEIGHT] = [700, 500]
/** How many pixels around a place are looked at, because a name or a border may lie over it. */
const COVERED = 6

/** The libraries of the pages. */
const LIBRARIES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ['radar.js', 'radar-sdk-js', 'dist/radar.js'],
    ['plugin.js', '@radarlabs/plugin-maps', 'cdn/radar-maps.min.js'],
    ['maplibre-gl.mjs', 'maplibre-gl', 'dist/maplibre-gl.mjs'],
    ['maplibre-gl-shared.mjs', 'maplibre-gl', 'dist/maplibre-gl-shared.mjs'],
    ['maplibre-gl-worker.mjs', 'maplibre-gl', 'dist/maplibre-gl-worker.mjs'],
    ['maplibre-gl-2.js', 'maplibre-gl-2', 'dist/maplibre-gl.js'],
  ].map(([name, library, path]) => [name!, join(packageFolder(library!)!, path!)]),
)

/** Pages by the client that they use. `map` becomes the MapLibre map. */
const PAGES = {
  plugin: `
    import Radar from '/radar.js'
    window.Radar = Radar
    await new Promise((done) => document.head.append(Object.assign(document.createElement('script'), { src: '/plugin.js', onload: done })))
    Radar.initialize(KEY, { host: HOST })
    window.map = Radar.ui.map({ container: 'map', style: STYLE, center: CENTER, zoom: ZOOM, language: 'de' })`,
  newest: `
    import * as maplibregl from '/maplibre-gl.mjs'
    window.map = new maplibregl.Map({ container: 'map', style: HOST + '/maps/styles/' + STYLE + '?publishableKey=' + KEY, center: CENTER, zoom: ZOOM })`,
  oldest: `
    await new Promise((done) => document.head.append(Object.assign(document.createElement('script'), { src: '/maplibre-gl-2.js', onload: done })))
    window.map = new maplibregl.Map({ container: 'map', style: HOST + '/maps/styles/' + STYLE + '?publishableKey=' + KEY, center: CENTER, zoom: ZOOM })`,
} as const

const ALL_CLIENTS = [
  ['plugin', 'radar-default-v1'],
  ['newest', 'light'],
  ['oldest', 'radar-dark-v1'],
] as const
/** One of them in the quick suite, by RINGFENCE_SEED; all where more is drawn. */
const CLIENTS =
  process.env['RINGFENCE_TEST_RUNS'] === undefined
    ? [ALL_CLIENTS[Number(process.env['RINGFENCE_SEED'] ?? Date.now()) % ALL_CLIENTS.length]!]
    : ALL_CLIENTS

t.test('maps in a browser', { skip: skipWithoutChromium() }, async (t) => {
  buildWorld(WORLD)
  const server = await startServer(t, { sample: true })
  const pages = await servePages(t, server)
  for (const [client, style] of CLIENTS) {
    await t.test(`${client}, ${style}`, async (t) => {
      const { send, run, until, complaints } = await open(t, `${pages}/${client}?style=${style}`)
      const { earth, sea, minor, building } = STYLES[style]
      const street = await pictureOf(send)
      t.ok(street.shareOf(earth, 3) > 0.02, `earth ${street.shareOf(earth, 3)}`)
      t.ok(street.shareOf(minor, 3) > 0.02, `roads ${street.shareOf(minor, 3)}`)
      t.ok(street.shareOf(sea, 3) < 0.6, `sea ${street.shareOf(sea, 3)}`)
      t.ok(street.colors > 50, `${street.colors} colours: letters and edges are smooth`)
      t.ok(building !== earth)
      t.ok(
        Number(await run(`map.queryRenderedFeatures({ layers: ['road-names'] }).length`)) > 5,
        'names of roads',
      )
      t.ok(
        Number(await run(`map.queryRenderedFeatures({ layers: ['places'] }).length`)) > 5,
        'places with icons',
      )
      t.match(await run(`map.getStyle().sources.map.attribution`), /openstreetmap\.org\/copyright/)

      await run(
        `window.isIdle = false; map.once('idle', () => { window.isIdle = true }); map.jumpTo({ center: [-56.3, -34.95], zoom: 7 }); 1`,
      )
      await until('window.isIdle')
      const coast = await pictureOf(send)
      t.ok(
        coast.shareOf(sea, 3) > 0.15 && coast.shareOf(earth, 3) > 0.15,
        `${coast.shareOf(sea, 3)} sea, ${coast.shareOf(earth, 3)} land`,
      )

      // The whole world, where land was missing and a line ran through the tropics.
      await run(
        `window.isIdle = false; map.once('idle', () => { window.isIdle = true }); map.jumpTo({ center: [0, 25], zoom: 1 }); 1`,
      )
      await until('window.isIdle')
      const world = await pictureOf(send)
      for (const [place, color] of [
        [[-4, 40], earth],
        [[-5, 13], earth],
        [[20, 25], earth],
        [[45, 60], earth],
        [[-25, -16.7], sea],
        [[-25, 10], sea],
        [[-10, 68.9], sea],
      ] as const) {
        const at = String(await run(`(({ x, y }) => [x, y].join())(map.project(${JSON.stringify(place)}))`))
        const [x, y] = at.split(',').map(Number) as [number, number]
        t.ok(world.isAt(x, y, color), `${place.join()} is ${color === earth ? 'land' : 'sea'}`)
      }
      t.strictSame(await run('window.troubles'), [])
      // The plugin shows the logo of its own site, which is not reached from here.
      t.strictSame(
        complaints.filter((text) => !text.includes('logo.svg')),
        [],
      )
    })
  }
})

/** Opens a page and waits until its map is complete. */
async function open(t: Test, url: string): Promise<DrivenPage> {
  const page = await drivePage(t, url, [`--window-size=${WIDTH},${HEIGHT + 150}`, ...WEBGL_FLAGS])
  await page.until(`window.isIdle === true || window.troubles.length > 0`)
  return page
}

/** A server for the pages, at another origin than the maps, as those of apps are. */
async function servePages(t: Test, { url: host }: Server): Promise<string> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
    const name = pathname.slice(1)
    if (Object.hasOwn(LIBRARIES, name)) {
      response.setHeader('Content-Type', 'text/javascript')
      response.end(readFileSync(LIBRARIES[name]!))
      return
    }
    if (!Object.hasOwn(PAGES, name)) {
      response.writeHead(404).end()
      return
    }
    const values = {
      KEY: KEYS.testPublishable,
      HOST: host,
      STYLE: searchParams.get('style'),
      CENTER: CITY,
      ZOOM: 16,
    }
    const constants = Object.entries(values).map(([key, value]) => `const ${key} = ${JSON.stringify(value)};`)
    response.setHeader('Content-Type', 'text/html')
    response.end(`<!doctype html><link rel="icon" href="data:,"><body style="margin:0">
      <div id="map" style="width:${WIDTH}px;height:${HEIGHT}px"></div>
      <script>window.troubles = []; addEventListener('error', (event) => troubles.push(String(event.message)))</script>
      <script type="module">${PAGES[name as keyof typeof PAGES].replace(/^(\s*import [^\n]*\n)?/, (line) => `${line}${constants.join('')}\n`)}
        map.on('error', ({ error }) => troubles.push(String(error?.message ?? error)))
        map.once('idle', () => { window.isIdle = true })
      </script>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Picture {
  /** Different ones. */
  readonly colors: number
  /** The share of pixels of about this colour, `#rrggbb`. */
  shareOf(color: string, tolerance: number): number
  /** Whether this colour is at a place, or a few pixels beside it. */
  isAt(x: number, y: number, color: string): boolean
}

async function pictureOf(send: DrivenPage['send']): Promise<Picture> {
  const clip = { x: 0, y: 0, width: WIDTH, height: HEIGHT, scale: 1 }
  const { data } = (await send('Page.captureScreenshot', { format: 'png', clip })) as { data: string }
  const pixels = pixelsOf(Buffer.from(data, 'base64'))
  const isNear = (pixel: number, color: string, tolerance: number): boolean => {
    const wanted = Number.parseInt(color.slice(1), 16)
    return [16, 8, 0].every(
      (shift) => Math.abs(((pixel >> shift) & 255) - ((wanted >> shift) & 255)) <= tolerance,
    )
  }
  return {
    colors: new Set(pixels).size,
    shareOf: (color, tolerance) =>
      pixels.filter((pixel) => isNear(pixel, color, tolerance)).length / pixels.length,
    isAt(x, y, color) {
      for (let dx = -COVERED; dx <= COVERED; dx++)
        for (let dy = -COVERED; dy <= COVERED; dy++)
          if (isNear(pixels[(Math.round(y) + dy) * WIDTH + Math.round(x) + dx]!, color, 3)) return true
      return false
    },
  }
}

/** The colours of a PNG of eight bits for each of red, green, blue (and opacity), as 0xrrggbb. */
function pixelsOf(png: Buffer): number[] {
  const [width, height, channels] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25] === 6 ? 4 : 3]
  const parts: Buffer[] = []
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at)
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length))
    at += length + 12
  }
  const raw = inflateSync(Buffer.concat(parts))
  const line = width * channels
  let before = Buffer.alloc(line)
  const pixels: number[] = []
  for (let row = 0; row < height; row++) {
    const filter = raw[row * (line + 1)]!
    const now = Buffer.from(raw.subarray(row * (line + 1) + 1, (row + 1) * (line + 1)))
    for (let i = 0; i < line; i++) {
      const [left, up, corner] = [now[i - channels] ?? 0, before[i]!, before[i - channels] ?? 0]
      const guess = left + up - corner
      const paeth = [left, up, corner].reduce((a, b) => (Math.abs(guess - b) < Math.abs(guess - a) ? b : a))
      now[i]! += [0, left, up, (left + up) >> 1, paeth][filter]!
    }
    for (let i = 0; i < line; i += channels) pixels.push((now[i]! << 16) | (now[i + 1]! << 8) | now[i + 2]!)
    before = now
  }
  return pixels
}
