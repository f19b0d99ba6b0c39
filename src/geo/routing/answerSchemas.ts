import Type, { type TSchema } from 'typebox'
import type { Answer } from '../../http/route.ts'
import { versionedAnswer } from '../../http/versioned.ts'
import type { LonLatPoint } from './polyline.ts'
import type { RoutingEngine } from './port.ts'

/** Parts of the routing endpoints' answers. */

export const ROUTING_TAG = 'Routing'

export const Distance = Type.Object(
  {
    value: Type.Integer({ description: 'Metres, or feet.' }),
    text: Type.String({ examples: ['5.6 mi'] }),
  },
  { description: 'The length of the route.' },
)
export const Duration = Type.Object(
  {
    value: Type.Number({ description: 'Minutes.' }),
    text: Type.String({ examples: ['20 mins', '1 hr 38 min'] }),
  },
  { description: 'The duration of the journey.' },
)
export const LatLonSchema = Type.Object({ latitude: Type.Number(), longitude: Type.Number() })

const PolylineGeometry = Type.Object(
  {
    type: Type.Union([Type.Literal('polyline5'), Type.Literal('polyline6')]),
    polyline: Type.String({
      description: 'An encoded polyline in the format of Google, with five or six digits, as `type` says.',
    }),
  },
  { description: 'An encoded polyline.' },
)
const LineString = Type.Object(
  {
    type: Type.Literal('LineString'),
    coordinates: Type.Array(
      Type.Array(Type.Number(), { minItems: 2, maxItems: 2, description: '[longitude, latitude]' }),
    ),
  },
  { description: 'A GeoJSON LineString.' },
)
export const Geometry = Type.Union([PolylineGeometry, LineString], {
  description: 'The route in the format that `geometry` asks for.',
})

export const Meta = Type.Object({
  attribution: Type.Optional(
    Type.String({
      description: 'The attribution to show with the result.',
      examples: ['© OpenStreetMap contributors'],
    }),
  ),
})

/** The statuses with which the engine may answer besides 200. */
export const Failures = {
  404: Type.Object(
    {},
    {
      description:
        'A point is outside of all regions or has no road nearby, or there is no route; `meta.param` and ' +
        '`meta.message` say which.',
    },
  ),
  503: Type.Object(
    {},
    { description: 'There is no region yet, or the routing engine is missing or overloaded.' },
  ),
}

export function latLonOf([longitude, latitude]: LonLatPoint): { latitude: number; longitude: number } {
  return { latitude, longitude }
}

/** An answer that names the makers of the data. */
export function credited({ attribution }: RoutingEngine, body: Record<string, unknown>): Answer {
  return attribution === undefined ? { body } : { meta: { attribution }, body }
}

/** An answer like {@link credited}, with a version. */
export function versioned(engine: RoutingEngine, body: Record<string, unknown>): Answer {
  return versionedAnswer(credited(engine, body))
}

/** A value, or null if there is none. */
export function orNull<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()])
}
