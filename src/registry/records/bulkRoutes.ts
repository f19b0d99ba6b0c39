import { setImmediate as nextTurn } from 'node:timers/promises'
import Type from 'typebox'
import type { Fields } from '../../http/fields.ts'
import { routeFor, type RouteFor } from '../../http/route.ts'
import type { ScopeId } from '../../model/scope.ts'
import { ConcurrencyLimit } from '../../runtime/concurrencyLimit.ts'
import { ApiError, badParam } from '../../runtime/errors.ts'
import { inSlices } from '../../runtime/slices.ts'
import type { EntityShape } from './entity.ts'
import { FilterQuery, filterOf, isEmptyFilter, matchesFilter } from './listFilter.ts'
import type { EditableRecords } from './port.ts'
import type { RecordFilter, Referenced } from './recordList.ts'
import type { ScopedRecord } from './recordRows.ts'
import type { RecordStore } from './recordStore.ts'

/** How many records one call may concern. Their ids are held in memory meanwhile. */
const MOST_RECORDS = 200_000
/** How many records one commit has. Together with its entries in the audit it is one transaction. */
const RECORDS_A_COMMIT = 200
/** How many calls may wait for the one that runs. */
const MOST_WAITING = 20

const BulkQuery = Type.Object({
  ...FilterQuery,
  all: Type.Optional(Type.Boolean({ description: 'Must be true if there is no filter.' })),
  expectedCount: Type.Integer({
    minimum: 0,
    maximum: MOST_RECORDS,
    description:
      'How many records match, as `meta.total` of the list says with `includeTotal=true`. If another number matches, the answer is 409 and nothing changes.',
  }),
})

const ANSWERS = {
  200: Type.Object({ count: Type.Integer({ description: 'How many records were changed or deleted.' }) }),
  409: Type.Object({}, { description: 'Conflict: another number of records matches the filter.' }),
}

/**
 * The routes that change or delete all records of a collection that match a filter.
 *
 * A filter that was typed wrong matches everything, so the caller says how many records it expects. They are counted
 * first, then changed in commits of some hundred; what was edited meanwhile and no longer matches is left out.
 */
export function bulkRoutes<D extends Referenced, R extends L, L extends ScopedRecord>(
  shape: EntityShape,
): RouteFor<{ readonly collection: EditableRecords<D, R, L> }>[] {
  const { plural, tag, role = 'write', changes } = shape
  if (changes === undefined) return []
  const concurrency = new ConcurrencyLimit(1, MOST_WAITING)
  const bulkRoute = routeFor<{ readonly collection: EditableRecords<D, R, L> }>()
  const shared = {
    path: `/v1/${plural}`,
    auth: 'secret',
    role,
    tag,
    query: BulkQuery,
    answers: ANSWERS,
  } as const
  const description =
    `The filters are those of the list. At most ${MOST_RECORDS} at a time, in parts of up to ${RECORDS_A_COMMIT}; after an error, some of the parts may be done. Records ` +
    'that are edited in the meantime and no longer match are left out.'

  async function change(
    collection: EditableRecords<D, R, L>,
    scope: ScopeId,
    query: BulkRequest,
    commit: (ids: readonly string[], isWanted: (record: L) => boolean) => number,
  ) {
    if (query.all !== true && isEmptyFilter(query))
      throw badParam('all', `Without a filter, all ${plural} match: it must be true.`)
    const filter = filterOf<L>(query)
    return concurrency.run(async () => {
      const ids = await inSlices(idsOf(collection.store(scope), filter))
      const { expectedCount } = query
      if (ids.length !== expectedCount) {
        const count = ids.length > MOST_RECORDS ? `More than ${MOST_RECORDS}` : ids.length
        const sentence = `${count} ${plural} match, and not ${expectedCount}. Nothing was changed.`
        throw new ApiError(409, `expectedCount: ${sentence}`, { param: 'expectedCount' })
      }
      let count = 0
      for (let at = 0, part: readonly string[]; at < ids.length; at += part.length) {
        part = collection.firstPart(scope, ids, at, RECORDS_A_COMMIT)
        const changed = part
        const isWanted = (record: L) => matchesFilter(record, filter)
        count += await collection
          .edit(() => commit(changed, isWanted))
          .catch((error: unknown) => {
            if (!(error instanceof ApiError) || at === 0) throw error
            const { code, retryAfter } = error
            const sentence = `${count} of ${ids.length} ${plural} were changed; the next ones were not. ${error.message}`
            throw new ApiError(code, sentence, {
              cause: error,
              ...(retryAfter !== undefined && { retryAfter }),
            })
          })
        // An edit of a registry in this process ends at once.
        await nextTurn()
      }
      return { body: { count } }
    })
  }

  return [
    bulkRoute({
      ...shared,
      method: 'PATCH',
      summary: `Change all ${plural} that match a filter`,
      description: `Each record gets the fields of the body; those that are null or empty get their default value. ${description}`,
      body: changes.body,
      handler: ({ credentials, query, body }, { collection }) => {
        const { scope } = credentials!
        const patch = changes.parse(body as Fields) as Partial<D>
        return change(collection, scope, query, (ids, isWanted) =>
          collection.patchMany(scope, ids, patch, isWanted),
        )
      },
    }),
    bulkRoute({
      ...shared,
      method: 'DELETE',
      summary: `Delete all ${plural} that match a filter`,
      description,
      handler: ({ credentials, query }, { collection }) => {
        const { scope } = credentials!
        return change(collection, scope, query, (ids, isWanted) =>
          collection.removeMany(scope, ids, isWanted),
        )
      },
    }),
  ]
}

type BulkRequest = Parameters<typeof filterOf>[0] & { readonly all?: boolean; readonly expectedCount: number }

/**
 * The ids of the records that match, the oldest one last. If there are more than {@link MOST_RECORDS}, it returns one
 * more than that.
 */
function* idsOf<L extends ScopedRecord>(
  store: Pick<RecordStore<L>, 'matching'>,
  filter: RecordFilter<L>,
): Generator<void, string[]> {
  const ids: string[] = []
  for (const record of store.matching(filter)) {
    if (record === undefined) yield
    else if (ids.push(record.id) > MOST_RECORDS) break
  }
  return ids
}
