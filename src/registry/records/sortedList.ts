import type { Listed, RecordList, RecordPage, RecordQuery } from './recordList.ts'
import type { RecordStore } from './recordStore.ts'

/** The fields by which a list can be sorted. */
export const SORT_FIELDS = ['createdAt', 'updatedAt', 'description', 'tag', 'externalId'] as const
type SortField = (typeof SORT_FIELDS)[number]

export interface ListOrder {
  readonly by: SortField
  readonly isAscending: boolean
}

/** A page, and how many records match its filters in all. */
interface CountedPage<T> extends RecordPage<T> {
  readonly total: number
}

interface Entry<T> {
  readonly record: T
  readonly text: string
  readonly time: number
  /** A number that decides between equal records; see {@link RecordList.placeOf}. */
  readonly place: number
}

/** Compares texts so that `Store 2` comes before `Store 10`. */
const texts = new Intl.Collator('und', { numeric: true })

/**
 * A page in any order, some records in each step. No list is kept in these orders, so all matching records are
 * examined, but only those of the page are held.
 */
export function* sortedSteps<T extends Listed>(
  store: Pick<RecordStore<T>, 'matching'> & { readonly records: Pick<RecordList<T>, 'get' | 'placeOf'> },
  { before, limit, ...filter }: RecordQuery<T>,
  order: ListOrder,
): Generator<void, CountedPage<T>> {
  const entryOf = (record: T): Entry<T> => ({
    record,
    text: textOf(record, order.by),
    time: order.by === 'updatedAt' ? record.updatedAt : 0,
    place: store.records.placeOf(record.id),
  })
  const direction = order.isAscending ? 1 : -1
  const compare = (a: Entry<T>, b: Entry<T>): number =>
    direction * (a.time - b.time || texts.compare(a.text, b.text) || a.place - b.place)
  const cursor = before === undefined ? undefined : store.records.get(before)
  const after = cursor && entryOf(cursor)
  const first: Entry<T>[] = []
  let [total, following] = [0, 0]
  for (const record of store.matching(filter)) {
    if (record === undefined) {
      yield
      continue
    }
    total++
    const entry = entryOf(record)
    if (after !== undefined && compare(entry, after) <= 0) continue
    following++
    insert(first, entry, compare, limit)
  }
  return { records: first.map(({ record }) => record), hasMore: following > limit, total }
}

function textOf(record: Listed & { readonly description?: string }, by: SortField): string {
  return by === 'createdAt' || by === 'updatedAt' ? '' : (record[by] ?? '')
}

/** Inserts an entry among the first ones, of which at most `limit` are kept. A page has at most a thousand. */
function insert<E>(first: E[], entry: E, compare: (a: E, b: E) => number, limit: number): void {
  if (first.length === limit) {
    if (compare(entry, first.at(-1)!) >= 0) return
    first.pop()
  }
  let [low, high] = [0, first.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compare(first[middle]!, entry) <= 0) low = middle + 1
    else high = middle
  }
  first.splice(low, 0, entry)
}
