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
 * piece [id of the answer, index of the piece, is it the last?, partition*, head, row*, 0]
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
  /** The rows of an item: one, or several if it is very long. */
  rowsOf(item: I): readonly Row[]
  readHead(head: unknown): H
  /** Adds the item of a row, or what the row has of the last item. */
  read(row: Row, items: I[]): void
  /** Approximate characters of a row. */
  charactersOf(row: Row): number
}

/** How an answer is packed whose head and items are plain values. */
export function plainFormat<H, I>(charactersOf: (row: I) => number): AnswerFormat<H, I, I> {
  return {
    headOf: (head) => head,
    rowsOf: (item) => [item],
    readHead: (head) => head as H,
    read: (row, items) => void items.push(row),
    charactersOf,
  }
}

/** Packing this many characters, or rows, takes a fraction of a millisecond. */
const PIECE_CHARACTERS = 64 * 1024
const PIECE_ROWS = 256

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
  let index = 0
  const sendPiece = (rows: readonly Row[], isLast: boolean) => {
    const isFirst = index === 0
    const headRow = isFirst ? format.headOf(head) : null
    const piece: PieceRow = [id, index++, isLast, isFirst ? partitions : [], headRow, rows, 0]
    send(packr.pack(piece))
  }
  let rows: Row[] = []
  let characters = 0
  for (const item of items) {
    for (const row of format.rowsOf(item)) {
      if (slice.isOver) await slice.next()
      rows.push(row)
      characters += format.charactersOf(row)
      if (characters < PIECE_CHARACTERS && rows.length < PIECE_ROWS) continue
      sendPiece(rows, false)
      rows = []
      characters = 0
    }
  }
  sendPiece(rows, true)
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
      for (const row of some!) this.#format.read(row as Row, items)
    }
    return { partitions: answer.partitions, head: this.#format.readHead(answer.head), items }
  }
}
