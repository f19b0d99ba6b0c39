import Type from 'typebox'
import { REGION_KINDS } from '../model/region.ts'

/**
 * Schemas of the parts that events and users have in common, for the OpenAPI document; responses are not
 * checked at run time.
 */

export const PointSchema = Type.Object({
  type: Type.Literal('Point'),
  coordinates: Type.Array(Type.Number(), { minItems: 2, maxItems: 2, description: '[longitude, latitude]' }),
})

export const MetadataSchema = Type.Record(
  Type.String(),
  Type.Union([Type.String(), Type.Boolean(), Type.Number()]),
)

export const DateSchema = Type.String({ format: 'date-time', examples: ['2026-11-20T04:21:00.123Z'] })

/** A geofence as it appears in user context and in events. */
export const GeofenceContextSchema = Type.Object({
  _id: Type.String(),
  tag: Type.String(),
  externalId: Type.String(),
  description: Type.String(),
  metadata: Type.Optional(MetadataSchema),
  type: Type.Union([Type.Literal('circle'), Type.Literal('polygon'), Type.Literal('isochrone')]),
  geometryCenter: PointSchema,
  geometryRadius: Type.Number({
    description: 'In metres: the radius of the circle, or of a circle around the polygon.',
  }),
})

/** A beacon as it appears in user context and in events. */
export const BeaconContextSchema = Type.Object({
  _id: Type.String(),
  type: Type.Union([Type.Literal('ibeacon'), Type.Literal('eddystone')]),
  uuid: Type.Optional(Type.String()),
  major: Type.Optional(Type.String()),
  minor: Type.Optional(Type.String()),
  uid: Type.Optional(Type.String()),
  instance: Type.Optional(Type.String()),
  description: Type.String(),
  tag: Type.Optional(Type.String()),
  externalId: Type.Optional(Type.String()),
  enabled: Type.Boolean(),
  metadata: Type.Optional(MetadataSchema),
})

/** The licence of the borders (ODbL) asks for their credit. */
const COUNTRY = {
  description: 'Borders: © OpenStreetMap contributors. If you show it to others, show this credit.',
}

/** A country, or a state, television market or postal code of the United States. */
export const RegionSchema = Type.Object({
  _id: Type.String(),
  type: Type.Enum([...REGION_KINDS]),
  code: Type.String({ examples: ['US', 'NY', '501', '11201'] }),
  name: Type.String(),
  flag: Type.Optional(Type.String({ description: 'Only for a country: its flag, as an emoji.' })),
})

/** The regions of a location, as members of a user or a context. */
export const RegionMembers = {
  country: Type.Optional(Type.Object(RegionSchema.properties, COUNTRY)),
  state: Type.Optional(RegionSchema),
  dma: Type.Optional(RegionSchema),
  postalCode: Type.Optional(RegionSchema),
}

/** A chain as an environment sees it. */
export const ChainSchema = Type.Object({
  name: Type.String(),
  slug: Type.String(),
  domain: Type.Optional(Type.String()),
  externalId: Type.Optional(
    Type.String({ description: 'Your own id of the chain, from the setting chainMappings.' }),
  ),
  metadata: Type.Optional(MetadataSchema),
})

/** A place of an imported map region. */
export const PlaceSchema = Type.Object({
  _id: Type.String(),
  name: Type.String(),
  categories: Type.Array(Type.String(), { description: 'Slugs, root first.' }),
  location: PointSchema,
  chain: Type.Optional(ChainSchema),
})

const DateOrNull = Type.Union([DateSchema, Type.Null()])

/** The fraud of a user according to the last update. */
export const FraudSchema = Type.Object({
  passed: Type.Boolean({
    description: 'False if blocked, or if any flag is raised and the user is not bypassed.',
  }),
  bypassed: Type.Boolean(),
  verified: Type.Boolean(),
  blocked: Type.Boolean(),
  mocked: Type.Boolean(),
  jumped: Type.Boolean(),
  compromised: Type.Boolean(),
  inaccurate: Type.Boolean(),
  proxy: Type.Boolean(),
  sharing: Type.Boolean(),
  lastMockedAt: DateOrNull,
  lastJumpedAt: DateOrNull,
  lastCompromisedAt: DateOrNull,
  lastInaccurateAt: DateOrNull,
  lastProxyAt: DateOrNull,
  lastSharingAt: DateOrNull,
})
