import Type from 'typebox'
import { TooManyEvents, type EventQueries } from '../events/port.ts'
import { intervalsOf } from '../http/intervals.ts'
import { route, type Route } from '../http/route.ts'
import { dateText } from '../http/schemas.ts'
import { isoDate } from '../model/isoDate.ts'
import type { ScopeId } from '../model/scope.ts'
import type { UpdateCounts } from './updateCounts.ts'

/** How much a scope has. */
export interface ScopeTotals {
  readonly geofences: number
  readonly beacons: number
}

export interface StatsParts {
  readonly updates: UpdateCounts
  readonly events: Pick<EventQueries, 'count'>
  readonly totals: (scope: ScopeId) => ScopeTotals
}

const DateTime = Type.String({ format: 'date-time' })

const Stats = Type.Object({
  since: Type.String({
    format: 'date-time',
    description: 'Since when this process counts updates; it knows the last day of them.',
  }),
  intervals: Type.Array(
    Type.Object({
      from: DateTime,
      updates: Type.Integer({ description: 'Updates that this process accepted.' }),
      events: Type.Union([Type.Integer(), Type.Null()], {
        description: 'By `createdAt`; null if more than a million events are in the time of the request.',
      }),
    }),
  ),
  totals: Type.Object({ geofences: Type.Integer(), beacons: Type.Integer() }),
})

/** What happens in an environment, over time. */
export function statsRoutes({ updates, events, totals }: StatsParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/stats',
      auth: 'secret',
      tag: 'Operations',
      summary: 'Count updates and events of the environment over time',
      description:
        'Intervals of `step` seconds, whole minutes, of which at most 1,000 lie between `from` and `to`. In the distributed engine, updates are ' +
        'those that came through the gateway that answers; events are those of all.',
      query: Type.Object({
        from: Type.Optional(dateText('The start. Default: an hour before `to`.')),
        to: Type.Optional(dateText('The end, exclusive. Default: now.')),
        step: Type.Integer({
          minimum: 60,
          maximum: 31 * 86_400,
          multipleOf: 60,
          default: 60,
          description: 'Seconds.',
        }),
      }),
      answers: { 200: Type.Object({ stats: Stats }) },
      async handler({ credentials, query, receivedAt }) {
        const { scope } = credentials!
        const { from, to, stepMs } = intervalsOf(query, receivedAt)
        const counts = await events.count(scope, { from, to, stepMs }).catch(unknownIfMany)
        const length = Math.ceil((to - from) / stepMs)
        const intervals = Array.from({ length }, (_, i) => {
          const start = from + i * stepMs
          const types = counts?.[i]
          return {
            from: isoDate(start),
            updates: updates.between(scope, start, Math.min(start + stepMs, to)),
            events: types === undefined ? null : Object.values(types).reduce((sum, count) => sum + count, 0),
          }
        })
        return { body: { stats: { since: isoDate(updates.since), intervals, totals: totals(scope) } } }
      },
    }),
  ]
}

function unknownIfMany(error: unknown): undefined {
  if (!(error instanceof TooManyEvents)) throw error
}
