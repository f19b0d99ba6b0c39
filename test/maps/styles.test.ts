/** Styles, letters and icons: what clients load besides tiles. */
import protobuf from 'protobufjs'
import t from 'tap'
import { distanceField, pathEdges } from '../../src/geo/maps/distanceField.ts'
import { firstView } from '../../src/geo/maps/firstView.ts'
import { GlyphMaker } from '../../src/geo/maps/glyphs.ts'
import { mapRoutes } from '../../src/geo/maps/mapRoutes.ts'
import { checkInstalled, MAP_PACKAGES } from '../../src/geo/maps/packages.ts'
import { ICON_NAMES, iconOf } from '../../src/geo/maps/placeIcons.ts'
import type { MapContent, Maps } from '../../src/geo/maps/port.ts'
import { makeSprite } from '../../src/geo/maps/sprites.ts'
import { createServer } from '../../src/http/server.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import fc from '../kit/fastCheck.ts'
import { isInRings } from './kit.ts'

const numRuns = 50 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)

/** Maps without tiles, whose letters and icons are made in this thread. */
const glyphs = new GlyphMaker()
const file = (content: Uint8Array): MapContent => ({ content, isPacked: false, etag: 'one' })
let prepared = 0
const maps: Maps = {
  tile: async () => file(new Uint8Array()),
  letters: async (font, start) => file(glyphs.range(font, start)),
  icons: async (ratio, form) => {
    const { json, png } = makeSprite(ratio)
    return file(form === 'json' ? Buffer.from(json) : png)
  },
  prepare: () => void prepared++,
  maxZoom: 16,
  credits: ['© OpenStreetMap contributors', 'Town & <b>Sons</b>', 'GeoNames'],
  view: { center: [-56.19, -34.905], zoom: 12.5 },
  version: 'v1',
}
const server = createServer({
  routes: mapRoutes(maps),
  authenticate: (key) => (key === 'pk' ? { scope: 0, level: 'publishable', keyId: 'test' } : undefined),
  trustedProxies: ['127.0.0.0/8'],
  clock: new ManualClock(0),
})
const port = await server.listen('127.0.0.1', 0)
t.teardown(() => server.close())

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
async function get(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: any; bytes: Uint8Array; type: string }> {
  const answer = await fetch(`http://127.0.0.1:${port}/maps/${path}`, {
    headers: { authorization: 'pk', ...headers },
  })
  const bytes = new Uint8Array(await answer.arrayBuffer())
  const type = answer.headers.get('content-type')!
  const body = type.startsWith('application/json') ? JSON.parse(new TextDecoder().decode(bytes)) : undefined
  return { status: answer.status, body, bytes, type }
}

t.test('a style has absolute URLs, with the key if it came in the URL', async (t) => {
  for (const id of ['radar-default-v1', 'radar-light-v1', 'radar-dark-v1', 'light', 'dark'])
    t.equal((await get(`styles/${id}`)).status, 200, id)
  const { body } = await get('styles/light')
  const base = `http://127.0.0.1:${port}/maps`
  t.match(body, {
    version: 8,
    glyphs: `${base}/glyphs/{fontstack}/{range}.pbf`,
    sprite: `${base}/sprites/icons`,
    center: maps.view.center,
    zoom: maps.view.zoom,
    sources: { map: { type: 'vector', tiles: [`${base}/tiles/{z}/{x}/{y}.mvt?v=v1`], maxzoom: 16 } },
  })
  t.equal(prepared, 6, 'each is the beginning of a map')
  t.equal(body.meta, undefined, 'MapLibre refuses members that it does not know')
  t.ok(body.layers.length > 30)
  t.ok(
    body.layers.every(({ id, source }: { id: string; source?: string }) => id === 'sea' || source === 'map'),
  )
  const withKey = (await fetch(`${base}/styles/light?publishableKey=pk`)).json()
  t.match(await withKey, {
    glyphs: `${base}/glyphs/{fontstack}/{range}.pbf?publishableKey=pk`,
    sprite: `${base}/sprites/icons?publishableKey=pk`,
    sources: { map: { tiles: [`${base}/tiles/{z}/{x}/{y}.mvt?v=v1&publishableKey=pk`] } },
  })
})

t.test('a map begins where the largest region is, or shows the world', async (t) => {
  t.strictSame(firstView([]), { center: [8, 30], zoom: 1.6 })
  const [sample, germany] = [[-56.25, -34.95, -56.1, -34.85] as const, [5.9, 47.3, 15, 55] as const]
  for (const regions of [
    [sample, germany],
    [germany, sample],
  ]) {
    const { center, zoom } = firstView(regions)
    t.ok(Math.abs(center[0] - 10.45) < 0.01 && Math.abs(center[1] - 51.35) < 0.2, String(center))
    // 14 degrees of latitude there are 0.06 of the world.
    t.ok(zoom > 4 && zoom < 5, String(zoom))
  }
  t.equal(firstView([[13, 52, 13, 52]]).zoom, 15, 'a region of one point')
  t.equal(firstView([[-180, -90, 180, 90]]).zoom, 0)
})

t.test('credits in every style, as HTML that cannot be changed by data', async (t) => {
  const { body } = await get('styles/dark')
  t.equal(
    body.sources.map.attribution,
    '<a href="https://www.openstreetmap.org/copyright" target="_blank" rel="noopener">© OpenStreetMap contributors</a>, ' +
      'Town &amp; &lt;b>Sons&lt;/b>, ' +
      '<a href="https://www.geonames.org" target="_blank" rel="noopener">GeoNames</a>',
  )
})

t.test('names in the language of the question', async (t) => {
  const fieldOf = async (query: string): Promise<unknown> =>
    (await get(`styles/light${query}`)).body.layers.find(({ id }: { id: string }) => id === 'cities').layout[
      'text-field'
    ]
  t.strictSame(await fieldOf(''), ['get', 'name'])
  t.strictSame(await fieldOf('?language=de'), ['coalesce', ['get', 'name:de'], ['get', 'name']])
  t.strictSame(await fieldOf('?language=pt-BR'), ['coalesce', ['get', 'name:pt'], ['get', 'name']])
  // As everywhere: of a parameter that is given twice, the last one counts.
  const twice = await fieldOf('?language=fr&language=de')
  t.strictSame(twice, ['coalesce', ['get', 'name:de'], ['get', 'name']])
  const unknown = await get('styles/light?language=tlh')
  t.match([unknown.status, unknown.body.meta], [400, { param: 'language' }])
})

t.test('behind proxies: their host and protocol; nothing else becomes a part of URLs', async (t) => {
  const originOf = async (headers: Record<string, string>) => {
    const { status, body } = await get('styles/light', headers)
    return status === 200 ? body.sprite.replace('/maps/sprites/icons', '') : [status, body.meta.param]
  }
  t.equal(
    await originOf({ 'x-forwarded-host': 'maps.example.com', 'x-forwarded-proto': 'https' }),
    'https://maps.example.com',
  )
  t.equal(await originOf({ 'x-forwarded-proto': 'https, http' }), `https://127.0.0.1:${port}`)
  t.equal(await originOf({ 'x-forwarded-host': '[::1]:8443' }), 'http://[::1]:8443')
  for (const host of ['a b', 'x/y', 'x"y', 'x?y', 'a:b', 'x'.repeat(300)])
    t.strictSame(await originOf({ 'x-forwarded-host': host }), [400, 'x-forwarded-host'], host)
})

t.test('unknown styles, fonts, ranges and files are named', async (t) => {
  for (const [path, param] of [
    ['styles/satellite', 'id'],
    ['styles/__proto__', 'id'],
    ['styles/toString', 'id'],
    ['glyphs/Comic%20Sans/0-255.pbf', 'fontstack'],
    ['glyphs/Noto%20Sans%20Regular/0-256.pbf', 'range'],
    ['glyphs/Noto%20Sans%20Regular/1-256.pbf', 'range'],
    ['glyphs/Noto%20Sans%20Regular/65536-65791.pbf', 'range'],
    ['glyphs/Noto%20Sans%20Regular/-256--1.pbf', 'range'],
    ['glyphs/Noto%20Sans%20Regular/00-255.pbf', 'range'],
    ['glyphs/Noto%20Sans%20Regular/x.pbf', 'range'],
    ['glyphs/Noto%20Sans%20Regular/0-255', 'range'],
    ['sprites/icons.svg', 'name'],
    ['sprites/icons@3x.png', 'name'],
    ['sprites/..%2Ficons.png', 'name'],
  ] as const) {
    const { status, body } = await get(path)
    t.match([status, body.meta], [404, { code: 404, param }], path)
  }
})

t.test('letters: of each script of the font, at the right place in the line', async (t) => {
  const { root } = protobuf.parse(`syntax = "proto2";
    message glyph { required uint32 id = 1; optional bytes bitmap = 2; required uint32 width = 3; required uint32 height = 4;
      required sint32 left = 5; required sint32 top = 6; required uint32 advance = 7; }
    message fontstack { required string name = 1; required string range = 2; repeated glyph glyphs = 3; }
    message glyphs { repeated fontstack stacks = 1; }`)
  const stackOf = async (font: string, range: string) => {
    const { status, bytes } = await get(`glyphs/${encodeURIComponent(font)}/${range}.pbf`)
    t.equal(status, 200)
    // oxlint-disable-next-line typescript/no-explicit-any -- made by the schema above
    return (root.lookupType('glyphs').decode(bytes) as any).stacks[0]
  }
  const latin = await stackOf('Noto Sans Regular', '0-255')
  t.match(latin, { name: 'Noto Sans Regular', range: '0-255' })
  // oxlint-disable-next-line typescript/no-explicit-any -- made by the schema above
  const letter = (text: string): any =>
    latin.glyphs.find(({ id }: { id: number }) => id === text.charCodeAt(0))
  for (const text of ['A', 'g', 'ß', '7']) {
    const { bitmap, width, height, advance } = letter(text)
    t.equal(bitmap.length, (width + 6) * (height + 6), text)
    t.ok(advance > 8 && advance < 24)
  }
  t.ok(letter('A').height > 15 && letter('A').height < 20, 'capitals are 17 pixels high')
  t.ok(letter('g').top < letter('A').top, 'what hangs below the line')
  t.equal(letter(' ').width, 0)
  t.ok(letter(' ').advance > 3)
  for (const [range, code] of [
    ['256-511', 0x142],
    ['768-1023', 0x3b1],
    ['1024-1279', 0x436],
    ['7680-7935', 0x1ea1],
  ] as const)
    t.ok(
      (await stackOf('Open Sans Regular,Arial Unicode MS Regular', range)).glyphs.some(
        ({ id }: { id: number }) => id === code,
      ),
      range,
    )
  t.strictSame(
    (await stackOf('Nothing,Noto Sans Medium', '9728-9983')).glyphs,
    [],
    'letters that the font lacks',
  )
})

t.test('a distance field says how far each pixel is from the outline', async () => {
  const corner = fc.integer({ min: -2, max: 14 })
  const ring = fc.array(fc.tuple(corner, corner), { minLength: 3, maxLength: 6 })
  fc.assert(
    fc.property(ring, (points) => {
      const commands = [
        ...points.map(([x, y], i) => ({ type: i === 0 ? 'M' : 'L', x: x!, y: y! })),
        { type: 'Z' },
      ]
      const edges = pathEdges(commands)
      const field = distanceField(edges, -3, -3, 18, 18)
      for (let i = 0; i < field.length; i++) {
        const [x, y] = [(i % 18) - 2.5, Math.floor(i / 18) - 2.5]
        let least = Infinity
        for (let at = 0; at < edges.length; at += 4) {
          const [ax, ay, bx, by] = edges.slice(at, at + 4) as [number, number, number, number]
          for (let share = 0; share <= 1; share += 1 / 256)
            least = Math.min(least, Math.hypot(ax + (bx - ax) * share - x, ay + (by - ay) * share - y))
        }
        const outside = 255 - 255 * (least / 8 + 0.25)
        const inside = 255 - 255 * (-least / 8 + 0.25)
        const is = (value: number): boolean => Math.abs(field[i]! - Math.min(255, Math.max(0, value))) <= 2
        // In an even number of turns it may be inside or, where the outline crosses itself, outside.
        if (isInRings([points.flat()], x, y) ? !is(inside) : !is(outside) && !is(inside)) return false
      }
      return true
    }),
    { numRuns },
  )
})

t.test('icons: a picture, and where each is in it', async (t) => {
  for (const [name, ratio] of [
    ['icons', 1],
    ['icons@2x', 2],
  ] as const) {
    const { body } = await get(`sprites/${name}.json`)
    const { bytes, type } = await get(`sprites/${name}.png`)
    t.equal(type, 'image/png')
    t.strictSame([...bytes.subarray(0, 8)], [137, 80, 78, 71, 13, 10, 26, 10])
    const [width, height] = [16, 20].map((at) => Buffer.from(bytes).readUInt32BE(at)) as [number, number]
    t.strictSame(Object.keys(body).sort(), ICON_NAMES)
    for (const place of Object.values(body) as Record<string, number>[]) {
      t.match(place, { pixelRatio: ratio, sdf: true })
      t.ok(place['x']! + place['width']! <= width && place['y']! + place['height']! <= height)
    }
  }
  t.equal(iconOf(['food-beverage', 'restaurant', 'pizza-place']), 'restaurant-pizza')
  t.equal(iconOf(['food-beverage', 'restaurant', 'unheard-of']), 'restaurant', 'that of the category above')
  t.equal(iconOf(['unheard-of']), 'marker')
  t.equal(iconOf(['constructor']), 'marker')
})

t.test('a package that is missing is named', async (t) => {
  t.doesNotThrow(() => checkInstalled(MAP_PACKAGES))
  t.throws(() => checkInstalled(['no-such-package']), {
    code: 503,
    message: 'The package no-such-package is not installed: npm install no-such-package.',
  })
})
