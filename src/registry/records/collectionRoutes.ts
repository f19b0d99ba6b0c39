import Type, { type TObject } from 'typebox'
import { listPieces } from '../../http/answerText.ts'
import type { Credentials } from '../../http/credentials.ts'
import { present, type Fields } from '../../http/fields.ts'
import { PageAnswers, PageQuery, recordPage } from '../../http/listQuery.ts'
import { answeredWith, routeFor, type Route, type RouteFor } from '../../http/route.ts'
import { CountedPage, IncludeTotal } from '../../http/schemas.ts'
import type { Role } from '../../model/role.ts'
import type { ScopeId } from '../../model/scope.ts'
import { ApiError, notFound } from '../../runtime/errors.ts'
import { inSlices, mapInSlices, ownTurn } from '../../runtime/slices.ts'
import { ConcurrencyLimit } from '../../runtime/concurrencyLimit.ts'
import { bulkRoutes } from './bulkRoutes.ts'
import type { Entity, EntityShape } from './entity.ts'
import { filterOf, FilterQuery } from './listFilter.ts'
import { RecordExists, type EditableRecords } from './port.ts'
import type { Pair } from './recordFields.ts'
import type { RecordPage, Referenced } from './recordList.ts'
import type { ScopedRecord } from './recordRows.ts'
import { Id, Nothing, PairParams } from './recordSchemas.ts'
import type { RecordStore } from './recordStore.ts'
import { SORT_FIELDS, sortedSteps } from './sortedList.ts'

const PAIR = ['tag', 'externalId'] as const

const OrderQuery = {
  sortBy: Type.Optional(
    Type.Enum([...SORT_FIELDS], {
      default: 'createdAt',
      description: 'Texts are sorted by their letters, and numbers in them by their value.',
    }),
  ),
  order: Type.Optional(
    Type.Enum(['asc', 'desc'], { description: 'Absent: `desc` for dates, `asc` for texts.' }),
  ),
  includeTotal: IncludeTotal,
}

/** How many large answers are made at a time, because each is held in memory until it is sent. */
export const ANSWERS_AT_ONCE = 8

/** What answers the routes of a collection. */
export interface ServedCollection<D extends Referenced, R extends L, L extends ScopedRecord> {
  readonly entity: Entity<D, R>
  readonly collection: EditableRecords<D, R, L>
}

/**
 * The routes that create, replace, list, get and delete the records of a collection, by id and by pair (secret keys).
 * @param concurrency shared with other routes that make large answers of the same records
 */
export function collectionRoutes<D extends Referenced, R extends L, L extends ScopedRecord>(
  entity: Entity<D, R>,
  collection: EditableRecords<D, R, L>,
  concurrency?: ConcurrencyLimit,
): Route[] {
  return answeredWith(routesOfCollection<D, R, L>(entity, concurrency), { entity, collection })
}

/** The same routes, for a process that may not be able to answer them. */
export function routesOfCollection<D extends Referenced, R extends L, L extends ScopedRecord>(
  shape: EntityShape,
  concurrency = new ConcurrencyLimit(ANSWERS_AT_ONCE),
): RouteFor<ServedCollection<D, R, L>>[] {
  const routes = new RouteMaker<D, R, L>(shape, concurrency)
  return [...routes.edits(), ...routes.reads(), ...routes.deletions(), ...bulkRoutes<D, R, L>(shape)]
}

class RouteMaker<D extends Referenced, R extends L, L extends ScopedRecord> {
  readonly #route = routeFor<ServedCollection<D, R, L>>()
  readonly #shape: EntityShape
  readonly #concurrency: ConcurrencyLimit
  /** The path, such as `/v1/geofences`. */
  readonly #path: string
  /** The record in words, such as `a geofence`. */
  readonly #one: string
  readonly #shared: { readonly auth: 'secret'; readonly tag: string }
  /** The properties of routes that change records. */
  readonly #edit: { readonly auth: 'secret'; readonly tag: string; readonly role: Role }
  readonly #answer: TObject
  readonly #answersOf: Readonly<Record<'creation' | 'put' | 'replacement', Record<number, TObject>>>

  constructor(shape: EntityShape, concurrency: ConcurrencyLimit) {
    const { singular, plural, tag } = shape
    this.#shape = shape
    this.#concurrency = concurrency
    this.#path = `/v1/${plural}`
    this.#one = `${/^[aeiou]/.test(singular) ? 'an' : 'a'} ${singular}`
    this.#shared = { auth: 'secret', tag }
    this.#edit = { ...this.#shared, role: shape.role ?? 'write' }
    this.#answer = Type.Object({ [singular]: shape.record })
    const { most } = shape
    const isFull = `the environment has ${most} ${plural} already`
    const isTaken = `another ${singular} has the tag and externalId`
    const conflict = (reason: string) => Type.Object({}, { description: `Conflict: ${reason}.` })
    this.#answersOf = {
      creation: {
        200: this.#answer,
        409: conflict(most === undefined ? isTaken : `${isTaken}, or ${isFull}`),
      },
      put: { 200: this.#answer, ...(most !== undefined && { 409: conflict(isFull) }) },
      replacement: { 200: this.#answer, 409: conflict(isTaken) },
    }
  }

  edits(): RouteFor<ServedCollection<D, R, L>>[] {
    const { newBody, body: wholeBody } = this.#shape
    return [
      this.#route({
        ...this.#edit,
        method: 'POST',
        path: this.#path,
        summary: `Create ${this.#one}`,
        body: newBody,
        answers: this.#answersOf.creation,
        handler: async (call, { entity, collection }) => {
          const definition = await parsedInTurn(entity, call.body as Fields)
          const create = () => collection.create(scopeOf(call), definition)
          return answerInTurn(entity, await collection.edit(refusingTaken(create)))
        },
      }),
      this.#route({
        ...this.#edit,
        method: 'PUT',
        path: `${this.#path}/:tag/:externalId`,
        summary: `Create or replace ${this.#one} by its pair`,
        description:
          'Replaces the whole definition: a field that is absent, null or empty gets its default value.',
        params: PairParams,
        body: wholeBody,
        answers: this.#answersOf.put,
        handler: async (call, { entity, collection }) => {
          const definition = await parsedInTurn(entity, call.body as Fields, call.params)
          const { record } = await collection.edit(() => collection.put(scopeOf(call), definition))
          return answerInTurn(entity, record)
        },
      }),
      this.#route({
        ...this.#edit,
        method: 'PUT',
        path: `${this.#path}/:id`,
        summary: `Replace ${this.#one} by its id`,
        description:
          'Replaces the whole definition; tag and externalId stay the same if they are not in the body.',
        params: Id,
        body: wholeBody,
        answers: this.#answersOf.replacement,
        handler: async (call, { entity, collection }) => {
          const { id } = call.params
          const scope = scopeOf(call)
          const find = () => this.#found(collection.store(scope).get(id))
          const body = call.body as Fields
          const before = find()
          const tag = present(body, 'tag') ?? before.tag
          const externalId = present(body, 'externalId') ?? before.externalId
          const definition = await parsedInTurn(entity, { ...body, tag, externalId })
          const replace = () => {
            // Fields that the body leaves out stay as they are now, not as they were when the body was read.
            const now = find()
            const kept = PAIR.filter((name) => present(body, name) === undefined && now[name] !== undefined)
            const pair = Object.fromEntries(kept.map((name) => [name, now[name]]))
            return this.#found(collection.replace(scope, id, { ...definition, ...pair }))
          }
          return answerInTurn(entity, await collection.edit(refusingTaken(replace)))
        },
      }),
    ]
  }

  reads(): RouteFor<ServedCollection<D, R, L>>[] {
    const { record, plural } = this.#shape
    return [
      this.#route({
        ...this.#shared,
        method: 'GET',
        path: this.#path,
        summary: `List ${plural}, newest first`,
        query: Type.Object({ ...FilterQuery, ...PageQuery, ...OrderQuery }),
        meta: CountedPage,
        answers: { 200: Type.Object({ [plural]: Type.Array(record) }), ...PageAnswers },
        handler: async (call, { entity, collection }) => {
          const { sortBy = 'createdAt', includeTotal = false } = call.query
          const isDate = sortBy === 'createdAt' || sortBy === 'updatedAt'
          const { order = isDate ? 'desc' : 'asc' } = call.query
          const store = collection.store(scopeOf(call))
          const page = recordPage(call.query, (id) => store.records.has(id))
          const wanted = { ...filterOf<L>(call.query), ...page }
          const isAsKept = sortBy === 'createdAt' && order === 'desc' && !includeTotal
          return this.#concurrency.run(async () => {
            const steps = isAsKept
              ? store.listSteps(wanted)
              : sortedSteps(store, wanted, { by: sortBy, isAscending: order === 'asc' })
            const found: RecordPage<L> & { readonly total?: number } = await inSlices(steps)
            const { records, hasMore, total } = found
            return {
              meta: { hasMore, ...(includeTotal && { total }) },
              pieces: listPieces(`"${plural}":`, await textsInSlices(entity, store, records)),
            }
          })
        },
      }),
      this.#route({
        ...this.#shared,
        method: 'GET',
        path: `${this.#path}/:id`,
        summary: `Get ${this.#one} by its id`,
        params: Id,
        answers: { 200: this.#answer },
        handler: (call, { entity, collection }) => {
          const store = collection.store(scopeOf(call))
          return answerOf(entity, store.whole(this.#found(store.get(call.params.id))))
        },
      }),
      this.#route({
        ...this.#shared,
        method: 'GET',
        path: `${this.#path}/:tag/:externalId`,
        summary: `Get ${this.#one} by its pair`,
        params: PairParams,
        answers: { 200: this.#answer },
        handler: (call, { entity, collection }) => {
          const { tag, externalId } = call.params
          const store = collection.store(scopeOf(call))
          return answerOf(entity, store.whole(this.#found(store.byPair(tag, externalId))))
        },
      }),
    ]
  }

  deletions(): RouteFor<ServedCollection<D, R, L>>[] {
    const remove = async (
      collection: EditableRecords<D, R, L>,
      scope: ScopeId,
      find: (store: RecordStore<R, L>) => L | undefined,
    ) => {
      // As a definition has one before its edit, which would otherwise be overtaken.
      await ownTurn()
      await collection.edit(() => collection.delete(scope, this.#found(find(collection.store(scope))).id))
      return {}
    }
    return [
      this.#route({
        ...this.#edit,
        method: 'DELETE',
        path: `${this.#path}/:id`,
        summary: `Delete ${this.#one} by its id`,
        params: Id,
        answers: { 200: Nothing },
        handler: (call, { collection }) =>
          remove(collection, scopeOf(call), (store) => store.get(call.params.id)),
      }),
      this.#route({
        ...this.#edit,
        method: 'DELETE',
        path: `${this.#path}/:tag/:externalId`,
        summary: `Delete ${this.#one} by its pair`,
        params: PairParams,
        answers: { 200: Nothing },
        handler: (call, { collection }) =>
          remove(collection, scopeOf(call), (store) => store.byPair(call.params.tag, call.params.externalId)),
      }),
    ]
  }

  #found<T extends L>(record: T | undefined): T {
    if (record !== undefined) return record
    const { singular } = this.#shape
    throw notFound(singular[0]!.toUpperCase() + singular.slice(1))
  }
}

function answerOf<D extends Referenced, R extends ScopedRecord>(entity: Entity<D, R>, record: R) {
  return { body: { [entity.singular]: entity.answer(record) } }
}

/** The definition in a body. Checking two thousand corners takes as long as reading them did. */
async function parsedInTurn<D extends Referenced, R extends ScopedRecord>(
  entity: Entity<D, R>,
  fields: Fields,
  known?: Pair,
): Promise<D> {
  await ownTurn()
  return entity.parse(fields, known)
}

/** The answer with a record that has been written. A polygon or many users take as long to write again. */
async function answerInTurn<D extends Referenced, R extends ScopedRecord>(entity: Entity<D, R>, record: R) {
  await ownTurn()
  return answerOf(entity, record)
}

/**
 * The records of a page as JSON. A thousand of the largest polygons are 90 MB, and take a second or two to write, so
 * other requests get turns in between. Each record is shown as it is when it is written, and left out if it was
 * deleted in the meantime.
 */
function textsInSlices<D extends Referenced, R extends L, L extends ScopedRecord>(
  entity: Entity<D, R>,
  store: RecordStore<R, L>,
  records: readonly L[],
): Promise<string[]> {
  return mapInSlices(records, ({ id }) => {
    const record = store.get(id)
    return record && JSON.stringify(entity.answer(store.whole(record)))
  })
}

/** The scope of a call to a route that needs a key. */
export function scopeOf(call: { readonly credentials: Credentials | undefined }): ScopeId {
  return call.credentials!.scope
}

/** Makes an edit that throws ApiError 409 if the pair belongs to another record. */
function refusingTaken<T>(edit: () => T): () => T {
  return () => {
    try {
      return edit()
    } catch (error) {
      if (!(error instanceof RecordExists)) throw error
      throw new ApiError(409, error.message, { param: 'externalId', cause: error })
    }
  }
}
