import { PAGE_CHARACTERS } from '../events/port.ts'
import type { StoreSalt } from '../events/ids.ts'
import { userSteps } from '../actor/updateResult.ts'
import type { FoundUser, UserAnswer, UserQuestion } from '../actor/port.ts'
import type { ScopeId } from '../model/scope.ts'
import { Unfetched } from '../rules/atlas.ts'
import type { ScopeView } from '../rules/port.ts'
import type { Clock } from '../runtime/clock.ts'
import { charactersOf } from '../runtime/textPieces.ts'
import { explainUser } from './explain.ts'
import type { TopK } from './topK.ts'
import {
  findUser,
  findUserRecord,
  isBefore,
  isThere,
  lastMovedFirst,
  lastOfUser,
  latestFirst,
  listOrder,
  listUsers,
  nearestFirst,
  usersIn,
  usersInRange,
  usersNear,
  type Devices,
  type UserPage,
  type UserRow,
} from './userQueries.ts'

/**
 * Answers to questions about users, of some of the partitions, and one answer out of several.
 *
 * Invariants
 * - ANSWERS-1: However the partitions are distributed, the merged answers are the ones that a single host with all
 *   partitions would give.
 */

/** How many users are written in one step, and after how many characters it ends. */
const USERS_A_STEP = 16
/** How many candidates of an explanation are written in one step. */
const CANDIDATES_A_STEP = 128
const CHARACTERS_A_STEP = 256 * 1024

/** The dependencies of answers. */
export interface AnswerParts {
  readonly salt: StoreSalt
  readonly registry: { scope(scope: ScopeId): ScopeView }
  readonly clock: Clock
}

/**
 * Answers step by step. Each step must be taken between batches (`ActorHost.read`), and there may be batches between
 * two steps. What a step is missing must be fetched before the next one.
 */
export function* answerSteps(
  devices: Devices,
  question: UserQuestion,
  parts: AnswerParts,
): Generator<Unfetched | void, UserAnswer> {
  const { scope } = question
  const { salt } = parts
  switch (question.ask) {
    case 'record':
      return yield* written(
        lone(findUserRecord(devices, salt, scope, question.id)),
        listOrder(question.order),
        scope,
        parts,
      )
    case 'records': {
      const users = question.ids.flatMap((id) => lone(findUserRecord(devices, salt, scope, id)).users)
      return yield* written({ users, hasMore: false }, listOrder(), scope, parts)
    }
    case 'user':
      return yield* written(lone(findUser(devices, salt, scope, question.id)), latestFirst, scope, parts)
    case 'explained': {
      const found = findUser(devices, salt, scope, question.id)
      const answer = yield* written(lone(found), latestFirst, scope, parts)
      if (found === undefined) return answer
      yield
      const why = yield* explained(found, parts.registry.scope(scope))
      if (why === undefined) return { users: [], hasMore: false }
      yield
      return { ...answer, users: [{ ...answer.users[0]!, explanation: yield* explanationPieces(why) }] }
    }
    case 'lastDevice':
      return yield* written(lone(lastOfUser(devices, scope, question.userId)), latestFirst, scope, parts)
    default:
      return yield* written(yield* pageSteps(devices, question, parts), rankOf(question), scope, parts)
  }
}

/** A question whose answer is a page of many users. */
export type PageQuestion = Extract<UserQuestion, { readonly ask: 'list' | 'near' | 'inside' | 'inRange' }>

/** Whether the answer is a page of many users. */
export function asksForPage(question: UserQuestion): question is PageQuestion {
  return isPage(question) && question.ask !== 'records'
}

/**
 * Finds the rows of a page step by step, as in {@link answerSteps}.
 * @param page is filled, also with the rows of other devices (`emptyPage`); the result is what it holds in the end
 */
export function* pageSteps(
  devices: Devices,
  question: PageQuestion,
  { registry }: Pick<AnswerParts, 'registry'>,
  page?: TopK<UserRow>,
): Generator<void, UserPage> {
  const { scope } = question
  switch (question.ask) {
    case 'list':
      return yield* listUsers(devices, scope, question.list, registry.scope(scope).settings, page)
    case 'near':
      return yield* usersNear(devices, scope, question.near, page)
    case 'inside':
      return yield* usersIn(devices, scope, question.geofence, question.limit, page)
    case 'inRange':
      return yield* usersInRange(devices, scope, question.beaconId, question.limit, page)
  }
}

/** The order of the users of a page. */
function rankOf(question: PageQuestion): (user: UserRow) => readonly number[] {
  if (question.ask === 'list') return listOrder(question.list)
  if (question.ask === 'near') return (user) => nearestFirst(question.near, user)
  return lastMovedFirst
}

/** Writes the users of some rows step by step, as in {@link answerSteps}. A user who has been removed since is undefined. */
export function* writeSteps(
  rows: readonly UserRow[],
  question: PageQuestion,
  { registry, clock }: AnswerParts,
): Generator<void, (FoundUser | undefined)[]> {
  const view = registry.scope(question.scope)
  const orderOf = rankOf(question)
  const now = clock.now()
  const users: (FoundUser | undefined)[] = []
  let characters = 0
  for (const row of rows) {
    if (users.length % USERS_A_STEP === USERS_A_STEP - 1 || characters >= CHARACTERS_A_STEP) {
      yield
      characters = 0
    }
    const user = isThere(row) ? yield* foundUser(row, orderOf, view, now) : undefined
    users.push(user)
    characters += user === undefined ? 0 : charactersOf(user.user)
  }
  return users
}

/** The JSON of an explanation in pieces. It may have thousands of candidates. */
function* explanationPieces({ candidates, ...others }: UserExplanation): Generator<void, string[]> {
  const pieces = [`${JSON.stringify(others).slice(0, -1)},"candidates":[`]
  let separator = ''
  let texts: string[] = []
  for (const candidate of candidates) {
    texts.push(JSON.stringify(candidate))
    if (texts.length < CANDIDATES_A_STEP) continue
    pieces.push(separator + texts.join(','))
    separator = ','
    texts = []
    yield
  }
  if (texts.length > 0) pieces.push(separator + texts.join(','))
  pieces.push(']}')
  return pieces
}

type UserExplanation = Exclude<ReturnType<typeof explainUser>, Unfetched>

/** The explained user; undefined if the user has been removed in the meantime. */
function* explained(user: UserRow, view: ScopeView): Generator<Unfetched, UserExplanation | undefined> {
  while (isThere(user)) {
    const why = explainUser(user.partition, user.row, view)
    if (!(why instanceof Unfetched)) return why
    yield why
  }
  return undefined
}

/** Merges the answers of hosts with different partitions. */
export function mergeAnswers(question: UserQuestion, answers: readonly UserAnswer[]): UserAnswer {
  if (answers.length === 1) return answers[0]!
  const all = answers.flatMap(({ users }) => users)
  all.sort((a, b) => (isBefore(a.order, b.order) ? -1 : 1))
  const limit = mostUsers(question)
  const users = fitting(all.slice(0, limit))
  const isCut = all.length > users.length || answers.some(({ hasMore }) => hasMore)
  const merged = { users, hasMore: isCut && isPage(question) }
  if (question.ask !== 'list' || question.list.wantsTotal !== true) return merged
  return { ...merged, total: answers.reduce((sum, { total = 0 }) => sum + total, 0) }
}

/** How many users the answer has at most. */
export function mostUsers(question: UserQuestion): number {
  switch (question.ask) {
    case 'list':
      return question.list.limit
    case 'near':
      return question.near.limit
    case 'inside':
    case 'inRange':
      return question.limit
    case 'records':
      return question.ids.length
    default:
      return 1
  }
}

/** Whether the answer says if there are more users. */
function isPage({ ask }: UserQuestion): boolean {
  return ask === 'list' || ask === 'near' || ask === 'inside' || ask === 'inRange' || ask === 'records'
}

function lone(found: UserRow | undefined): UserPage {
  return { users: found === undefined ? [] : [found], hasMore: false }
}

/**
 * The users of a page, or only the first of them if all would be too much for an answer. They are written in their
 * present state. A user whose row has been freed or reused since is left out.
 */
function* written(
  { users, hasMore, total }: UserPage,
  orderOf: (user: UserRow) => readonly number[],
  scope: ScopeId,
  { registry, clock }: AnswerParts,
): Generator<void, UserAnswer> {
  const view = registry.scope(scope)
  const now = clock.now()
  const found: FoundUser[] = []
  const counted = total === undefined ? {} : { total }
  let characters = 0
  let ofStep = 0
  for (const [i, row] of users.entries()) {
    if (characters >= PAGE_CHARACTERS) return { users: found, hasMore: true, ...counted }
    if (i % USERS_A_STEP === USERS_A_STEP - 1 || ofStep >= CHARACTERS_A_STEP) {
      yield
      ofStep = 0
    }
    if (!isThere(row)) continue
    const one = yield* foundUser(row, orderOf, view, now)
    found.push(one)
    const ofUser = charactersOf(one.user)
    characters += ofUser
    ofStep += ofUser
  }
  return { users: found, hasMore, ...counted }
}

function* foundUser(
  { partition, row, createdAt }: UserRow,
  orderOf: (user: UserRow) => readonly number[],
  view: ScopeView,
  now: number,
): Generator<void, FoundUser> {
  const profile = partition.table.peek(row)
  const order = orderOf({ partition, row, createdAt })
  const user = yield* userSteps(partition.table, row, profile, view, now)
  return { order, id: profile.id, deviceId: profile.deviceId, user, explanation: [] }
}

/** As many users as fit into one answer. Those of one host end there already. */
function fitting(users: readonly FoundUser[]): FoundUser[] {
  let characters = 0
  const end = users.findIndex(({ user }) => {
    const isFull = characters >= PAGE_CHARACTERS
    characters += charactersOf(user)
    return isFull
  })
  return end < 0 ? [...users] : users.slice(0, end)
}
