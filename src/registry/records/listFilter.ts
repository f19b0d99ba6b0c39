import Type from 'typebox'
import { listPage, ListQuery } from '../../http/listQuery.ts'
import { MetadataFilter, Name, Text } from '../../http/schemas.ts'
import { metadataMatcher, type Metadata } from '../../model/metadata.ts'
import { MAX_ID_LENGTH } from './recordFields.ts'
import type { Listed, RecordFilter } from './recordList.ts'

const { limit: _limit, before: _before, ...Bounds } = ListQuery

/** The filters of lists of records, and of changes to all records that match. */
export const FilterQuery = {
  tag: Type.Optional(Text(MAX_ID_LENGTH)),
  externalId: Type.Optional(Text(MAX_ID_LENGTH)),
  metadata: Type.Optional(MetadataFilter),
  text: Type.Optional(
    Name(
      MAX_ID_LENGTH,
      'A text to look for in the description, tag and externalId. Upper and lower case are equal.',
    ),
  ),
  ...Bounds,
}

interface CheckedFilter {
  readonly tag?: string
  readonly externalId?: string
  readonly metadata?: Readonly<Record<string, string>>
  readonly text?: string
  readonly createdBefore?: string | number
  readonly createdAfter?: string | number
  readonly updatedBefore?: string | number
  readonly updatedAfter?: string | number
}

/** The members that filters look at, besides those that every record has. */
interface Described extends Listed {
  readonly description?: string
  readonly metadata?: Metadata
}

/**
 * The filter in a checked query.
 * @throws {ApiError} 400 naming the bound that is not a date
 */
export function filterOf<T extends Described>(query: CheckedFilter): RecordFilter<T> {
  const { limit: _none, ...bounds } = listPage({ limit: 0, ...boundsOf(query) })
  const { tag, externalId, metadata, text } = query
  const hasMetadata = metadataMatcher(metadata ?? {})
  const hasText = textMatcher(text)
  return {
    ...bounds,
    tag,
    externalId,
    accept:
      metadata === undefined && text === undefined
        ? undefined
        : (record) => hasMetadata(record.metadata) && hasText(record),
  }
}

/** Whether the filter matches every record. */
export function isEmptyFilter(query: CheckedFilter): boolean {
  const { tag, externalId, text, metadata = {} } = query
  const texts = [tag, externalId, text, ...Object.keys(metadata)]
  return texts.every((one) => one === undefined) && Object.keys(boundsOf(query)).length === 0
}

/** Whether one record still matches. */
export function matchesFilter<T extends Listed>(record: T, filter: RecordFilter<T>): boolean {
  const { tag, externalId, accept } = filter
  const { createdBefore = Infinity, createdAfter = -Infinity } = filter
  const { updatedBefore = Infinity, updatedAfter = -Infinity } = filter
  return (
    (tag === undefined || record.tag === tag) &&
    (externalId === undefined || record.externalId === externalId) &&
    record.createdAt < createdBefore &&
    record.createdAt > createdAfter &&
    record.updatedAt < updatedBefore &&
    record.updatedAt > updatedAfter &&
    accept?.(record) !== false
  )
}

function boundsOf(query: CheckedFilter): Omit<CheckedFilter, 'tag' | 'externalId' | 'metadata' | 'text'> {
  const names = ['createdBefore', 'createdAfter', 'updatedBefore', 'updatedAfter'] as const
  return Object.fromEntries(names.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])))
}

/**
 * Returns a function that tells whether a record contains the text, in upper or lower case. If there is no text, every
 * record matches.
 */
function textMatcher(text: string | undefined): (record: Described) => boolean {
  if (text === undefined) return () => true
  const wanted = text.toLowerCase()
  return ({ description, tag, externalId }) =>
    [description, tag, externalId].some((one) => one?.toLowerCase().includes(wanted))
}
