/** The routing endpoints in a town that has one of everything (seaside.ts): what they answer and what they refuse. */
import t from 'tap'
import { matchPath } from '../../src/geo/routing/matching.ts'
import { decodePolyline } from '../../src/geo/routing/polyline.ts'
import { NoMatch } from '../../src/geo/routing/port.ts'
import { karney } from '../geometry/oracle.ts'
import { buildSeaside } from './seaside.ts'
import { serveRoutes, type Served } from './served.ts'

const town = await buildSeaside()
t.teardown(() => town.remove())
const { at } = town
const { get, post }: Served = await serveRoutes(t, town.tiles)

const along = (...nodes: string[]) => nodes.map((node) => at(node)).join('|')
const lonLat = (text: string) => text.split(',').map(Number).toReversed()

/** The route with one mode from node to node. */
async function way(origin: string, destination: string, query: Record<string, unknown> = {}) {
  const { mode = 'car', ...more } = query
  const { status, body } = await get('distance', {
    origin: at(origin),
    destination: at(destination),
    modes: mode,
    units: 'metric',
    ...more,
  })
  if (status !== 200) throw new Error(`${status}: ${body.meta.message}`)
  return body.routes[mode as string]
}

async function meters(origin: string, destination: string, query?: Record<string, unknown>): Promise<number> {
  return (await way(origin, destination, query)).distance.value
}

t.test('distance: every mode and the geodesic, in both units', async (t) => {
  const query = { origin: at('a'), destination: at('C'), modes: 'car,truck, foot,bike,motorbike,car' }
  const { status, body } = await get('distance', query)
  t.equal(status, 200)
  t.equal(body.meta.attribution, '© OpenStreetMap contributors')
  t.strictSame(Object.keys(body.routes), ['geodesic', 'car', 'truck', 'foot', 'bike', 'motorbike'])
  // Eight blocks of 200 m and two down, on any streets. By car the motorway is faster.
  for (const mode of ['foot', 'bike', 'truck']) {
    t.match(body.routes[mode].distance, { value: Math.round(2000 / 0.3048), text: '1.2 mi' }, mode)
  }
  t.ok(body.routes.foot.duration.value > 3 * body.routes.bike.duration.value)
  const metric = (await get('distance', { ...query, units: 'metric' })).body.routes
  t.match(metric.foot.distance, { value: 2000, text: '2.0 km' })
  t.strictSame(metric.foot.duration, body.routes.foot.duration)
  const [from, to] = [at('a'), at('C')].map(lonLat)
  const geodesic = karney(from![1]!, from![0]!, to![1]!, to![0]!)
  t.equal(metric.geodesic.distance.value, Math.round(geodesic))
  t.strictSame(Object.keys(metric.geodesic), ['distance'])

  const same = await way('n', 'n', { geometry: 'linestring' })
  t.match(same, { distance: { value: 0, text: '0 m' }, duration: { value: 0, text: '0 mins' } })
  t.strictSame(same.geometry.coordinates[0], lonLat(at('n')))
})

t.test('distance: the geometry in every form', async (t) => {
  const { coordinates, type } = (await way('D', 'F', { geometry: 'linestring' })).geometry
  t.equal(type, 'LineString')
  t.strictSame(
    coordinates,
    ['D', 'E', 'T', 'U', 'F'].map((node) => lonLat(at(node))),
  )
  for (const digits of [5, 6] as const) {
    const { geometry } = await way('D', 'F', { geometry: `polyline${digits}` })
    t.strictSame(Object.keys(geometry), ['type', 'polyline'])
    t.equal(geometry.type, `polyline${digits}`)
    const found = decodePolyline(geometry.polyline, digits)
    t.equal(found.length, coordinates.length)
    for (const [i, pair] of found.entries())
      pair.forEach((degrees, k) => t.ok(Math.abs(degrees - coordinates[i][k]) <= 0.51 / 10 ** digits))
  }
  t.equal((await way('D', 'F', { geometry: 'polyline' })).geometry.type, 'polyline5', 'as the web SDK says')
  t.notOk('geometry' in (await way('D', 'F')))
  // The request that SDKs make for the points of a mock drive.
  const { geometry } = await way('D', 'F', { geometryPoints: 3 })
  t.equal(geometry.type, 'LineString')
  t.strictSame([geometry.coordinates[0], geometry.coordinates[2]], [lonLat(at('D')), lonLat(at('F'))])
  t.equal(geometry.coordinates.length, 3)
})

t.test('avoid: what is named is avoided if there is another way, otherwise used', async (t) => {
  const bridge = await meters('D', 'F')
  const around = await meters('D', 'F', { avoid: 'tolls' })
  t.ok(around > bridge + 300, `${around} m around, ${bridge} m over the bridge`)
  t.equal(await meters('D', 'F', { avoid: 'highways,ferries' }), bridge)
  t.equal(await meters('a', 'g', { avoid: 'highways' }), 1200)
  t.ok((await meters('a', 'g')) > 1500, 'the motorway is longer and quicker')
  // There is no other route.
  t.equal(await meters('z', 'K', { avoid: 'ferries,borderCrossings' }), await meters('z', 'K'))
  const matrix = async (avoid?: string) => {
    const query = {
      origins: along('D', 'z'),
      destinations: along('F', 'K'),
      mode: 'car',
      units: 'metric',
      avoid,
    }
    return (await get('matrix', query)).body.matrix
  }
  const [taking, avoiding] = [await matrix(), await matrix('tolls,ferries')]
  t.equal(taking[0][0].distance.value, bridge)
  t.equal(avoiding[0][0].distance.value, around)
  t.ok(
    avoiding[1][1].distance.value < taking[1][1].distance.value + 500,
    'cells with no other way take the ferry',
  )
})

t.test('departureTime: on the wall clock of the origin', async (t) => {
  // Closed to cars from eight to ten in Montevideo, which is UTC−3.
  const open = await meters('l', 's')
  t.equal(open, 1400)
  for (const [departureTime, wanted] of [
    ['2026-11-20T10:40:00Z', open],
    ['2026-11-20T11:20:00Z', open + 400],
    ['2026-11-20T08:30:00-03:00', open + 400],
    ['2026-11-20T14:00:00Z', open],
    ['1970-01-01T12:00:00Z', open + 400],
    [String(Date.UTC(2031, 5, 1, 12)), open + 400],
  ] as const) {
    t.equal(await meters('l', 's', { departureTime }), wanted, departureTime)
  }
  const closed = { departureTime: '2026-11-20T12:00:00Z', units: 'metric' }
  const directions = await get('directions', { locations: along('l', 's'), ...closed })
  t.equal(directions.body.routes[0].distance.value, open + 400)
  const optimize = await get('optimize', { locations: along('l', 's'), ...closed })
  t.equal(optimize.body.route.distance.value, open + 400)
  const matrix = await get('matrix', { origins: at('l'), destinations: at('s'), mode: 'car', ...closed })
  t.equal(matrix.body.matrix[0][0].distance.value, open + 400)
})

t.test('modes without a route are null with a reason, beside those that have one', async (t) => {
  const { status, body } = await get('distance', { origin: at('y'), destination: at('K'), modes: 'car,bike' })
  t.equal(status, 200)
  t.type(body.routes.car.distance.value, 'number')
  t.match(body.routes.bike, {
    distance: null,
    duration: null,
    reason: 'destination: There is no route for mode bike.',
  })
  t.notOk('geometry' in body.routes.bike)
})

t.test('matrix: a row per origin; cells without a route say why', async (t) => {
  const far = at('K', 0, 5000)
  const query = {
    origins: `${along('a', 'P')}|${far}`,
    destinations: along('F', 'Q', 'a'),
    mode: 'car',
    units: 'metric',
  }
  const { status, body } = await get('matrix', query)
  t.equal(status, 200)
  t.strictSame(Object.keys(body), ['meta', 'origins', 'destinations', 'matrix'])
  t.strictSame(body.destinations[1], { latitude: lonLat(at('Q'))[1], longitude: lonLat(at('Q'))[0] })
  t.equal(body.origins.length, 3)
  const { matrix } = body
  matrix.forEach((row: { originIndex: number; destinationIndex: number }[], i: number) =>
    row.forEach((cell, k) => t.strictSame([cell.originIndex, cell.destinationIndex], [i, k])),
  )
  t.match(matrix[0][0], await way('a', 'F'))
  t.match(matrix[0][2], { distance: { value: 0 }, duration: { value: 0 } })
  t.match(matrix[0][1], { distance: null, duration: null, reason: 'There is no route for mode car.' })
  t.match(matrix[1][1], { distance: { value: 200, text: '0.2 km' } })
  for (const cell of matrix[2]) {
    t.match(cell, {
      distance: null,
      reason: /^origins: The nearest road for mode car is \d{4} m away\. The limit is 1000 m\./,
    })
  }

  const many = Array.from({ length: 25 }, (_, i) => at('klmnopqrst'[i % 10]!, i)).join('|')
  const large = await get('matrix', { origins: many, destinations: many, mode: 'foot' })
  t.equal(large.status, 200)
  t.equal(large.body.matrix.flat().length, 625)
  t.ok(large.body.matrix.flat().every((cell: { distance: unknown }) => cell.distance !== null))
  const row = Array.from({ length: 625 }, (_, i) => at('klmnopqrst'[i % 10]!, i / 100)).join('|')
  const wide = await get('matrix', { origins: at('a'), destinations: row, mode: 'car' })
  t.equal(wide.status, 200, 'in a URL of 16 KB')
  t.equal(wide.body.matrix[0].length, 625)
})

t.test('directions: every field of a route, its legs and steps', async (t) => {
  const { status, body } = await get('directions', { locations: along('a', 'h', 'z', 'K'), units: 'metric' })
  t.equal(status, 200)
  t.equal(body.routes.length, 1)
  const [route] = body.routes
  t.strictSame(Object.keys(route), ['duration', 'distance', 'geometry', 'legs'])
  t.equal(route.geometry.type, 'polyline6')
  t.equal(route.legs.length, 3)
  const sum = (items: { distance: { value: number } }[]) =>
    items.reduce((total, { distance }) => total + distance.value, 0)
  t.ok(Math.abs(sum(route.legs) - route.distance.value) <= 2)
  const ends = [along('a'), along('h'), along('z'), along('K')].map((text) => {
    const [longitude, latitude] = lonLat(text)
    return { latitude, longitude }
  })
  const isAt = (a: Record<string, number>, b: Record<string, number | undefined>) =>
    ['latitude', 'longitude'].every((name) => Math.abs(a[name]! - b[name]!) < 2e-6)
  route.legs.forEach((leg: Record<string, any>, i: number) => {
    t.strictSame(Object.keys(leg), [
      'startLocation',
      'endLocation',
      'duration',
      'distance',
      'geometry',
      'steps',
    ])
    t.ok(isAt(leg.startLocation, ends[i]!) && isAt(leg.endLocation, ends[i + 1]!))
    t.ok(Math.abs(sum(leg.steps) - leg.distance.value) <= leg.steps.length)
    const points = decodePolyline(leg.geometry.polyline, 6)
    const ofSteps = leg.steps.flatMap((step: Record<string, any>) =>
      decodePolyline(step.geometry.polyline, 6),
    )
    t.strictSame([...new Set(ofSteps.map(String))], points.map(String), 'the steps are the leg')
    leg.steps.forEach((step: Record<string, any>, k: number) => {
      const names = 'distance,duration,start_location,end_location,bearing_before,bearing_after,instructions'
      const more = 'banner_instructions,voice_instructions,geometry,mode,manuever,street_name'
      const exit = step.manuever.startsWith('exit') ? ['exit_name'] : []
      t.strictSame(Object.keys(step), [...names.split(','), ...more.split(','), ...exit])
      if (k > 0) t.strictSame(step.start_location, leg.steps[k - 1].end_location)
      t.ok(step.bearing_after >= 0 && step.bearing_after <= 360)
      t.ok(
        step.voice_instructions.every(
          (one: { announcement: unknown }) => typeof one.announcement === 'string',
        ),
      )
    })
    t.ok(leg.steps.some((step: { banner_instructions: unknown[] }) => step.banner_instructions.length > 0))
  })
  const words = route.legs.map((leg: { steps: Record<string, string>[] }) =>
    leg.steps.map(({ manuever, street_name, mode }) => [manuever, street_name, mode]),
  )
  t.strictSame(words, [
    [
      ['start', 'Ruta 1', 'car'],
      ['exit-right', '', 'car'],
      ['left', 'Calle Norte', 'car'],
      ['destination', 'Calle Norte', 'car'],
    ],
    [
      ['start', 'Calle H', 'car'],
      ['right', 'Calle Sur', 'car'],
      ['destination', 'Calle Sur', 'car'],
    ],
    [
      ['start', 'Lancha', 'ferry'],
      ['left', 'Calle Isla', 'car'],
      ['destination', 'Calle Isla', 'car'],
    ],
  ])
  t.equal(route.legs[0].steps[1].exit_name, '12')
  t.equal(route.legs[0].steps[1].instructions, 'Take exit 12 toward Centro/Puerto.')
  t.match(route.legs[1].steps[1], {
    bearing_before: 180,
    bearing_after: 270,
    instructions: 'Turn right onto Calle Sur.',
  })

  const line = (await get('directions', { locations: along('h', 'z'), geometry: 'linestring' })).body
    .routes[0]
  for (const { geometry } of [line, ...line.legs, ...line.legs[0].steps]) t.equal(geometry.type, 'LineString')
  const on = await get('directions', { locations: `${at('n', 0, 60)}|${at('v', 20, 100)}`, mode: 'bike' })
  t.match(on.body.routes[0].legs[0].steps.at(-1), { mode: 'bike', manuever: /^destination-(?:left|right)$/ })
})

t.test('directions: languages, units of texts, heading, alternatives', async (t) => {
  const locations = along('h', 'z')
  const instructions = async (query: Record<string, unknown>) =>
    (await get('directions', { locations, ...query })).body.routes[0].legs[0].steps
  const found = new Set<string>()
  for (const [lang, words] of Object.entries({
    de: /^Rechts auf Calle Sur abbiegen/,
    en: /Turn right/,
    es: /Doble a la derecha|Gire a la derecha/,
    fr: /Tournez à droite/,
    ja: /右/,
    ko: /우회전/,
    pt: /direita/,
    ru: /Поверните направо/,
  })) {
    const { instructions: text, voice_instructions: voice } = (await instructions({ lang }))[1]
    t.match(text, words)
    t.type(voice[0].announcement, 'string')
    found.add(text)
  }
  t.equal(found.size, 8)
  t.equal((await instructions({}))[1].instructions, (await instructions({ lang: 'en' }))[1].instructions)
  const spoken = async (units: string) =>
    JSON.stringify((await instructions({ units })).map((step: any) => step.voice_instructions))
  t.match(await spoken('metric'), /meters/)
  t.match(await spoken('imperial'), /quarter mile/)

  for (const [heading, bearing] of [
    [0, 0],
    [92.5, 90],
    [180, 180],
    [270, 270],
    [360, 0],
  ]) {
    const [first] = await instructions({ locations: along('p', 'D'), heading })
    t.equal(first.bearing_after % 360, bearing, `heading ${heading}`)
  }

  const { routes } = (await get('directions', { locations: along('u', 'j'), alternatives: true })).body
  t.ok(routes.length > 1)
  t.ok(routes[0].duration.value < routes[1].duration.value)
  t.equal((await get('directions', { locations: along('u', 'j') })).body.routes.length, 1)
})

t.test('25 locations', async (t) => {
  const nodes = [...'abcdefghijtsrqponmlkuvwxy']
  t.equal(nodes.length, 25)
  const { status, body } = await get('directions', { locations: along(...nodes), mode: 'foot' })
  t.equal(status, 200)
  t.equal(body.routes[0].legs.length, 24)
})

t.test('optimize: ends stay, stops between are ordered, indexes refer to the request', async (t) => {
  const { status, body } = await get('optimize', {
    locations: along('u', 'x', 'v', 'y', 'w', 'z'),
    units: 'metric',
  })
  t.equal(status, 200)
  const { route } = body
  t.strictSame(Object.keys(route), ['distance', 'duration', 'legs'])
  t.strictSame(
    route.legs.map((leg: Record<string, number>) => [leg.startIndex, leg.endIndex]),
    [
      [0, 2],
      [2, 4],
      [4, 1],
      [1, 3],
      [3, 5],
    ],
  )
  t.equal(route.distance.value, 1000)
  for (const leg of route.legs) {
    t.strictSame(Object.keys(leg), [
      'startLocation',
      'endLocation',
      'startIndex',
      'endIndex',
      'distance',
      'duration',
    ])
    t.equal(leg.distance.value, 200)
  }
  t.strictSame(route.legs[0].endLocation, { latitude: lonLat(at('v'))[1], longitude: lonLat(at('v'))[0] })
  const drawn = await get('optimize', { locations: along('u', 'x', 'v', 'z'), geometry: 'linestring' })
  for (const leg of drawn.body.route.legs) t.equal(leg.geometry.type, 'LineString')
  for (const nodes of ['uz', 'uzv']) {
    const { legs } = (await get('optimize', { locations: along(...nodes) })).body.route
    t.strictSame(
      legs.map((leg: { endIndex: number }) => leg.endIndex),
      [1, 2].slice(0, nodes.length - 1),
    )
  }
  t.equal((await get('optimize', { locations: along(...'uvwxyzABCD') })).body.route.legs.length, 9)
})

t.test('match: points on roads, properties of the roads, gaps and stray points', async (t) => {
  // A walk with steps of 50 m along Calle Sur and up Calle H, some metres beside them.
  const path = [0, 50, 100, 150, 200, 250, 300, 350].map((east) => ({ coordinates: at('A', 4, east - 200) }))
  path.push(...[30, 80, 130, 180].map((north) => ({ coordinates: at('B', north, 3) })))
  const body = { path, roadAttributes: 'names,roadClass,speedLimit', units: 'metric', geometry: 'linestring' }
  const found = await post('match', body)
  t.equal(found.status, 200)
  t.strictSame(Object.keys(found.body), ['meta', 'matchedPath', 'roadAttributes', 'geometry', 'distance'])
  t.strictSame(
    found.body.matchedPath.map(({ originalIndex }: { originalIndex: number }) => originalIndex),
    path.map((_, i) => i),
  )
  const south = lonLat(at('A'))[1]!
  for (const { latitude } of found.body.matchedPath.slice(0, 8)) t.ok(Math.abs(latitude - south) < 2e-6)
  const roads = found.body.roadAttributes
  t.strictSame(
    roads.map(({ names, roadClass }: { names: string[]; roadClass: string }) => [names[0], roadClass]),
    [
      ['Calle Sur', 'secondary'],
      ['Calle Sur', 'secondary'],
      ['Calle H', 'residential'],
    ],
  )
  t.strictSame(roads[0].speedLimit, { value: 40, text: '40 km/h' })
  t.equal(roads[0].originalIndex, 0)
  t.strictSame(roads[0].endLocation, roads[1].startLocation)
  t.equal(roads.at(-1).endLocation.longitude, lonLat(at('B'))[0])
  t.ok(Math.abs(found.body.distance.value - 580) <= 3, found.body.distance.text)
  t.equal(found.body.geometry.type, 'LineString')

  const plain = (await post('match', { path })).body
  t.strictSame(Object.keys(plain), ['meta', 'matchedPath', 'geometry', 'distance'])
  t.equal(plain.geometry.type, 'polyline6')
  t.match((await post('match', { path, roadAttributes: 'speedLimit' })).body.roadAttributes[0], {
    speedLimit: { value: 25, text: '25 mph' },
  })
  t.notOk('names' in (await post('match', { path, roadAttributes: 'speedLimit' })).body.roadAttributes[0])

  // A stray point in the sea, and one on the island that looks like another drive.
  const stray = path.toSpliced(5, 0, { coordinates: at('K', 0, 9000) })
  const without = (await post('match', { ...body, path: stray })).body
  t.strictSame(without.distance, found.body.distance)
  t.strictSame(without.matchedPath[5].originalIndex, 6)
  // Two drives 2.5 km apart. The gap does not count as distance.
  const second = [0, 50, 100].map((east) => ({ coordinates: at('P', 3, east) }))
  const both = (await post('match', { ...body, path: [...path.slice(0, 8), ...second] })).body
  t.equal(both.matchedPath.length, 11)
  t.ok(Math.abs(both.distance.value - 450) <= 3, both.distance.text)

  const hours = path.map((point, i) => ({ ...point, createdAt: Date.UTC(2026, 0, 1, i), accuracy: 12.5 }))
  t.strictSame(
    (await post('match', { ...body, path: hours })).body.distance,
    found.body.distance,
    'an hour apart',
  )
  const standing = (await post('match', { path: [path[0], path[0]] })).body
  t.match(standing, { distance: { value: 0 }, matchedPath: { length: 2 } })
})

t.test('match: only a part for which the engine refuses everything is left out', async (t) => {
  const refused = new Set([700, 701, 15_000])
  let asked = 0
  const ask = async (_: string, { shape }: { shape: { lat: number; lon: number }[] }) => {
    asked += shape.length
    if (shape.some(({ lat }) => refused.has(Math.round(lat * 1000)))) throw new NoMatch(444, 'Map Match')
    return {
      matched_points: shape.map((point) => ({ ...point, type: 'matched', edge_index: 0 })),
      edges: [],
      shape: '',
    }
  }
  const path = Array.from({ length: 16_000 }, (_, i) => ({ lat: i / 1000, lon: 0 }))
  const matching = (of: typeof path) => matchPath({ attribution: undefined, ask } as never, 'auto', of)
  const found = (await matching(path)).flatMap(({ points }) =>
    points.map(({ originalIndex }) => originalIndex),
  )
  t.strictSame(
    found,
    found.toSorted((a, b) => a - b),
  )
  t.ok(found.length > 16_000 - 3 * 32, `${found.length} points`)
  for (const index of refused) t.notOk(found.includes(index))
  t.ok(asked < 10 * 16_000, 'at the price of some paths')
  // No part of it follows roads. The server tries for a while and then stops.
  asked = 0
  for (const i of path.keys()) refused.add(i)
  t.strictSame(await matching(path), [])
  t.ok(asked < 10 * 16_000)
})

// Required parameters, and values of another type or out of the document's range: test/e2e/requiredFields.test.ts.
t.test('wrong requests are refused with a message that names the parameter', async (t) => {
  const good = {
    distance: { origin: at('a'), destination: at('D'), modes: 'car' },
    matrix: { origins: at('a'), destinations: along('C', 'D'), mode: 'car' },
    directions: { locations: along('a', 'D') },
    optimize: { locations: along('a', 'c', 'D') },
  } as const
  const sea = at('K', 0, 9000)
  const cases: readonly (readonly [keyof typeof good, string, unknown, number, RegExp])[] = [
    [
      'distance',
      'modes',
      'car,plane',
      400,
      /^modes: Must be some of car, truck, foot, bike, motorbike, separated by commas\.$/,
    ],
    ['distance', 'avoid', 'cows', 400, /^avoid: Must be some of tolls, highways, ferries, borderCrossings, /],
    [
      'distance',
      'departureTime',
      '1969-12-31T23:59:59Z',
      400,
      /^departureTime: Must be from 1970 to 9998\.$/,
    ],
    [
      'distance',
      'destination',
      sea,
      404,
      /^destination: The nearest road for mode car is 5[89]\d\d m away\. The limit is 1000 m\.$/,
    ],
    ['distance', 'destination', at('P'), 404, /^destination: There is no route for mode car\./],
    ['matrix', 'mode', 'car,foot', 400, /^mode: Must be one of car, truck, foot, bike, motorbike\.$/],
    ['matrix', 'origins', `${at('a')}|x`, 400, /^origins: Number 2: Must be latitude,longitude\.$/],
    [
      'matrix',
      'destinations',
      Array.from({ length: 626 }, () => '1,1').join('|'),
      400,
      /^destinations: At most 625 routes\. These are 626: 1 origins times 626 destinations\.$/,
    ],
    ['directions', 'locations', at('a'), 400, /^locations: At least 2 locations, separated by \|\.$/],
    [
      'directions',
      'locations',
      Array.from({ length: 26 }, () => at('a')).join('|'),
      400,
      /^locations: At most 25 locations\. These are 26\.$/,
    ],
    ['directions', 'locations', `${along('a', 'b')}|${sea}`, 404, /^locations: Number 3: The nearest road /],
    ['directions', 'locations', along('a', 'P'), 404, /^locations: There is no route for mode car\./],
    ['directions', 'lang', 'it', 400, /^lang: Must be one of de, en, es, fr, ja, ko, pt, ru\.$/],
    ['optimize', 'locations', at('a'), 400, /^locations: At least 2 /],
    [
      'optimize',
      'locations',
      along(...'abcdefghijk'),
      400,
      /^locations: At most 10 locations\. These are 11\.$/,
    ],
    ['optimize', 'locations', along('a', 'P', 'D', 'C'), 404, /^locations: There is no route for mode car\./],
  ]
  for (const [path, name, value, code, message] of cases) {
    const { status, body } = await get(path, { ...good[path], [name]: value })
    t.match([status, body.meta], [code, { code, param: name, message }], `${path} ${name}`)
  }
  const three = await get('directions', { locations: along('a', 'b', 'c'), alternatives: true })
  t.match([three.status, three.body.meta.param], [400, 'alternatives'])

  const point = (createdAt?: unknown) => ({ coordinates: at('u'), createdAt })
  const paths: readonly (readonly [body: object, param: string, code: number, message: RegExp])[] = [
    [{ path: [point()] }, 'path', 400, /at least 2 items/],
    [{ path: Array.from({ length: 16_001 }, () => point()) }, 'path', 400, /at most 16000 items/],
    [{ path: [point(), { coordinates: 'x' }] }, 'path.1.coordinates', 400, /latitude,longitude/],
    [{ path: [point(), {}] }, 'path.1.coordinates', 400, /Required/],
    [
      { path: [point('2026-01-01T10:00:00Z'), point(), point('2026-01-01T09:00:00Z')] },
      'path.2.createdAt',
      400,
      /before/,
    ],
    [{ path: [point(), point('x')] }, 'path.1.createdAt', 400, /date/],
    [{ path: [point(), { ...point(), accuracy: 0 }] }, 'path.1.accuracy', 400, /greater than 0/],
    [
      { path: [point(), point()], roadAttributes: 'names,colour' },
      'roadAttributes',
      400,
      /some of speedLimit, names, roadClass/,
    ],
    [{ path: [point(), { coordinates: at('P') }] }, 'path', 400, /No point is within 2000 m/],
    [{ path: [{ coordinates: sea }, { coordinates: sea }] }, 'path', 404, /not along roads for mode car/],
    [
      {
        path: Array.from({ length: 1000 }, (_, i) => ({ coordinates: at(i % 4 < 2 ? 'u' : 'P', 0, i % 2) })),
      },
      'path',
      400,
      /more than 100 pieces/,
    ],
  ]
  for (const [request, param, code, message] of paths) {
    const { status, body } = await post('match', request)
    t.match([status, body.meta], [code, { code, param, message }], message.source)
  }
  const most = await post('match', {
    path: Array.from({ length: 16_000 }, (_, i) => ({ ...point(1e12 + i), accuracy: 5 })),
  })
  t.equal(most.status, 200)
  t.equal(most.body.matchedPath.length, 16_000)
})

t.test('a client that has the answer is told that it is still valid', async (t) => {
  const query = { locations: along('a', 'D') }
  const first = await get('directions', query)
  const etag = first.headers.get('etag')!
  t.match(etag, /^"[0-9a-f]{32}"$/)
  t.equal(first.headers.get('cache-control'), 'private, no-cache')
  const again = await get('directions', query, { 'if-none-match': etag })
  t.strictSame([again.status, again.body], [304, undefined])
  const other = await get('directions', { ...query, lang: 'es' }, { 'if-none-match': etag })
  t.equal(other.status, 200)
})
