import { PAGE_CHARACTERS } from '../events/port.ts'
import type { StoreSalt } from '../events/ids.ts'
import type { FoundUser, UserAnswer, UserQuestion } from '../actor/port.ts'
import type { ScopeId } from '../model/scope.ts'
import { Unfetched } from '../rules/atlas.ts'
import type { ScopeView } from '../rules/port.ts'
import type { Clock } from '../runtime/clock.ts'
import { explainUser } from './explain.ts'
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
      return { ...answer, users: [{ ...answer.users[0]!, explanation: yield* explanationText(why) }] }
    }
    case 'lastDevice':
      return yield* written(lone(lastOfUser(devices, scope, question.userId)), latestFirst, scope, parts)
    case 'list': {
      const page = yield* listUsers(devices, scope, question.list, parts.registry.scope(scope).settings)
      return yield* written(page, listOrder(question.list), scope, parts)
    }
    case 'near': {
      const { near } = question
      const page = yield* usersNear(devices, scope, near)
      return yield* written(page, (user) => nearestFirst(near, user), scope, parts)
    }
    case 'inside': {
      const page = yield* usersIn(devices, scope, question.geofence, question.limit)
      return yield* written(page, lastMovedFirst, scope, parts)
    }
    case 'inRange': {
      const page = yield* usersInRange(devices, scope, question.beaconId, question.limit)
      return yield* written(page, lastMovedFirst, scope, parts)
    }
  }
}

/** The JSON of an explanation, which may have thousands of candidates. */
function* explanationText({ candidates, ...others }: UserExplanation): Generator<void, string> {
  const parts: string[] = []
  let texts: string[] = []
  for (const candidate of candidates) {
    texts.push(JSON.stringify(candidate))
    if (texts.length < CANDIDATES_A_STEP) continue
    parts.push(texts.join(','))
    texts = []
    yield
  }
  if (texts.length > 0) parts.push(texts.join(','))
  return `${JSON.stringify(others).slice(0, -1)},"candidates":[${parts.join(',')}]}`
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
  const limit = limitOf(question)
  const users = fitting(all.slice(0, limit))
  const isCut = all.length > users.length || answers.some(({ hasMore }) => hasMore)
  const merged = { users, hasMore: isCut && isPage(question) }
  if (question.ask !== 'list' || question.list.wantsTotal !== true) return merged
  return { ...merged, total: answers.reduce((sum, { total = 0 }) => sum + total, 0) }
}

function limitOf(question: UserQuestion): number {
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
    const { id, deviceId } = row.partition.table.peek(row.row)
    const user = row.partition.userOf(row.row, view, now)
    found.push({ order: orderOf(row), id, deviceId, user, explanation: '' })
    characters += user.length
    ofStep += user.length
  }
  return { users: found, hasMore, ...counted }
}

/** As many users as fit into one answer. Those of one host end there already. */
function fitting(users: readonly FoundUser[]): FoundUser[] {
  let characters = 0
  const end = users.findIndex(({ user }) => {
    const isFull = characters >= PAGE_CHARACTERS
    characters += user.length
    return isFull
  })
  return end < 0 ? [...users] : users.slice(0, end)
}
