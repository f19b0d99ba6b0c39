import Type, { type Static } from 'typebox'
import { atLeastOne } from '../http/needs.ts'
import { route, type Route } from '../http/route.ts'
import { DateText, Name, parseDate, Text } from '../http/schemas.ts'
import { CONVERSION } from '../actor/conversion.ts'
import type { Intake, Users } from '../actor/port.ts'
import { EventSchema } from '../events/eventSchema.ts'
import { conversionJson } from '../events/record.ts'
import type { Conversion } from '../model/event.ts'
import { USER_METADATA_KEYS, type Metadata } from '../model/metadata.ts'
import type { ScopeId } from '../model/scope.ts'
import { newId } from '../runtime/newId.ts'
import { badParam, notFound } from '../runtime/errors.ts'
import { ANONYMOUS } from '../model/device.ts'
import { checkMetadata, MetadataBody } from '../wire/metadataSchema.ts'
import { notFarAhead } from '../wire/trackSchema.ts'

/** Event types of the interface, which an app must not be able to imitate. */
const RESERVED: ReadonlySet<string> = new Set(
  [
    ['entered_geofence', 'exited_geofence', 'dwelled_in_geofence', 'entered_beacon', 'exited_beacon'],
    ['entered_place', 'exited_place', 'nearby_place_chain', 'failed_fraud'],
    ['country', 'state', 'dma', 'postal_code'].flatMap((kind) => [
      `entered_region_${kind}`,
      `exited_region_${kind}`,
    ]),
    ['started_trip', 'updated_trip', 'approaching_trip_destination', 'arrived_at_trip_destination'],
    ['arrived_at_wrong_trip_destination', 'stopped_trip', 'delayed_during_trip', 'fired_trip_orders'],
  ]
    .flat()
    .map((name) => `user.${name}`),
)

const ConversionBody = Type.Object(
  {
    name: Type.Optional(
      Name(256, 'The name of the event, chosen by the app; it becomes the type of the event.'),
    ),
    type: Type.Optional(Name(256, 'Used if `name` is absent.')),
    userId: Type.Optional(Text(256)),
    deviceId: Type.Optional(
      Name(256, 'If absent, the device on which the user was last seen. `anonymous`: nothing is stored.'),
    ),
    installId: Type.Optional(Text(256)),
    metadata: Type.Optional(MetadataBody),
    createdAt: Type.Optional(DateText),
    revenue: Type.Optional(
      Type.Number({ description: 'Stored as `metadata.revenue`, where SDKs expect it.' }),
    ),
  },
  { allOf: [atLeastOne('name', 'type'), atLeastOne('deviceId', 'userId')] },
)

/** The event in the form that its sender gets. */
const { properties } = EventSchema
const AnsweredSchema = Type.Object(
  {
    _id: properties._id,
    type: properties.type,
    createdAt: properties.createdAt,
    actualCreatedAt: properties.actualCreatedAt,
    live: properties.live,
    location: properties.location,
    locationAccuracy: properties.locationAccuracy,
    confidence: properties.confidence,
    metadata: properties.metadata,
    user: Type.Object({
      ...properties.user.properties,
      deviceId: Type.Optional(
        Type.String({
          description: 'Absent if the event was sent with a publishable key and without a user.',
        }),
      ),
    }),
  },
  { title: 'Conversion' },
)

/** POST /v1/events: what a user did, besides location events. */
export function conversionRoutes({
  intake,
  users,
}: {
  readonly intake: Intake
  readonly users: Users
}): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/events',
      auth: 'publishable',
      role: 'write',
      tag: 'Events',
      summary: 'Send a custom event (a conversion)',
      description:
        'Adds the event to those of the device, with its user and last location, and responds when it is written to disk. ' +
        'With a secret key the response contains the whole event; with a publishable key, only the data of the user that was sent.',
      body: ConversionBody,
      answers: {
        200: Type.Object({ event: AnsweredSchema }),
        404: Type.Object({}, { description: 'The user has never been seen on a device.' }),
      },
      async handler({ body, credentials, receivedAt }) {
        const { scope } = credentials!
        const userId = body.userId || undefined
        const conversion = {
          scope,
          userId,
          installId: body.installId || undefined,
          name: nameOf(body),
          metadata: metadataOf(body),
          createdAt: timeOf(body, receivedAt),
          receivedAt,
        }
        const deviceId = body.deviceId ?? (await lastDevice(users, scope, userId))
        const event =
          deviceId === ANONYMOUS
            ? anonymousConversion({ ...conversion, deviceId, userId: undefined })
            : await intake.execute(CONVERSION, { ...conversion, deviceId }, sizeOf(conversion))
        if (credentials!.level === 'secret' || deviceId === ANONYMOUS) return { json: `"event":${event}` }
        const { _id, user } = JSON.parse(event) as Recorded
        const asSent = { ...conversion, deviceId: body.deviceId }
        return { json: `"event":${conversionJson(_id, asSent, { id: user._id }, undefined)}` }
      },
    }),
  ]
}

/** The part of the event's record that its sender gets. */
interface Recorded {
  readonly _id: string
  readonly user: { readonly _id: string }
}

type ConversionBody = Static<typeof ConversionBody>

function nameOf({ name, type }: ConversionBody): string {
  const given = (name ?? type)!
  if (RESERVED.has(plain(given)))
    throw badParam(name === undefined ? 'type' : 'name', 'Must not be the type of an event of the service.')
  return given
}

/**
 * A name without differences that people do not see: case, blanks, characters without a glyph, compatibility forms.
 */
function plain(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/[\p{Default_Ignorable_Code_Point}\p{C}\p{Z}\s]/gu, '')
    .toLowerCase()
}

function metadataOf({ metadata, revenue }: ConversionBody): Metadata | undefined {
  checkMetadata('metadata', metadata)
  if (revenue === undefined) return metadata
  const whole = { ...metadata, revenue }
  if (Object.keys(whole).length > USER_METADATA_KEYS)
    throw badParam('metadata', `Must have at most ${USER_METADATA_KEYS} keys, revenue among them.`)
  return whole
}

/** In epoch milliseconds. */
function timeOf({ createdAt }: ConversionBody, receivedAt: number): number {
  if (createdAt === undefined) return receivedAt
  return notFarAhead('createdAt', parseDate('createdAt', createdAt), receivedAt)
}

/**
 * The device on which the user was last seen.
 * @throws ApiError 400 without a user, 404 if the user was never seen
 */
async function lastDevice(users: Users, scope: ScopeId, userId: string | undefined): Promise<string> {
  if (userId === undefined) throw badParam('deviceId', 'One of deviceId and userId is required.')
  const [found] = (await users.ask({ scope, ask: 'lastDevice', userId })).users
  if (found === undefined) throw notFound('User')
  return found.deviceId
}

/** The event for its sender. Nobody else ever sees it. */
function anonymousConversion(conversion: Conversion): string {
  return conversionJson(newId(conversion.receivedAt), conversion, { id: ANONYMOUS }, undefined)
}

/** The approximate size of the values that a sender chooses, in bytes. */
function sizeOf({ name, metadata = {} }: Pick<Conversion, 'name' | 'metadata'>): number {
  let bytes = name.length
  for (const key in metadata) bytes += key.length + String(metadata[key]).length
  return bytes
}
