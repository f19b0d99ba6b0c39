import Type from 'typebox'
import { HOOK_EVENTS, type Hook } from '../../model/hook.ts'
import { isoDate } from '../../model/isoDate.ts'
import { isLive } from '../../model/scope.ts'
import type { Entity } from '../records/entity.ts'
import { AREA_MEMBERS, AREA_TYPES } from '../records/areaFields.ts'
import { recordRows } from '../records/recordRows.ts'
import { DateTime } from '../../http/schemas.ts'
import { EndpointRecord, endpointRecord } from './hookEndpoint.ts'
import { HookBody, NewHookBody, type HookDefinition } from './hookFields.ts'

const Transitions = Type.Array(Type.Enum(Object.values(HOOK_EVENTS).flatMap((types) => Object.keys(types))))
const Texts = Type.Array(Type.String())
const GeofencePair = Type.Object({ tag: Type.String(), externalId: Type.Optional(Type.String()) })

const Area = Type.Object({ type: Type.Enum([...AREA_TYPES]), ...AREA_MEMBERS })
const Roam = Type.Object({ meters: Type.Number() })

/** The rows of hooks. */
const HOOK_ROWS = recordRows(
  'hooks',
  'all',
  Type.Object({
    enabled: Type.Boolean(),
    description: Type.Optional(Type.String()),
    geofence: Type.Optional(GeofencePair),
    area: Type.Optional(Area),
    roam: Type.Optional(Roam),
    detect: Transitions,
    userIds: Type.Optional(Texts),
    deviceIds: Type.Optional(Texts),
    endpoint: Type.Object({ url: Type.String() }),
  }),
)

/**
 * How many hooks an environment may have. Each is a reader of the event log, and takes a share of the outgoing
 * connections.
 */
export const MAX_HOOKS = 100

/** The hook as the API returns it, without its state, which only the process that sends its messages knows. */
export const HOOKS: Omit<Entity<HookDefinition, Hook>, 'parse'> = {
  singular: 'hook',
  plural: 'hooks',
  tag: 'Hooks',
  role: 'admin',
  rows: HOOK_ROWS,
  most: MAX_HOOKS,
  newBody: NewHookBody,
  body: HookBody,
  record: Type.Object(
    {
      _id: Type.String(),
      createdAt: DateTime,
      updatedAt: DateTime,
      live: Type.Boolean(),
      tag: Type.String(),
      externalId: Type.String(),
      description: Type.Optional(Type.String()),
      enabled: Type.Boolean(),
      geofence: Type.Optional(GeofencePair),
      area: Type.Optional(Area),
      roam: Type.Optional(Roam),
      detect: Transitions,
      userIds: Type.Optional(Texts),
      deviceIds: Type.Optional(Texts),
      endpoint: EndpointRecord,
      status: Type.Enum(['active', 'failing', 'paused', 'disabled'], {
        description:
          '`failing`: the last attempts failed, and retries continue. `paused`: nothing is sent until the hook is put ' +
          'again; events that happen in the meantime are kept.',
      }),
      since: Type.Optional(
        Type.String({ format: 'date-time', description: 'Since when it is failing or paused.' }),
      ),
      reason: Type.Optional(Type.String({ description: 'Why it is failing or paused.' })),
      pending: Type.Integer({ description: 'Messages that wait to be sent.' }),
      lastDeliveredAt: Type.Optional(
        Type.String({ format: 'date-time', description: 'When the endpoint last accepted a message.' }),
      ),
    },
    { title: 'Hook' },
  ),
  answer: (hook) => ({
    _id: hook.id,
    createdAt: isoDate(hook.createdAt),
    updatedAt: isoDate(hook.updatedAt),
    live: isLive(hook.scope),
    tag: hook.tag,
    externalId: hook.externalId,
    description: hook.description,
    enabled: hook.enabled,
    geofence: hook.geofence,
    area: hook.area,
    roam: hook.roam,
    detect: hook.detect,
    userIds: hook.userIds,
    deviceIds: hook.deviceIds,
    endpoint: endpointRecord(hook.endpoint),
  }),
}
