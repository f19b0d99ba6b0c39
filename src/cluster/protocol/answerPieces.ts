import { randomUUID } from 'node:crypto'
import { Packr } from 'msgpackr'
import { Slice } from '../../runtime/slices.ts'

/**
 * The answers of hosts to questions that go to all of them, in pieces of bytes (MessagePack).
 *
 * The obvious way packs an answer in one piece. A thousand users have two megabytes, and a hundred thousand positions
 * twenty: both processes would work on them without a pause, and the updates of everybody would wait (G7).
 *
 * ```
 * piece [id of the answer, index of the piece, is it the last?, partition*, head, item*, 0]
 * ```
 *
 * Partitions and head are only in the first piece.
 */

/** The answer of one host, for all requested partitions that it has. */
export interface HostAnswer<H, I> {
  readonly partitions: readonly number[]
  readonly head: H
  readonly items: readonly I[]
}

/** How an answer is packed. */
export interface AnswerFormat<H, I, Row> {
  headOf(head: H): unknown
  rowOf(item: I): Row
  readHead(head: unknown): H
  readRow(row: Row): I
  /** Approximate characters of an item. */
  charactersOf(item: I): number
}

/** How an answer is packed whose head and items are plain values. */
export function plainFormat<H, I>(charactersOf: (item: I) => number): AnswerFormat<H, I, I> {
  return {
    headOf: (head) => head,
    rowOf: (item) => item,
    readHead: (head) => head as H,
    readRow: (row) => row,
    charactersOf,
  }
}

/** Packing this many characters, or items, takes a fraction of a millisecond. */
const PIECE_CHARACTERS = 64 * 1024
const PIECE_ITEMS = 256

type PieceRow = readonly [
  id: string,
  index: number,
  isLast: boolean,
  partitions: readonly number[],
  head: unknown,
  rows: readonly unknown[],
  end: 0,
]

/** How an array with as many members as a piece begins. Answers of older releases begin differently. */
const FIRST_BYTE = 0x97

const packr = new Packr({ useRecords: false })

/** Packs an answer and sends it, in turns with other work. */
export async function sendInPieces<H, I, Row>(
  { partitions, head, items }: HostAnswer<H, I>,
  format: AnswerFormat<H, I, Row>,
  send: (piece: Uint8Array) => void,
): Promise<void> {
  const id = randomUUID()
  const slice = new Slice()
  let from = 0
  for (let index = 0; index === 0 || from < items.length; index++) {
    if (slice.isOver) await slice.next()
    const rows: Row[] = []
    for (let characters = 0; from < items.length && rows.length < PIECE_ITEMS;) {
      const item = items[from++]!
      rows.push(format.rowOf(item))
      if ((characters += format.charactersOf(item)) >= PIECE_CHARACTERS) break
    }
    const isFirst = index === 0
    const row: PieceRow = [
      id,
      index,
      from === items.length,
      isFirst ? partitions : [],
      isFirst ? format.headOf(head) : null,
      rows,
      0,
    ]
    send(packr.pack(row))
  }
}

/** Whether these bytes are a piece, and not an answer of a host of an older release. */
export function isPiece(bytes: Uint8Array): boolean {
  return bytes[0] === FIRST_BYTE
}

interface Incomplete {
  partitions: readonly number[]
  head: unknown
  /** By the index of the piece. */
  readonly rows: (readonly unknown[] | undefined)[]
  missing: number
}

/** Puts answers together. Pieces may be lost, come twice, or overtake each other. */
export class ReceivedPieces<H, I, Row> {
  readonly #format: AnswerFormat<H, I, Row>
  readonly #answers = new Map<string, Incomplete>()

  constructor(format: AnswerFormat<H, I, Row>) {
    this.#format = format
  }

  /** Takes a piece; resolves to the answer that it completes, and to undefined if there is none. */
  async take(piece: Uint8Array): Promise<HostAnswer<H, I> | undefined> {
    const [id, index, isLast, partitions, head, rows] = packr.unpack(piece) as PieceRow
    const answer = this.#answers.get(id) ?? { partitions, head, rows: [], missing: 0 }
    this.#answers.set(id, answer)
    if (answer.rows[index] !== undefined) return undefined
    if (index === 0) Object.assign(answer, { partitions, head })
    answer.rows[index] = rows
    answer.missing--
    if (isLast) answer.missing += index + 1
    if (answer.missing !== 0) return undefined
    this.#answers.delete(id)
    const slice = new Slice()
    const items: I[] = []
    for (const some of answer.rows) {
      if (slice.isOver) await slice.next()
      for (const row of some!) items.push(this.#format.readRow(row as Row))
    }
    return { partitions: answer.partitions, head: this.#format.readHead(answer.head), items }
  }
}
