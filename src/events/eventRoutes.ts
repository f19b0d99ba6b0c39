import Type from 'typebox'
import { listPieces } from '../http/answerText.ts'
import { listPage, listQuery, PageAnswers, unknownBefore } from '../http/listQuery.ts'
import { route } from '../http/route.ts'
import type { Route } from '../http/route.ts'
import { intervalsOf } from '../http/intervals.ts'
import { CountedPage, dateText, IncludeTotal, Name, Text } from '../http/schemas.ts'
import { isoDate } from '../model/isoDate.ts'
import { badParam, notFound } from '../runtime/errors.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import { CONTENT, contentOf } from './contentQuery.ts'
import { eventExportRoute } from './eventExport.ts'
import { EventSchema } from './eventSchema.ts'
import type { EventFeed } from './feed.ts'
import { PAGE_CHARACTERS, TooManyEvents } from './port.ts'
import type { EventQueries, Verification } from './port.ts'

/** How many lists the index makes at a time, each of some megabytes, and how many requests may wait for it. */
const LISTS_AT_ONCE = 4
const MOST_LISTS_WAITING = 200

/** The Android SDK sends these names. */
const VERIFICATIONS: Readonly<Record<string, Verification['verification']>> = {
  ACCEPT: 1,
  UNVERIFY: 0,
  REJECT: -1,
}

const VerdictBody = Type.Object({
  verification: Type.Union(
    [1, 0, -1, ...Object.keys(VERIFICATIONS)].map((value) => Type.Literal(value)),
    { description: '1: it happened; -1: it did not; 0: unknown. Names are accepted too.' },
  ),
  verifiedPlaceId: Type.Optional(Text(256, '`_id` of the place where the user really is.')),
})

const EventPageMeta = Type.Object({
  ...CountedPage.properties,
  next: Type.Optional(
    Type.String({ description: 'The `before` of the next page, if this one ended early.' }),
  ),
})

const IntervalSchema = Type.Object({
  from: Type.String({ format: 'date-time', description: 'The start of the interval.' }),
  total: Type.Integer(),
  types: Type.Record(Type.String(), Type.Integer(), { description: 'By type of event.' }),
})

const EventId = Type.Object({ id: Name(256, 'The `_id` of the event.') })

/** The routes of events: list, one by id, deletion, and verdicts of clients. */
export function eventRoutes(index: EventQueries, feed: Pick<EventFeed, 'forget'>): Route[] {
  const lists = new ConcurrencyLimit(LISTS_AT_ONCE, MOST_LISTS_WAITING)
  return [
    route({
      method: 'GET',
      path: '/v1/events',
      auth: 'secret',
      summary: 'List events',
      tag: 'Events',
      query: Type.Object({
        userId: Type.Optional(Name(256)),
        deviceId: Type.Optional(Name(256)),
        type: Type.Optional(Name(256)),
        ...CONTENT,
        ...listQuery(
          'the time of its update, which is in the past for a replay',
          '`actualCreatedAt` (when it arrived at the server)',
        ),
        order: Type.Optional(
          Type.Enum(['asc', 'desc'], {
            default: 'desc',
            description: '`desc`: newest first, by `createdAt`.',
          }),
        ),
        includeTotal: IncludeTotal,
      }),
      meta: EventPageMeta,
      description:
        'Events are sorted by `createdAt`, newest first unless `order` says otherwise. To receive events as they happen, follow `GET /v1/events/stream` or create a webhook rather than ' +
        'polling. If you poll, use `updatedAfter`, because events of replays are inserted behind newer ones.\n\n' +
        `A page has fewer records than \`limit\`, with \`hasMore\` true, if its events reach ${PAGE_CHARACTERS} characters. ` +
        'Filters by the content of events (`types`, `tag`, `region`, `chain`, `text` and so on), without a user or device, look through all ' +
        'events between `createdAfter` and `createdBefore`. If there are many, a page may end early, even without records: ' +
        'then `meta.next` is the `before` of the next page.\n\n' +
        '`includeTotal` is refused with 400 if more than a million events would have to be counted: give a shorter time.',
      answers: { 200: Type.Object({ events: Type.Array(EventSchema) }), ...PageAnswers },
      async handler({ credentials, query }) {
        const { scope } = credentials!
        const { limit, before, ...bounds } = listPage(query)
        const { userId, deviceId, type } = query
        const filters = { userId, deviceId, type, ...contentOf(query), ...bounds }
        const isAscending = query.order === 'asc'
        const { events, hasMore, next } = await lists.run(() =>
          index.list(scope, { ...filters, limit, before, isAscending }),
        )
        // This is checked last, because an event that was deleted in the meantime must not look like the end of the
        // list.
        if (query.before !== undefined && events.length === 0 && next === undefined) {
          if ((await index.offsetOf(scope, query.before)) === undefined) throw unknownBefore()
        }
        const total =
          query.includeTotal === true
            ? await lists.run(() => index.total(scope, filters)).catch(refuseTotal)
            : undefined
        return { meta: { hasMore, next, total }, pieces: listPieces('"events":', events) }
      },
    }),
    eventExportRoute(index, (work) => lists.run(work)),
    route({
      method: 'GET',
      path: '/v1/events/counts',
      auth: 'secret',
      summary: 'Count events per interval and type',
      tag: 'Events',
      description:
        'Counts by `createdAt`, in intervals of `step` seconds that begin at `from`. The last interval may be shorter. There may be at most 1,000 intervals. If more than ' +
        'a million events are in that time, the request is refused with 400.',
      query: Type.Object({
        from: Type.Optional(dateText('The start. Default: an hour before `to`.')),
        to: Type.Optional(dateText('The end, exclusive. Default: now.')),
        step: Type.Integer({ minimum: 1, maximum: 31 * 86_400, default: 60, description: 'Seconds.' }),
        ...CONTENT,
      }),
      answers: { 200: Type.Object({ counts: Type.Array(IntervalSchema) }) },
      async handler({ credentials, query, receivedAt }) {
        const { from, to, stepMs } = intervalsOf(query, receivedAt)
        const asked = { from, to, stepMs, ...contentOf(query) }
        const counts = await lists.run(() => index.count(credentials!.scope, asked)).catch(refuseTooMany)
        return {
          body: {
            counts: counts.map((types, i) => ({
              from: isoDate(from + i * stepMs),
              total: Object.values(types).reduce((sum, count) => sum + count, 0),
              types,
            })),
          },
        }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/events/:id',
      auth: 'secret',
      summary: 'Get an event',
      tag: 'Events',
      params: EventId,
      answers: { 200: Type.Object({ event: EventSchema }) },
      async handler({ credentials, params }) {
        const event = await index.get(credentials!.scope, params.id)
        if (event === undefined) throw notFound('Event')
        return { json: `"event":${event}` }
      },
    }),
    route({
      method: 'PUT',
      path: '/v1/events/:id/verification',
      auth: 'publishable',
      role: 'write',
      summary: 'Accept or reject an event',
      description:
        'Stores the verification of a client; the last one counts. The response contains the event only for a secret key. All apps share the publishable ' +
        'key, so with that key anybody who knows the `_id` of an event can verify it: treat the verification as a hint.',
      tag: 'Events',
      params: EventId,
      body: VerdictBody,
      answers: {
        200: Type.Object(
          { event: Type.Optional(EventSchema) },
          { description: 'Stored; `event` is present for a secret key only.' },
        ),
      },
      async handler({ credentials, params, body }) {
        const { verifiedPlaceId } = body
        const verification =
          VERIFICATIONS[body.verification] ?? (body.verification as Verification['verification'])
        const event = await index.verify(credentials!.scope, params.id, { verification, verifiedPlaceId })
        if (event === undefined) throw notFound('Event')
        return credentials!.level === 'secret' ? { json: `"event":${event}` } : {}
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/events/:id',
      auth: 'secret',
      role: 'write',
      isEnteredFirst: true,
      summary: 'Delete an event',
      tag: 'Events',
      params: EventId,
      answers: { 200: Type.Object({}) },
      async handler({ credentials, params }) {
        if (!(await index.delete(credentials!.scope, params.id))) throw notFound('Event')
        feed.forget(credentials!.scope, params.id)
        return {}
      },
    }),
  ]
}

function refuseTotal(error: unknown): never {
  if (!(error instanceof TooManyEvents)) throw error
  const sentence = `There are ${error.message} events to count. Give a shorter time with createdAfter and createdBefore.`
  throw badParam('includeTotal', sentence, error)
}

function refuseTooMany(error: unknown): never {
  if (!(error instanceof TooManyEvents)) throw error
  throw badParam('from', `There are ${error.message} events in this time. Ask for a shorter one.`, error)
}
