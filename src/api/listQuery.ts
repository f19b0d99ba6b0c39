import Type from 'typebox'
import { DateText, limitOf, parseDate } from './schemas.ts'

/** What every list of records takes (clients.md, "Records"); to be spread into a route's query schema. */
export const ListQuery = {
  limit: limitOf(100, 1000),
  createdBefore: Type.Optional(DateText),
  createdAfter: Type.Optional(DateText),
  updatedBefore: Type.Optional(DateText),
  updatedAfter: Type.Optional(DateText),
}

const BOUNDS = ['createdBefore', 'createdAfter', 'updatedBefore', 'updatedAfter'] as const

/** A page of a list; bounds are exclusive, epoch milliseconds. */
export type ListPage = { readonly limit: number } & {
  readonly [Name in (typeof BOUNDS)[number]]?: number | undefined
}

/**
 * The page that a checked query asks for.
 * @throws ApiError 400 naming the bound that is no date
 */
export function listPage(
  query: { readonly limit: number } & { readonly [Name in (typeof BOUNDS)[number]]?: string | number },
): ListPage {
  const page: { limit: number } & { [Name in (typeof BOUNDS)[number]]?: number } = { limit: query.limit }
  for (const name of BOUNDS) {
    const value = query[name]
    if (value !== undefined) page[name] = parseDate(name, value)
  }
  return page
}
