import Type from 'typebox'
import { limitOf, Name, Page } from '../../http/schemas.ts'
import { route, type Route } from '../../http/route.ts'
import { isoDate } from '../../model/isoDate.ts'
import { projectOf } from '../../model/scope.ts'
import { ConcurrencyLimit } from '../../runtime/concurrencyLimit.ts'
import { inSlices } from '../../runtime/slices.ts'
import { AUDIT_PAGE_CHARACTERS, type Audit } from './audit.ts'
import { timeOfAuditId, type AuditDetail, type AuditRow } from './auditRows.ts'

/** How many lists are made at a time, in turns, and how many may wait. */
const LISTS_AT_ONCE = 2
const MOST_LISTS_WAITING = 50

const Values = Type.Optional(Type.Record(Type.String(), Type.Unknown()))
const Entry = Type.Object({
  _id: Type.String(),
  at: Type.String({ format: 'date-time' }),
  actor: Type.Object({
    kind: Type.Enum(['session', 'key', 'command', 'system']),
    id: Type.String(),
    label: Type.String({ description: 'An e-mail address, or the last four characters of a key.' }),
  }),
  ip: Type.Optional(Type.String()),
  requestId: Type.Optional(Type.String()),
  action: Type.String({
    description:
      '`geofence.created`, `geofence.changed`, `geofence.deleted`, and the same for other records; `geofence.changedMany` for several long records that were changed at once, for example by ' +
      'an import of large polygons, without values; or the method and path of a call that changed no such record.',
  }),
  target: Type.String({
    description:
      'What was changed. For a record with a pair, this is the tag and externalId with a slash between them.',
  }),
  live: Type.Optional(Type.Boolean()),
  before: Values,
  after: Values,
  leftOut: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'The members that were too long to be kept, such as `before.userIds`. If this names a member of `before`, the record cannot be restored from this entry.',
    }),
  ),
})

/** The routes that read the audit. No route changes it. */
export function auditRoutes(audit: Audit): Route[] {
  const lists = new ConcurrencyLimit(LISTS_AT_ONCE, MOST_LISTS_WAITING)
  return [
    route({
      method: 'GET',
      path: '/v1/audit',
      auth: 'account',
      role: 'admin',
      tag: 'People',
      summary: 'List what was changed, newest first',
      description:
        'Lists the changes of both environments of the project. `before` and `after` show the record as the API does, without secrets; a geofence, beacon or hook is ' +
        'restored by a PUT of its `before` to its pair. If a record has more than 256 KiB as JSON, its longest members are left out, and `leftOut` names them. ' +
        `A page has fewer entries than \`limit\`, with \`hasMore\` true, if they reach ${AUDIT_PAGE_CHARACTERS} characters.`,
      query: Type.Object({
        actor: Type.Optional(Name(256, 'The `id` of an actor.')),
        action: Type.Optional(Name(256)),
        target: Type.Optional(Name(600)),
        before: Type.Optional(
          Name(
            24,
            'The `_id` of an entry: the response has the entries before it. For the next page, send that of the last entry that you have.',
          ),
        ),
        limit: limitOf(100, 1000),
      }),
      meta: Page,
      answers: { 200: Type.Object({ audit: Type.Array(Entry) }) },
      async handler({ credentials, query }) {
        const steps = () => audit.listSteps(projectOf(credentials!.scope), query)
        const { rows, hasMore } = await lists.run(() => inSlices(steps()))
        return { meta: { hasMore }, body: { audit: rows.map(entryOf) } }
      },
    }),
  ]
}

function entryOf({ id, action, target, detail }: AuditRow) {
  const { actor, ip, requestId, live, before, after, leftOut } = JSON.parse(detail) as AuditDetail
  return {
    _id: id,
    at: isoDate(timeOfAuditId(id)),
    actor,
    ip,
    requestId,
    action,
    target,
    live,
    before,
    after,
    leftOut,
  }
}
