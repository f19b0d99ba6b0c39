import { Packr } from 'msgpackr'

/**
 * How a gateway fetches the result of an update that is too large for the reply to its request, as bytes
 * (MessagePack).
 *
 * ```
 * question [id, what, from]   what: 0 its events, 1 its user, 2 no more of it is wanted
 * answer   [text*, next]      next: from where the next question continues; -1: that was all
 *          or nothing: the result is not there any more
 * ```
 */
export const EVENTS_WANTED = 0
export const USER_WANTED = 1
export const NOTHING_WANTED = 2

export interface ResultQuestion {
  readonly id: number
  readonly what: number
  /** Index of the first text that is wanted. */
  readonly from: number
}

export interface ResultPiece {
  readonly texts: readonly string[]
  /** Index of the first text of the next piece; -1: there is none. */
  readonly next: number
}

const packr = new Packr({ useRecords: false })

export function encodeResultQuestion({ id, what, from }: ResultQuestion): Uint8Array {
  return packr.pack([id, what, from])
}

export function decodeResultQuestion(bytes: Uint8Array): ResultQuestion {
  const [id, what, from] = packr.unpack(bytes) as [number, number, number]
  return { id, what, from }
}

/** @param piece undefined: the result is not there any more */
export function encodeResultPiece(piece: ResultPiece | undefined): Uint8Array {
  return packr.pack(piece === undefined ? null : [piece.texts, piece.next])
}

export function decodeResultPiece(bytes: Uint8Array): ResultPiece | undefined {
  const row = packr.unpack(bytes) as [string[], number] | null
  return row === null ? undefined : { texts: row[0], next: row[1] }
}
