import Type from 'typebox'
import { route, type Route } from '../../http/route.ts'
import { CoordinatesText, dateText, parseCoordinates, parseDate, Text } from '../../http/schemas.ts'
import { ApiError, badParam } from '../../runtime/errors.ts'
import {
  credited,
  Distance,
  Failures,
  Geometry,
  Meta,
  orNull,
  LatLonSchema,
  latLonOf,
  ROUTING_TAG,
} from './answerSchemas.ts'
import { askEngine } from './asking.ts'
import { writePoints } from './geometryForm.ts'
import { matchPath, type MatchedPiece, type PathPoint } from './matching.ts'
import type { RoutingEngines } from './port.ts'
import type { TraceEdge } from './valhallaJson.ts'
import { costingOf, formOf, GeometryText, ModeText, parseWords, UnitsText } from './travel.ts'
import { distanceOf, speedOf, type Units } from './units.ts'

const MAX_POINTS = 16_000
/** The most bytes of a point, including blanks and more digits than anybody needs. */
const MAX_POINT_BYTES = 160
const ATTRIBUTES = ['speedLimit', 'names', 'roadClass'] as const
type Attribute = (typeof ATTRIBUTES)[number]

const Speed = Type.Object({
  value: orNull(
    Type.Integer({ description: 'In km/h, or in mph with imperial units; null if the road has no limit.' }),
  ),
  text: Type.String({ examples: ['25 mph', 'unlimited'] }),
})

const RoadAttributes = Type.Object({
  roadClass: Type.Optional(
    Type.String({
      description:
        '`motorway`, `trunk`, `primary`, `secondary`, `tertiary`, `residential`, `unclassified` or `service_other`.',
    }),
  ),
  speedLimit: Type.Optional(Speed),
  names: Type.Optional(Type.Array(Type.String())),
  startLocation: LatLonSchema,
  endLocation: LatLonSchema,
  originalIndex: Type.Optional(
    Type.Integer({ description: 'The first point of the path that lies on this road, if there is one.' }),
  ),
})

/** POST /v1/route/match: the roads along a path. */
export function matchRoutes(engines: RoutingEngines): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/route/match',
      auth: 'publishable',
      role: 'read',
      tag: ROUTING_TAG,
      summary: 'Snap a path to roads',
      description:
        'Best with points less than ten seconds apart. Points that are far from all roads, or farther than 2 km from the points before ' +
        'and after them, are left out of `matchedPath`. The geometry crosses a gap in a straight line, which `distance` does not count.',
      body: Type.Object({
        path: Type.Array(
          Type.Object({
            coordinates: CoordinatesText,
            createdAt: Type.Optional(
              dateText('The time of the point; not earlier than that of the previous point.'),
            ),
            accuracy: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: 'Metres.' })),
          }),
          { minItems: 2, maxItems: MAX_POINTS, description: 'The points in their order.' },
        ),
        mode: Type.Optional(ModeText),
        roadAttributes: Type.Optional(
          Text(
            256,
            `Attributes of the roads to return: one or more of ${ATTRIBUTES.join(', ')}, separated by commas. Default: none.`,
          ),
        ),
        units: Type.Optional(UnitsText),
        geometry: Type.Optional(GeometryText),
      }),
      maxBodyBytes: MAX_POINTS * MAX_POINT_BYTES,
      meta: Meta,
      answers: {
        200: Type.Object({
          matchedPath: Type.Array(
            Type.Object({
              latitude: Type.Number(),
              longitude: Type.Number(),
              originalIndex: Type.Integer({ description: 'The index of the point in `path`.' }),
            }),
            { description: 'The points, moved to the roads on which they lie.' },
          ),
          roadAttributes: Type.Optional(
            Type.Array(RoadAttributes, { description: 'The stretches of road in their order.' }),
          ),
          geometry: Geometry,
          distance: Distance,
        }),
        ...Failures,
      },
      handler: async ({ body }) => {
        const { mode = 'car', units = 'imperial', geometry = 'polyline6' } = body
        const attributes =
          body.roadAttributes === undefined
            ? undefined
            : parseWords('roadAttributes', body.roadAttributes, ATTRIBUTES)
        const path = pathOf(body.path)
        const points = path.map(({ lat, lon }, i) => ({
          param: `path.${i}.coordinates`,
          position: [lon, lat] as const,
        }))
        const engine = engines.containing(points)
        const pieces = await askEngine({ engine, mode, points, blamed: 'path' }, () =>
          matchPath(engine, costingOf(mode), path),
        )
        if (pieces.length === 0) {
          throw new ApiError(404, `path: It is not along roads for mode ${mode}.`, { param: 'path' })
        }
        const kilometers = pieces
          .flatMap(({ edges }) => edges)
          .reduce((sum, edge) => sum + (edge.length ?? 0), 0)
        const shape = pieces.flatMap((piece) => piece.shape)
        return credited(engine, {
          matchedPath: pieces.flatMap((piece) =>
            piece.points.map(({ place, originalIndex }) => ({ ...latLonOf(place), originalIndex })),
          ),
          ...(attributes !== undefined && {
            roadAttributes: pieces.flatMap((piece) => roads(piece, attributes, units)),
          }),
          geometry: writePoints(shape, formOf(geometry)),
          distance: distanceOf(kilometers * 1000, units),
        })
      },
    }),
  ]
}

interface SentPoint {
  readonly coordinates: string
  readonly createdAt?: string | number
  readonly accuracy?: number
}

/**
 * The path of a request.
 * @throws {ApiError} 400 naming the member, also for times that go backwards
 */
function pathOf(sent: readonly SentPoint[]): PathPoint[] {
  let last = -Infinity
  return sent.map(({ coordinates, createdAt, accuracy }, i) => {
    const { latitude: lat, longitude: lon } = parseCoordinates(`path.${i}.coordinates`, coordinates)
    const param = `path.${i}.createdAt`
    const time = createdAt === undefined ? undefined : parseDate(param, createdAt)
    if (time !== undefined && time < last)
      throw badParam(param, 'Must not be before that of an earlier point.')
    last = time ?? last
    return {
      lat,
      lon,
      ...(time !== undefined && { time: time / 1000 }),
      ...(accuracy !== undefined && { accuracy }),
    }
  })
}

/** The roads of a piece, in order. */
function roads({ points, edges, shape }: MatchedPiece, attributes: readonly Attribute[], units: Units) {
  const firsts = new Map<number, number>()
  for (const { edge, originalIndex } of points) if (!firsts.has(edge)) firsts.set(edge, originalIndex)
  return edges.map((edge, k) => {
    const { names = [], road_class: roadClass, begin_shape_index: begin = 0, end_shape_index: end = 0 } = edge
    const speedLimit = speedLimitOf(edge, units)
    const originalIndex = firsts.get(k)
    return {
      ...(attributes.includes('roadClass') && roadClass !== undefined && { roadClass }),
      ...(attributes.includes('speedLimit') && speedLimit !== undefined && { speedLimit }),
      ...(attributes.includes('names') && { names }),
      startLocation: latLonOf(shape[begin]!),
      endLocation: latLonOf(shape[end]!),
      ...(originalIndex !== undefined && { originalIndex }),
    }
  })
}

function speedLimitOf({ speed_limit: limit }: TraceEdge, units: Units) {
  if (limit === undefined) return undefined
  return limit === 'unlimited' ? { value: null, text: limit } : speedOf(limit, units)
}
