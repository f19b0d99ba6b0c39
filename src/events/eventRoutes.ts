import Type from 'typebox'
import { listPage, listQuery, PageAnswers, unknownBefore } from '../http/listQuery.ts'
import { route } from '../http/route.ts'
import type { Route } from '../http/route.ts'
import { Name, Page, Text } from '../http/schemas.ts'
import { notFound } from '../runtime/errors.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import { EventSchema } from './eventSchema.ts'
import type { EventFeed } from './feed.ts'
import { PAGE_CHARACTERS, type EventQueries, type Verification } from './port.ts'

/** Lists that the index makes at a time, of some megabytes each, and requests that wait for it. */
const LISTS_AT_ONCE = 4
const MOST_LISTS_WAITING = 200

/** The Android SDK sends the names. */
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

const EventId = Type.Object({ id: Name(256, 'The `_id` of the event.') })

/** The routes of events: list, one by id, deletion, and verdicts of clients. */
export function eventRoutes(index: EventQueries, feed: Pick<EventFeed, 'forget'>): Route[] {
  const lists = new ConcurrencyLimit(LISTS_AT_ONCE, MOST_LISTS_WAITING)
  return [
    route({
      method: 'GET',
      path: '/v1/events',
      auth: 'secret',
      summary: 'List events, newest first',
      tag: 'Events',
      query: Type.Object({
        userId: Type.Optional(Name(256)),
        deviceId: Type.Optional(Name(256)),
        type: Type.Optional(Name(256)),
        ...listQuery(
          'the time of its update, which is in the past for a replay',
          '`actualCreatedAt` (when it arrived at the server)',
        ),
      }),
      meta: Page,
      description:
        'Sorted by `createdAt`. To receive events as they happen, follow `GET /v1/events/stream` or create a webhook rather than ' +
        'polling. If you poll, use `updatedAfter`, because events of replays are inserted behind newer ones.\n\n' +
        `A page has fewer records than \`limit\`, with \`hasMore\` true, if its events reach ${PAGE_CHARACTERS} characters.`,
      answers: { 200: Type.Object({ events: Type.Array(EventSchema) }), ...PageAnswers },
      async handler({ credentials, query }) {
        const { scope } = credentials!
        const page = listPage(query)
        const { events, hasMore } = await lists.run(() =>
          index.list(scope, {
            userId: query.userId,
            deviceId: query.deviceId,
            type: query.type,
            ...page,
          }),
        )
        // Checked last, because an event that was deleted in the meantime must not look like the end of the list.
        if (query.before !== undefined && events.length === 0) {
          if ((await index.offsetOf(scope, query.before)) === undefined) throw unknownBefore()
        }
        return { meta: { hasMore }, json: `"events":[${events.join(',')}]` }
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
