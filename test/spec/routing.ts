import type { Field } from './fields.ts'
import { CONFORMANCE, type Item } from './item.ts'
import { ABSENT, type Base, type Parameter } from './parameters.ts'

/** The routing part of the tables: requests in the sample city, their parameters, and the fields of their answers. */

const PLAZA = '-34.9059,-56.1913'
const RAMBLA = '-34.9121,-56.1637'
const PRADO = '-34.8615,-56.2040'

const query = (path: string, request: Base['request']): Base => ({
  method: 'GET',
  path: `/v1/route/${path}`,
  in: 'query',
  level: 'publishable',
  request,
})

export const ROUTING_BASES: Readonly<Record<string, Base>> = {
  'GET /v1/route/distance': query('distance', { origin: PLAZA, destination: RAMBLA, modes: 'car' }),
  'GET /v1/route/matrix': query('matrix', { origins: PLAZA, destinations: RAMBLA, mode: 'car' }),
  'POST /v1/route/match': {
    method: 'POST',
    path: '/v1/route/match',
    in: 'body',
    level: 'publishable',
    request: { path: [{ coordinates: PLAZA }, { coordinates: '-34.9059,-56.1925' }] },
  },
  'GET /v1/route/directions': query('directions', { locations: `${PLAZA}|${RAMBLA}` }),
  'GET /v1/route/optimize': query('optimize', { locations: `${PLAZA}|${RAMBLA}|${PRADO}` }),
}

const MODES = ['car', 'truck', 'foot', 'bike', 'motorbike']
const FORMS = ['linestring', 'polyline5', 'polyline6']
const UNITS = ['metric', 'imperial']
const LANGUAGES = ['de', 'en', 'es', 'fr', 'ja', 'ko', 'pt', 'ru']
const AVOID = ['tolls', 'highways,ferries', 'tolls,highways,ferries,borderCrossings']
const DATES = ['2026-11-20T04:21:00.123Z', '2030-01-01T10:00:00+02:00']
const NO_PLACES = [ABSENT, '', 'x', '1', '91,0', '0,181', '1,2,3']
const many = (count: number) => Array.from({ length: count }, () => PLAZA).join('|')

/** An endpoint's parameters: name, description, values that it accepts, values that it refuses. */
type Rows = readonly (readonly [
  name: string,
  says: string,
  good: readonly unknown[],
  bad: readonly unknown[],
])[]

function parametersOf(endpoint: string, rows: Rows): Parameter[] {
  return rows.map(([name, says, good, bad]) => ({ endpoint, name, says, good, bad }))
}

const units = ['units', 'metric or imperial, default imperial', [ABSENT, ...UNITS], ['miles', 5]] as const
const departure = ['departureTime', 'ISO 8601 string, default now', [ABSENT, ...DATES], ['soon']] as const
const geometry = ['geometry', 'linestring, polyline5 or polyline6', [ABSENT, ...FORMS], ['wkt']] as const
const mode = ['mode', 'default car', [ABSENT, ...MODES], ['plane', 'car,foot']] as const
const avoid = (words: string) => ['avoid', words, [ABSENT, ...AVOID], ['cows', 'tolls,cows']] as const

export const ROUTING_PARAMETERS: readonly Parameter[] = [
  ...parametersOf('GET /v1/route/distance', [
    ['origin', 'latitude,longitude, required', [PRADO], NO_PLACES],
    ['destination', 'latitude,longitude, required', [PRADO], NO_PLACES],
    [
      'modes',
      'comma-separated, required',
      [...MODES, 'car,truck,foot,bike'],
      [ABSENT, '', 'plane', 'car,plane'],
    ],
    units,
    avoid('tolls, highways, ferries, borderCrossings; default none'),
    geometry,
    departure,
  ]),
  ...parametersOf('GET /v1/route/matrix', [
    ['origins', 'pipe-delimited, required', [many(25)], [...NO_PLACES, `${PLAZA}|`]],
    [
      'destinations',
      'pipe-delimited, required; up to 625 routes',
      [many(25), many(625)],
      [...NO_PLACES, many(626)],
    ],
    ['mode', 'one, required', MODES, [ABSENT, 'plane', 'car,foot']],
    units,
    avoid('tolls, highways, ferries'),
    departure,
  ]),
  ...parametersOf('POST /v1/route/match', [
    [
      'path',
      'array of {coordinates}, required',
      [
        [
          { coordinates: PLAZA, createdAt: DATES[0], accuracy: 10 },
          { coordinates: '-34.9059,-56.1925', createdAt: DATES[1] },
        ],
      ],
      [ABSENT, [], [{ coordinates: PLAZA }], 'x', {}],
    ],
    mode,
    [
      'roadAttributes',
      'comma-separated of speedLimit, names, roadClass',
      [ABSENT, 'names', 'speedLimit,names,roadClass'],
      ['colour'],
    ],
    units,
    ['geometry', 'linestring, polyline5 or polyline6; default polyline6', [ABSENT, ...FORMS], ['wkt']],
  ]),
  ...parametersOf('GET /v1/route/directions', [
    ['locations', 'up to 25, pipe-delimited, required', [many(25)], [...NO_PLACES, PLAZA, many(26)]],
    mode,
    units,
    avoid('as distance'),
    ['geometry', 'default polyline6', [ABSENT, ...FORMS], ['wkt']],
    departure,
    ['heading', 'degrees', [ABSENT, 0, 92.5, 360], [-1, 361, 'north']],
    ['alternatives', 'boolean, default false', [ABSENT, true, false], ['maybe']],
    ['lang', 'one of eight, default en', [ABSENT, ...LANGUAGES], ['it', 'english']],
  ]),
  {
    endpoint: 'GET /v1/route/directions',
    name: 'alternatives',
    says: 'only with exactly two locations',
    beside: { locations: `${PLAZA}|${RAMBLA}|${PRADO}` },
    good: [false],
    bad: [true],
  },
  ...parametersOf('GET /v1/route/optimize', [
    ['locations', 'up to 10, pipe-delimited, required', [many(10)], [...NO_PLACES, PLAZA, many(11)]],
    mode,
    units,
    geometry,
    departure,
  ]),
]

const record = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
const number = (value: unknown) => typeof value === 'number' && Number.isFinite(value)
const text = (value: unknown) => typeof value === 'string' && value !== ''
const filled = (value: unknown) => Array.isArray(value) && value.length > 0
const quantity = (value: unknown) => record(value) && number(value.value) && text(value.text)
const place = (value: unknown) => record(value) && number(value.latitude) && number(value.longitude)
const polyline = (value: unknown) => record(value) && text(value.polyline)
const code200 = (value: unknown) => record(value) && value.code === 200

type FieldRows = readonly (readonly [name: string, says: string, is: (value: unknown) => boolean])[]

function fields(endpoint: string, rows: FieldRows): Field[] {
  const all: FieldRows = [['meta', 'with code', code200], ...rows]
  return all.map(([name, says, is]) => ({ of: `Answer of ${endpoint}`, name, says, is }))
}

const leg = 'routes.0.legs.0'
const step = `${leg}.steps.0`

/** Requests whose answers contain every field, by endpoint. */
export const ROUTING_STORY: Readonly<Record<string, Base['request']>> = {
  'GET /v1/route/distance': {
    origin: PLAZA,
    destination: RAMBLA,
    modes: 'car,truck,foot,bike',
    geometry: 'polyline6',
  },
  'GET /v1/route/matrix': { origins: PLAZA, destinations: `${RAMBLA}|${PRADO}`, mode: 'car' },
  'POST /v1/route/match': {
    path: [{ coordinates: RAMBLA }, { coordinates: '-34.9121,-56.1650' }],
    roadAttributes: 'speedLimit,names,roadClass',
  },
  'GET /v1/route/directions': { locations: `${PLAZA}|${RAMBLA}` },
  'GET /v1/route/optimize': { locations: `${PLAZA}|${PRADO}|${RAMBLA}`, geometry: 'polyline6' },
}

export const ROUTING_FIELDS: readonly Field[] = [
  ...fields('GET /v1/route/distance', [
    ['routes.geodesic.distance', 'value and text', quantity],
    ['routes.car.distance', 'value and text', quantity],
    ['routes.car.duration', 'value and text', quantity],
    ['routes.truck.distance', 'one entry per mode', quantity],
    ['routes.foot.distance', 'one entry per mode', quantity],
    ['routes.bike.duration', 'one entry per mode', quantity],
    ['routes.car.geometry', 'where asked for', polyline],
  ]),
  ...fields('GET /v1/route/matrix', [
    ['origins.0', 'latitude, longitude', place],
    ['destinations.1', 'latitude, longitude', place],
    ['matrix.0.1.distance', 'rows per origin', quantity],
    ['matrix.0.1.duration', 'value and text', quantity],
    ['matrix.0.1.originIndex', 'index', (value) => value === 0],
    ['matrix.0.1.destinationIndex', 'index', (value) => value === 1],
  ]),
  ...fields('POST /v1/route/match', [
    ['matchedPath.0', 'latitude, longitude', place],
    ['matchedPath.1.originalIndex', 'index in the path', (value) => value === 1],
    ['roadAttributes', 'items', filled],
    ['roadAttributes.0.roadClass', 'motorway to service_other', text],
    ['roadAttributes.0.speedLimit', 'value, text', quantity],
    ['roadAttributes.0.names', 'array', filled],
    ['roadAttributes.0.startLocation', 'latitude, longitude', place],
    ['roadAttributes.0.endLocation', 'latitude, longitude', place],
    ['roadAttributes.0.originalIndex', 'on some items', (value) => value === 0],
    ['geometry', 'polyline', polyline],
    ['distance', 'value, text', quantity],
  ]),
  ...fields('GET /v1/route/directions', [
    ['routes', 'array', filled],
    ['routes.0.duration', 'value, text', quantity],
    ['routes.0.distance', 'value, text', quantity],
    ['routes.0.geometry', 'polyline', polyline],
    ['routes.0.legs', 'array', filled],
    [`${leg}.startLocation`, 'latitude, longitude', place],
    [`${leg}.endLocation`, 'latitude, longitude', place],
    [`${leg}.duration`, 'value, text', quantity],
    [`${leg}.distance`, 'value, text', quantity],
    [`${leg}.geometry`, 'polyline', polyline],
    [`${leg}.steps`, 'array', filled],
    [`${step}.distance`, 'value, text', quantity],
    [`${step}.duration`, 'value, text', quantity],
    [`${step}.start_location`, 'latitude, longitude', place],
    [`${step}.end_location`, 'latitude, longitude', place],
    [`${step}.bearing_before`, 'degrees', number],
    [`${step}.bearing_after`, 'degrees', number],
    [`${step}.instructions`, 'text', text],
    [`${step}.banner_instructions`, 'array', filled],
    [`${step}.voice_instructions`, 'array', filled],
    [`${step}.geometry`, 'polyline', polyline],
    [`${step}.mode`, 'travel mode', (value) => value === 'car'],
    [`${step}.manuever`, 'spelled this way', (value) => value === 'start'],
    [`${step}.street_name`, 'text', text],
  ]),
  ...fields('GET /v1/route/optimize', [
    ['route.distance', 'value, text', quantity],
    ['route.duration', 'value, text', quantity],
    ['route.legs', 'array', filled],
    ['route.legs.0.startLocation', 'latitude, longitude', place],
    ['route.legs.0.endLocation', 'latitude, longitude', place],
    ['route.legs.0.startIndex', 'index in the input', (value) => value === 0],
    ['route.legs.1.endIndex', 'index in the input', (value) => value === 2],
    ['route.legs.0.distance', 'value, text', quantity],
    ['route.legs.0.duration', 'value, text', quantity],
    ['route.legs.0.geometry', 'where asked for', polyline],
  ]),
]

/** Parameters and fields as items of the coverage. */
export const ROUTING_ITEMS: readonly Item[] = [
  ...ROUTING_PARAMETERS.map(({ endpoint, name, says }) => ({
    section: endpoint,
    name,
    says,
    test: 'parameters',
  })),
  ...ROUTING_FIELDS.map(({ of, name, says }) => ({ section: of, name, says, test: 'fields' })),
].map(({ test, ...item }) => ({ ...item, part: 'routing', heldBy: [`${CONFORMANCE}: ${test}`] }))
