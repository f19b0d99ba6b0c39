import { Packr } from 'msgpackr'
import type { FoundUser, UserAnswer, UserQuestion } from '../../actor/port.ts'
import { charactersOf, PIECE_CHARACTERS, textPieces } from '../../runtime/textPieces.ts'
import type { AnswerFormat, HostAnswer } from './answerPieces.ts'

/**
 * The questions of gateways to all hosts, about users and trips, as bytes (MessagePack). docs/protocol.md tells when.
 *
 * ```
 * question [registry revision, partition*, JSON, may the answer come in pieces?]
 * answer   in pieces as of answerPieces.ts: the head of users is [hasMore, total?]; trips are plain values
 *          to a gateway of an older release [partition*, user*, hasMore, total?]; about trips [partition*, what was answered]
 * ```
 */
const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true })

type Nil<T> = T | null | undefined

/** A question to all hosts that have some of the partitions. */
export interface SharedQuestion<Q = UserQuestion> {
  readonly revision: number
  /** The partitions that the question concerns. */
  readonly partitions: readonly number[]
  readonly question: Q
  /** Whether the answer may come in pieces. A gateway of an older release reads only whole ones. */
  readonly inPieces: boolean
}

export type UsersHead = Omit<UserAnswer, 'users'>

export function encodeQuestion<Q>({
  revision,
  partitions,
  question,
}: Omit<SharedQuestion<Q>, 'inPieces'>): Uint8Array {
  return packr.pack([revision, partitions, JSON.stringify(question), true])
}

export function decodeQuestion<Q>(bytes: Uint8Array): SharedQuestion<Q> {
  const [revision, partitions, json, inPieces] = packr.unpack(bytes) as [
    number,
    number[],
    string,
    boolean | undefined,
  ]
  return { revision, partitions, question: JSON.parse(json) as Q, inPieces: inPieces === true }
}

type FoundUserRow = readonly [
  order: readonly number[],
  id: string,
  deviceId: string,
  user: string,
  explanation: string,
]
/** More of the texts of the user before it. */
type MoreOfUserRow = readonly [user: string, explanation: string]

/** Users in the answers of hosts. Very long ones have several rows. */
export const USERS_FORMAT: AnswerFormat<UsersHead, FoundUser, FoundUserRow | MoreOfUserRow> = {
  headOf: ({ hasMore, total }) => [hasMore, total],
  rowsOf(found) {
    const { order, id, deviceId, user, explanation } = found
    if (charactersOf(user) + charactersOf(explanation) <= PIECE_CHARACTERS) return [wholeRow(found)]
    return [
      [order, id, deviceId, '', ''],
      ...user.flatMap(textPieces).map((text) => [text, ''] as const),
      ...explanation.flatMap(textPieces).map((text) => ['', text] as const),
    ]
  },
  readHead(head) {
    const [hasMore, total] = head as [boolean, Nil<number>]
    return { hasMore, ...(typeof total === 'number' && { total }) }
  },
  read(row, found) {
    if (row.length === 5) return void found.push(wholeUser(row))
    const { user, explanation } = found.at(-1) as ReadUser
    const [moreOfUser, moreOfExplanation] = row
    if (moreOfUser !== '') user.push(moreOfUser)
    if (moreOfExplanation !== '') explanation.push(moreOfExplanation)
  },
  charactersOf: (row) => row.at(-1)!.length + row.at(-2)!.length,
}

function wholeRow({ order, id, deviceId, user, explanation }: FoundUser): FoundUserRow {
  return [order, id, deviceId, user.join(''), explanation.join('')]
}

/** A user of which more rows may follow. */
interface ReadUser extends FoundUser {
  readonly user: string[]
  readonly explanation: string[]
}

function wholeUser([order, id, deviceId, user, explanation]: FoundUserRow): ReadUser {
  return {
    order,
    id,
    deviceId,
    user: user === '' ? [] : [user],
    explanation: explanation === '' ? [] : [explanation],
  }
}

/** Writes an answer as a whole, for a gateway of an older release. */
export function encodeWholeUsers({ partitions, head, items }: HostAnswer<UsersHead, FoundUser>): Uint8Array {
  return packr.pack([partitions, items.map(wholeRow), head.hasMore, head.total])
}

export function decodeWholeUsers(bytes: Uint8Array): HostAnswer<UsersHead, FoundUser> {
  const [partitions, rows, hasMore, total] = packr.unpack(bytes) as [
    number[],
    FoundUserRow[],
    boolean,
    Nil<number>,
  ]
  const head = USERS_FORMAT.readHead([hasMore, total])
  return { partitions, head, items: rows.map(wholeUser) }
}

/** Writes an answer that is a plain value as a whole, for a gateway of an older release. */
export function encodePlainAnswer(partitions: readonly number[], answer: unknown): Uint8Array {
  return packr.pack([partitions, answer])
}

export function decodePlainAnswer<A>(bytes: Uint8Array): {
  readonly partitions: readonly number[]
  readonly answer: A
} {
  const [partitions, answer] = packr.unpack(bytes) as [number[], A]
  return { partitions, answer }
}
