import Type from 'typebox'
import { ListQuery, listPage } from '../api/listQuery.ts'
import { route } from '../api/route.ts'
import type { Route } from '../api/route.ts'
import { Name, Page } from '../api/schemas.ts'
import { notFound } from '../runtime/errors.ts'
import { EventSchema } from './eventSchema.ts'
import type { EventIndex } from './port.ts'

const EventId = Type.Object({ id: Name(256, 'The `_id` of the event.') })

/** `GET /v1/events`, `GET /v1/events/:id` and `DELETE /v1/events/:id`. */
export function eventRoutes(index: EventIndex): Route[] {
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
        ...ListQuery,
      }),
      meta: Page,
      answers: { 200: Type.Object({ events: Type.Array(EventSchema) }) },
      async handler({ credentials, query }) {
        const { events, hasMore } = await index.list(credentials!.scope, {
          userId: query.userId,
          deviceId: query.deviceId,
          type: query.type,
          ...listPage(query),
        })
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
      method: 'DELETE',
      path: '/v1/events/:id',
      auth: 'secret',
      summary: 'Delete an event',
      tag: 'Events',
      params: EventId,
      answers: { 200: Type.Object({}) },
      async handler({ credentials, params }) {
        if (!(await index.delete(credentials!.scope, params.id))) throw notFound('Event')
        return {}
      },
    }),
  ]
}
