import Type from 'typebox'
import { csvLine } from '../http/csvLine.ts'
import { boundsQuery, listPage } from '../http/listQuery.ts'
import { route, type Route } from '../http/route.ts'
import { Name } from '../http/schemas.ts'
import { isLive, type ScopeId } from '../model/scope.ts'
import { ownTurn } from '../runtime/slices.ts'
import { CONTENT, contentOf } from './contentQuery.ts'
import { EVENT_COLUMNS, eventCells } from './eventCells.ts'
import { EventSchema } from './eventSchema.ts'
import type { EventList, EventQueries, EventQuery } from './port.ts'

/**
 * How many events a page has at most; it also ends after PAGE_CHARACTERS. Each stalled reader holds a page, and pages are garbage until
 * the next collection: with a thousand events a page, a hundred stalled readers made the process grow by twice as much.
 */
const PAGE_EVENTS = 200
/** How many characters of events become text of the file before others have a turn. A page may have megabytes. */
const TURN_CHARACTERS = 64 * 1024

/** Runs the work when there is room for it: only few lists are read at a time. */
type Limited = (work: () => Promise<EventList>) => Promise<EventList>

/** The route `GET /v1/exports/events`, which answers with all matching events as a file. */
export function eventExportRoute(index: Pick<EventQueries, 'list' | 'offsetOf'>, limited: Limited): Route {
  return route({
    method: 'GET',
    path: '/v1/exports/events',
    auth: 'secret',
    tag: 'Import and export',
    summary: 'Export events',
    description:
      'Sorted by `createdAt`, newest first, with the filters of the list of events. `csv` has columns for everything that an event may be ' +
      'about: its geofence, beacon, place, region, fraud and trip. Lists in a cell are separated by commas. `ndjson` has one ' +
      'event on each line, in the form of the list.',
    query: Type.Object({
      format: Type.Optional(Type.Enum(['csv', 'ndjson'], { default: 'csv' })),
      userId: Type.Optional(Name(256)),
      deviceId: Type.Optional(Name(256)),
      type: Type.Optional(Name(256)),
      ...CONTENT,
      ...boundsQuery(
        'the time of its update, which is in the past for a replay',
        '`actualCreatedAt` (when it arrived at the server)',
      ),
    }),
    answers: {
      200: Type.Object(
        {},
        {
          contents: { 'text/csv': Type.String(), 'application/x-ndjson': EventSchema },
          description: 'The file.',
        },
      ),
    },
    handler: ({ credentials, query }) => {
      const { format = 'csv', userId, deviceId, type } = query
      const { scope } = credentials!
      const page = listPage({ ...query, limit: PAGE_EVENTS })
      const wish = { userId, deviceId, type, ...contentOf(query), ...page }
      const held = { characters: 0 }
      const groups = inTurns(pagesOf(scope, wish, index, limited), held)
      return {
        stream: {
          contentType: format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson',
          fileName: `events-${isLive(scope) ? 'live' : 'test'}.${format}`,
          chunks: format === 'csv' ? csvText(groups) : linesOf(groups),
          heldBytes: () => held.characters,
        },
      }
    },
  })
}

/** The pages of the answer. Each page is read only when the client has read the one before. */
async function* pagesOf(
  scope: ScopeId,
  wish: EventQuery,
  index: Pick<EventQueries, 'list' | 'offsetOf'>,
  limited: Limited,
): AsyncGenerator<readonly string[]> {
  let before: string | undefined
  for (;;) {
    const { events, hasMore, next } = await limited(() => index.list(scope, { ...wish, before }))
    // An incomplete file must not look like a complete one.
    if (events.length === 0 && next === undefined && before !== undefined) {
      if ((await index.offsetOf(scope, before)) === undefined)
        throw new Error('the event after which the export was to continue has been deleted')
    }
    if (events.length > 0) yield events
    if (!hasMore) return
    before = next ?? (JSON.parse(events.at(-1)!) as { _id: string })._id
  }
}

/**
 * The events of the pages in groups, with a turn of the event loop between them.
 * @param held is kept up to date: how many characters the present page has that have not become text
 */
async function* inTurns(
  pages: AsyncIterable<readonly string[]>,
  held: { characters: number },
): AsyncGenerator<readonly string[]> {
  for await (const page of pages) {
    let from = 0
    let characters = 0
    held.characters = page.reduce((sum, { length }) => sum + length, 0)
    for (const [i, { length }] of page.entries()) {
      characters += length
      held.characters -= length
      if (characters < TURN_CHARACTERS && i < page.length - 1) continue
      yield page.slice(from, i + 1)
      from = i + 1
      characters = 0
      await ownTurn()
    }
  }
}

async function* csvText(groups: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  yield csvLine(EVENT_COLUMNS)
  for await (const group of groups) {
    yield group
      .map((json) => {
        const cells = eventCells(JSON.parse(json))
        return csvLine(EVENT_COLUMNS.map((column) => cells[column]))
      })
      .join('')
  }
}

async function* linesOf(groups: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  for await (const group of groups) yield `${group.join('\n')}\n`
}
