import Type from 'typebox'
import { ApiError } from '../runtime/errors.ts'
import { dateText, limitOf, parseDate, Text } from './schemas.ts'

/** The paging of every list; to be spread into a route's query schema. */
export const PageQuery = {
  limit: limitOf(100, 1000),
  before: Type.Optional(
    Text(
      256,
      'The `_id` of a record: the response has the records after it in the order of the list. The record need not match the filters. For the next page, send ' +
        'the `_id` of the last record that you have.',
    ),
  ),
}

/** The answers of a list besides 200; to be spread into a route's answers. */
export const PageAnswers = {
  404: Type.Object({}, { description: '`before` is not the `_id` of an existing record.' }),
}

/**
 * The bounds of creation.
 * @param created describes `createdAt` of these records
 */
export function createdQuery(created: string) {
  return {
    createdBefore: Type.Optional(dateText(`Only records whose \`createdAt\` (${created}) is earlier.`)),
    createdAfter: Type.Optional(dateText(`Only records whose \`createdAt\` (${created}) is later.`)),
  }
}

/**
 * The parameters of every list of records; to be spread into a route's query schema.
 * @param created see {@link createdQuery}
 * @param updated the field of updatedBefore and updatedAfter, and its description
 */
export function listQuery(created: string, updated: string) {
  return { ...PageQuery, ...boundsQuery(created, updated) }
}

/** The parameters of {@link listQuery} that choose records, without those of pages. */
export function boundsQuery(created: string, updated: string) {
  return {
    ...createdQuery(created),
    updatedBefore: Type.Optional(dateText(`Only records whose ${updated} is earlier.`)),
    updatedAfter: Type.Optional(dateText(`Only records whose ${updated} is later.`)),
  }
}

/** The query {@link listQuery} for records that are written by calls of the API. */
export const ListQuery = listQuery(
  'when it was created, by the server’s clock',
  '`updatedAt` (when its definition was last written, by the server’s clock)',
)

const BOUNDS = ['createdBefore', 'createdAfter', 'updatedBefore', 'updatedAfter'] as const
type Bound = (typeof BOUNDS)[number]

/** A page of a list. Bounds are exclusive, in epoch milliseconds. */
export type ListPage = { readonly limit: number; readonly before?: string | undefined } & {
  readonly [Name in Bound]?: number | undefined
}

type CheckedQuery = { readonly limit: number; readonly before?: string } & {
  readonly [Name in Bound]?: string | number
}

/**
 * The page that a checked query requests.
 * @throws ApiError 400 naming the bound that is not a date
 */
export function listPage(query: CheckedQuery): ListPage {
  const page: { limit: number; before?: string } & { [Name in Bound]?: number } = { limit: query.limit }
  if (query.before !== undefined) page.before = query.before
  for (const name of BOUNDS) {
    const value = query[name]
    if (value !== undefined) page[name] = parseDate(name, value)
  }
  return page
}

/**
 * A page like {@link listPage}, for a list that knows the order of its records.
 * @param has whether a record with that `_id` exists
 * @throws {ApiError} also 404 if `before` names no record
 */
export function recordPage(query: CheckedQuery, has: (id: string) => boolean): ListPage {
  const page = listPage(query)
  if (page.before !== undefined && !has(page.before)) throw unknownBefore()
  return page
}

/**
 * A page of a list whose records all have different creation times, so that `before` becomes a bound.
 * @param find returns a record of the list by its `_id`
 * @throws {ApiError} 404 if `before` names no record
 */
export function distinctPage(
  query: CheckedQuery,
  find: (id: string) => { readonly createdAt: number } | undefined,
): Omit<ListPage, 'before'> {
  const { before, ...page } = listPage(query)
  if (before === undefined) return page
  const record = find(before)
  if (record === undefined) throw unknownBefore()
  return { ...page, createdBefore: Math.min(page.createdBefore ?? Infinity, record.createdAt) }
}

/** The error 404 for a `before` that names no record of the list. */
export function unknownBefore(): ApiError {
  return new ApiError(404, 'before: No record has this `_id`, or it has been deleted.', { param: 'before' })
}
