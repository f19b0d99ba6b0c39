import Type, { type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { shapeCenter } from '../../geometry/shape.ts'
import { beaconOfRow } from '../../registry/beacons/beaconRow.ts'
import { type Change, KINDS, type Kind } from '../../registry/store/editLog.ts'
import type { Entry } from './editStream.ts'
import { fromRow } from '../../registry/geofences/geofenceRow.ts'

/**
 * Changes as entries of the edit stream: the value is the row as JSON, its JSON columns within it as what they are, so that
 * people can read it. Anybody who may write to the stream can write what is no row of ours; nothing that comes from there is
 * believed.
 */
export function entryOf({ kind, key, row }: Change): Entry {
  const name = `${kind}.${key}`
  if (row === undefined) return { name, value: undefined }
  const columns: Record<string, unknown> = { ...row }
  for (const column of JSON_COLUMNS[kind]) columns[column] = JSON.parse(columns[column] as string)
  return { name, value: Buffer.from(JSON.stringify(columns)) }
}

/** The entry is not one that {@link entryOf} made. */
export class EntryUnreadable extends Error {
  override readonly name = 'EntryUnreadable'
}

/**
 * The inverse of {@link entryOf}.
 * @throws {EntryUnreadable}
 */
export function changeOf({ name, value }: Entry): Change {
  const { kind, key } = placeOf(name)
  if (value === undefined) return { kind, key, row: undefined }
  try {
    const columns = JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString())
    const check = CHECKS[kind]
    if (!check.Check(columns)) {
      const [error] = check.Errors(columns)
      throw new Error(`${error?.instancePath ?? ''} ${error?.message ?? 'is not what it should be'}`.trim())
    }
    const row: Record<string, unknown> = { ...(columns as object) }
    const named = NAMES[kind].map((column) => String(row[column])).join('.')
    if (named !== key) throw new Error(`it says that it is ${kind}.${named}`)
    for (const column of JSON_COLUMNS[kind]) row[column] = JSON.stringify(row[column])
    checkFurther(kind, row)
    return { kind, key, row }
  } catch (cause) {
    throw new EntryUnreadable(`${name}: ${(cause as Error).message}`, { cause })
  }
}

/** @throws {EntryUnreadable} */
function placeOf(name: string): { kind: Kind; key: string } {
  const dot = name.indexOf('.')
  const kind = KINDS.find((one) => one === name.slice(0, dot))
  if (kind === undefined) throw new EntryUnreadable(`${name}: there is no such kind`)
  return { kind, key: name.slice(dot + 1) }
}

/** What no schema says. */
function checkFurther(kind: Kind, row: object): void {
  if (kind === 'beacons') beaconOfRow(row as never)
  if (kind !== 'geofences') return
  const { shape } = fromRow(row as never)
  if (!shapeCenter(shape).every(Number.isFinite)) throw new Error('its shape has no centre')
}

/** Columns that hold JSON. */
const JSON_COLUMNS: Readonly<Record<Kind, readonly string[]>> = {
  projects: [],
  keys: [],
  oldKeys: [],
  settings: ['definition'],
  geofences: ['definition'],
  beacons: ['definition'],
  webhooks: ['definition'],
  imports: ['record', 'errors'],
}

/** Columns that make up the key. */
const NAMES: Readonly<Record<Kind, readonly string[]>> = {
  projects: ['id'],
  keys: ['project', 'kind'],
  oldKeys: ['project', 'kind', 'digest'],
  settings: ['scope'],
  geofences: ['scope', 'id'],
  beacons: ['scope', 'id'],
  webhooks: ['scope', 'id'],
  imports: ['scope', 'id'],
}

const Id = Type.String({ pattern: '^[0-9a-f]{24}$' })
const Scope = Type.Integer({ minimum: 0, maximum: 0xffff_ffff })
const Time = Type.Number()
const Finite = Type.Number()
const Text = Type.String()
const Texts = Type.Array(Text)
const Place = Type.Tuple([Finite, Finite])
const Metadata = Type.Record(Text, Type.Union([Text, Finite, Type.Boolean()]))
const Stamps = { createdAt: Time, updatedAt: Time }

const Shape = Type.Union([
  Type.Object({ kind: Type.Literal('circle'), center: Place, radius: Type.Number({ exclusiveMinimum: 0 }) }),
  Type.Object({ kind: Type.Literal('polygon'), ring: Type.Array(Place, { minItems: 4 }) }),
])

const Isochrone = Type.Object({
  destination: Place,
  minutes: Type.Number({ exclusiveMinimum: 0 }),
  computedAt: Type.Optional(Time),
  network: Type.Optional(Text),
  failure: Type.Optional(Text),
})

const GeofenceDefinition = Type.Object({
  description: Text,
  type: Type.Enum(['circle', 'polygon', 'isochrone']),
  shape: Shape,
  enabled: Type.Boolean(),
  timeZone: Text,
  mode: Type.Optional(Text),
  isochrone: Type.Optional(Isochrone),
  metadata: Type.Optional(Metadata),
  stopDetection: Type.Optional(Type.Boolean()),
  disableAfter: Type.Optional(Time),
  deleteAfter: Type.Optional(Time),
  userId: Type.Optional(Text),
  userIds: Type.Optional(Texts),
  ip: Type.Optional(Text),
  dwellThreshold: Type.Optional(Finite),
  placeId: Type.Optional(Text),
  tripApproachingThreshold: Type.Optional(Finite),
})

const BeaconDefinition = Type.Object({
  type: Type.Enum(['ibeacon', 'eddystone']),
  description: Text,
  coordinates: Place,
  enabled: Type.Boolean(),
  metadata: Type.Optional(Metadata),
})

const WebhookDefinition = Type.Object({
  url: Text,
  enabled: Type.Boolean(),
  mode: Type.Enum(['single', 'multiple']),
  secret: Text,
  description: Type.Optional(Text),
  types: Type.Optional(Texts),
  tags: Type.Optional(Texts),
})

const KeyColumns = {
  project: Type.Integer({ minimum: 1 }),
  kind: Type.Enum(['testPublishable', 'livePublishable', 'testSecret', 'liveSecret']),
  digest: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  lastFour: Text,
  createdAt: Time,
}

const SCHEMAS: Readonly<Record<Kind, TSchema>> = {
  projects: Type.Object({
    id: Type.Integer({ minimum: 1 }),
    name: Text,
    createdAt: Time,
    disabled: Type.Integer(),
    quota: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  }),
  keys: Type.Object(KeyColumns),
  oldKeys: Type.Object({ ...KeyColumns, validUntil: Time }),
  settings: Type.Object({ scope: Scope, definition: Type.Object({}) }),
  geofences: Type.Object({
    id: Id,
    scope: Scope,
    tag: Text,
    externalId: Text,
    ...Stamps,
    definition: GeofenceDefinition,
  }),
  beacons: Type.Object({
    id: Id,
    scope: Scope,
    tag: Type.Union([Text, Type.Null()]),
    externalId: Type.Union([Text, Type.Null()]),
    ...Stamps,
    definition: BeaconDefinition,
  }),
  webhooks: Type.Object({ id: Id, scope: Scope, ...Stamps, definition: WebhookDefinition }),
  imports: Type.Object({
    id: Id,
    scope: Scope,
    kind: Type.Enum(['geofences', 'beacons']),
    createdAt: Time,
    record: Type.Object({ status: Text, rows: Finite }),
    errors: Type.Array(Type.Object({})),
  }),
}

const CHECKS = Object.fromEntries(KINDS.map((kind) => [kind, Compile(SCHEMAS[kind])])) as Readonly<
  Record<Kind, ReturnType<typeof Compile>>
>
