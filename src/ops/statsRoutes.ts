import Type from 'typebox'
import { TooManyEvents, type EventQueries } from '../events/port.ts'
import { intervalsOf } from '../http/intervals.ts'
import { route, type Route } from '../http/route.ts'
import { dateText } from '../http/schemas.ts'
import { isoDate } from '../model/isoDate.ts'
import type { ScopeId } from '../model/scope.ts'
import type { UpdateTotals } from '../model/updateTotals.ts'

/** How many records and users a scope has. */
export interface ScopeTotals {
  readonly geofences: number
  readonly beacons: number
}

export interface StatsParts {
  readonly updates: UpdateTotals
  readonly events: Pick<EventQueries, 'count'>
  readonly totals: (scope: ScopeId) => ScopeTotals
}

const DateTime = Type.String({ format: 'date-time' })

const Stats = Type.Object({
  since: Type.String({
    format: 'date-time',
    description:
      'The time since which updates are counted: the last start of the server, or of one of its gateways. Counts are kept for a day.',
  }),
  intervals: Type.Array(
    Type.Object({
      from: DateTime,
      updates: Type.Integer({ description: 'Updates that were accepted, by all gateways together.' }),
      events: Type.Union([Type.Integer(), Type.Null()], {
        description:
          'The events whose `createdAt` is in the interval. It is null if more than a million events are in the time of the request.',
      }),
    }),
  ),
  totals: Type.Object({ geofences: Type.Integer(), beacons: Type.Integer() }),
})

/** The routes that show what happens in an environment over time. */
export function statsRoutes({ updates, events, totals }: StatsParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/stats',
      auth: 'secret',
      tag: 'Operations',
      summary: 'Count updates and events of the environment over time',
      description:
        'Counts in intervals of `step` seconds, which must be whole minutes. There may be at most 1,000 intervals between `from` and `to`. In the distributed engine, each ' +
        'gateway counts the updates that it received, and the answer is the sum over the gateways that run.',
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
        const [counts, counted] = await Promise.all([
          events.count(scope, { from, to, stepMs }).catch(unknownIfMany),
          updates.count({ scope, from, to, stepMs }),
        ])
        const intervals = counted.counts.map((updated, i) => {
          const types = counts?.[i]
          return {
            from: isoDate(from + i * stepMs),
            updates: updated,
            events: types === undefined ? null : Object.values(types).reduce((sum, count) => sum + count, 0),
          }
        })
        return { body: { stats: { since: isoDate(counted.since), intervals, totals: totals(scope) } } }
      },
    }),
  ]
}

function unknownIfMany(error: unknown): undefined {
  if (!(error instanceof TooManyEvents)) throw error
}
