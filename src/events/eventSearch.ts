import type Database from 'better-sqlite3'
import type { ScopeId } from '../model/scope.ts'
import type { CountQuery, EventContent, EventFilters, EventQuery } from './port.ts'
import type { OwnedEvent } from './ownedEvents.ts'

/**
 * Finds events by their contents: their geofence, beacon or trip, their confidence, several types.
 *
 * No index supports this, because each index makes every event more expensive, and such searches are made by people,
 * and rarely. So events are examined in the order of time, some thousand at a time, and other queries come in between.
 */

/** How many events one step examines, which takes some ten milliseconds of the thread. */
const LOOKED_AT = 4000

/** One step of a search, in the order of the list. */
export interface SearchStep {
  readonly offsets: readonly number[]
  /** The last event that was examined; undefined if none is left. */
  readonly cursor: OwnedEvent | undefined
}

/** One step of counting: how many of each type are in each interval. */
export interface CountStep {
  readonly counts: readonly (readonly [interval: number, type: string, count: number])[]
  readonly examined: number
  readonly cursor: OwnedEvent | undefined
}

/** One step of counting the events of a list. */
export interface TotalStep {
  readonly count: number
  readonly examined: number
  readonly cursor: OwnedEvent | undefined
}

/** A condition whose value is undefined does not count. */
type Bound = readonly [condition: string, value: unknown]

interface Looked extends OwnedEvent {
  readonly type: string
  readonly hit: 0 | 1
}

const CONTENT_NAMES = [
  'types',
  'tag',
  'externalId',
  'placeId',
  'chain',
  'category',
  'region',
  'failureReason',
  'text',
  'minimumConfidence',
] as const satisfies readonly (keyof EventContent)[]

/** The members of an event in which people's names for its parts are found. */
const NAMES = [
  '$.user.userId',
  '$.user.deviceId',
  ...['geofence', 'beacon'].flatMap((of) =>
    ['description', 'tag', 'externalId'].map((name) => `$.${of}.${name}`),
  ),
  ...['externalId', 'destinationGeofenceTag', 'destinationGeofenceExternalId'].map(
    (name) => `$.trip.${name}`,
  ),
  '$.place.name',
]
  .map((path) => `'${path}'`)
  .join(', ')

/**
 * Whether one of the texts contains the other, in upper or lower case. SQLite ignores the case of ASCII letters only.
 * @param texts JSON
 */
function hasText(wanted: string, texts: string): 0 | 1 {
  const names = JSON.parse(texts) as (string | null)[]
  return names.some((name) => typeof name === 'string' && name.toLowerCase().includes(wanted)) ? 1 : 0
}

/** Whether a query has to look at the contents of events. */
export function looksInto(content: EventContent): boolean {
  return CONTENT_NAMES.some((name) => content[name] !== undefined)
}

/**
 * The conditions on the content of an event, with their values.
 * @param json the column with its table, because json_each has a column of the same name
 */
export function contentConditions(
  {
    types,
    tag,
    externalId,
    placeId,
    chain,
    category,
    region,
    failureReason,
    text,
    minimumConfidence,
  }: EventContent,
  type: string,
  json: string,
): (readonly [condition: string, value: unknown])[] {
  const pairOf = (member: string, ofTrip: string) =>
    `CASE WHEN json_type(${json}, '$.trip') IS NULL
       THEN coalesce(json_extract(${json}, '$.geofence.${member}'), json_extract(${json}, '$.beacon.${member}'))
       ELSE json_extract(${json}, '$.trip.${ofTrip}') END = ?`
  return [
    [`${type} IN (SELECT value FROM json_each(?))`, types && JSON.stringify(types)],
    [pairOf('tag', 'destinationGeofenceTag'), tag],
    [pairOf('externalId', 'destinationGeofenceExternalId'), externalId],
    [`json_extract(${json}, '$.place._id') = ?`, placeId],
    [`json_extract(${json}, '$.place.chain.slug') = ?`, chain],
    [`? IN (SELECT value FROM json_each(${json}, '$.place.categories'))`, category],
    [`? IN (json_extract(${json}, '$.region.code'), json_extract(${json}, '$.region._id'))`, region],
    [`? IN (SELECT value FROM json_each(${json}, '$.failureReasons'))`, failureReason],
    [`has_text(?, json_extract(${json}, ${NAMES}))`, text?.toLowerCase()],
    [`json_extract(${json}, '$.confidence') >= ?`, minimumConfidence],
  ]
}

export class EventSearch {
  readonly #database: Database.Database
  readonly #statements = new Map<string, Database.Statement<unknown[], Looked>>()

  constructor(database: Database.Database) {
    this.#database = database
    database.function('has_text', { deterministic: true }, hasText)
  }

  /** Some of the events that match, after the cursor. */
  find(scope: ScopeId, query: EventQuery, cursor: OwnedEvent | undefined): SearchStep {
    const rows = this.#look(
      hitsOf(query),
      [...timesOf(scope, query), ...othersOf(query)],
      cursor,
      query.isAscending,
    )
    const offsets: number[] = []
    for (const row of rows) {
      if (row.hit === 0) continue
      offsets.push(row.offset)
      if (offsets.length === query.limit + 1) return { offsets, cursor: row }
    }
    return { offsets, cursor: lastOf(rows) }
  }

  /** Counts some thousand events after the cursor, newest first. */
  count(scope: ScopeId, query: CountQuery, cursor: OwnedEvent | undefined): CountStep {
    const { from, to, stepMs } = query
    const rows = this.#look(
      hitsOf(query),
      [
        ['scope = ?', scope],
        ['createdAt >= ?', from],
        ['createdAt < ?', to],
      ],
      cursor,
    )
    const counts = new Map<string, [number, string, number]>()
    for (const { hit, type, createdAt } of rows) {
      if (hit === 0) continue
      const interval = Math.floor((createdAt - from) / stepMs)
      const key = `${interval} ${type}`
      const known = counts.get(key)
      if (known === undefined) counts.set(key, [interval, type, 1])
      else known[2]++
    }
    return { counts: [...counts.values()], examined: rows.length, cursor: lastOf(rows) }
  }

  /** Counts those of some thousand events after the cursor that a list has, newest first. */
  total(scope: ScopeId, filters: EventFilters, cursor: OwnedEvent | undefined): TotalStep {
    // Not as bounds: then a step would look for thousands of a type that is rare.
    const rows = this.#look([...hitsOf(filters), ...othersOf(filters)], timesOf(scope, filters), cursor)
    const count = rows.reduce((sum, { hit }) => sum + hit, 0)
    return { count, examined: rows.length, cursor: lastOf(rows) }
  }

  /**
   * @param hits what makes an event a hit
   * @param bounds which events are looked at
   */
  #look(
    hits: readonly Bound[],
    bounds: readonly Bound[],
    cursor: OwnedEvent | undefined,
    isAscending = false,
  ): Looked[] {
    const wanted = hits.filter(([, value]) => value !== undefined)
    const where = bounds.filter(([, value]) => value !== undefined)
    const conditions = where.map(([condition]) => condition)
    const values = where.map(([, value]) => value)
    if (cursor !== undefined) {
      conditions.push(...afterCursor(isAscending))
      values.push(cursor.createdAt, cursor.createdAt, cursor.offset)
    }
    const hit = wanted.length === 0 ? '1' : wanted.map(([condition]) => `(${condition})`).join(' AND ')
    const sql = `SELECT rowid AS offset, createdAt, type, coalesce(${hit}, 0) AS hit FROM events INDEXED BY eventsByTime
       WHERE ${conditions.join(' AND ')} ORDER BY ${orderOf(isAscending)} LIMIT ${LOOKED_AT}`
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare<unknown[], Looked>(sql)
      this.#statements.set(sql, statement)
    }
    return statement.all(...wanted.map(([, value]) => value), ...values)
  }
}

function hitsOf(content: EventContent): readonly Bound[] {
  return contentConditions(content, 'type', 'events.json')
}

/** The conditions that lead to a range of the index. */
function timesOf(scope: ScopeId, { createdBefore, createdAfter }: EventFilters): Bound[] {
  return [
    ['scope = ?', scope],
    ['createdAt < ?', createdBefore],
    ['createdAt > ?', createdAfter],
  ]
}

/** The other conditions on the columns of an event. */
function othersOf({ type, updatedBefore, updatedAfter }: EventFilters): Bound[] {
  return [
    ['type = ?', type],
    ['actualCreatedAt < ?', updatedBefore],
    ['actualCreatedAt > ?', updatedAfter],
  ]
}

/**
 * Conditions for the events that follow another one in a list. Their values are its time, again its time, and its
 * offset. The first condition alone would be enough for an index to begin there.
 */
export function afterCursor(isAscending: boolean): [string, string] {
  const beyond = isAscending ? '>' : '<'
  return [`createdAt ${beyond}= ?`, `(createdAt ${beyond} ? OR rowid ${beyond} ?)`]
}

/** The order of a list. */
export function orderOf(isAscending: boolean): string {
  const direction = isAscending ? 'ASC' : 'DESC'
  return `createdAt ${direction}, rowid ${direction}`
}

function lastOf(rows: readonly Looked[]): OwnedEvent | undefined {
  return rows.length < LOOKED_AT ? undefined : rows.at(-1)
}
