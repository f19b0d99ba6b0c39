import type Database from 'better-sqlite3'
import type { ScopeId } from '../model/scope.ts'
import type { CountQuery, EventContent, EventQuery } from './port.ts'
import type { OwnedEvent } from './ownedEvents.ts'

/**
 * Finds events by their contents: their geofence, beacon or trip, their confidence, several types.
 *
 * No index supports this, because each index makes every event more expensive, and such searches are made by people,
 * and rarely. So events are examined in the order of time, some thousand at a time, and other queries come in between.
 */

/** How many events one step examines, which takes some ten milliseconds of the thread. */
const LOOKED_AT = 4000

/** One step of a search, newest first. */
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
    const { createdBefore, createdAfter, updatedBefore, updatedAfter } = query
    const rows = this.#look(
      query,
      [
        ['scope = ?', scope],
        ['type = ?', query.type],
        ['createdAt < ?', createdBefore],
        ['createdAt > ?', createdAfter],
        ['actualCreatedAt < ?', updatedBefore],
        ['actualCreatedAt > ?', updatedAfter],
      ],
      cursor,
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
      query,
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

  #look(
    content: EventContent,
    bounds: readonly (readonly [condition: string, value: unknown])[],
    cursor: OwnedEvent | undefined,
  ): Looked[] {
    const wanted = contentConditions(content, 'type', 'events.json').filter(
      ([, value]) => value !== undefined,
    )
    const where = bounds.filter(([, value]) => value !== undefined)
    const conditions = where.map(([condition]) => condition)
    const values = where.map(([, value]) => value)
    if (cursor !== undefined) {
      conditions.push('createdAt <= ?', '(createdAt < ? OR rowid < ?)')
      values.push(cursor.createdAt, cursor.createdAt, cursor.offset)
    }
    const hit = wanted.length === 0 ? '1' : wanted.map(([condition]) => `(${condition})`).join(' AND ')
    const sql = `SELECT rowid AS offset, createdAt, type, coalesce(${hit}, 0) AS hit FROM events INDEXED BY eventsByTime
       WHERE ${conditions.join(' AND ')} ORDER BY createdAt DESC, rowid DESC LIMIT ${LOOKED_AT}`
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare<unknown[], Looked>(sql)
      this.#statements.set(sql, statement)
    }
    return statement.all(...wanted.map(([, value]) => value), ...values)
  }
}

function lastOf(rows: readonly Looked[]): OwnedEvent | undefined {
  return rows.length < LOOKED_AT ? undefined : rows.at(-1)
}
