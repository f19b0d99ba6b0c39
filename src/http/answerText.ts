import { Slice } from '../runtime/slices.ts'
import { writePacked } from '../runtime/packedUtf8.ts'
import { PIECE_CHARACTERS, textPieces } from '../runtime/textPieces.ts'
import type { Answer } from './route.ts'

export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8'

const CLOSING_BRACE = 0x7d
const SUCCESS = '{"meta":{"code":200}'

/** An answer in pieces up to this length is joined at once, which takes a fraction of a millisecond. */
const WHOLE_CHARACTERS = 256 * 1024
/** How many characters of a longer one are joined at a time. */
const GROUP_CHARACTERS = 64 * 1024

/** Bytes of a packed answer up to this length are not kept after they are written. */
const SHORT_BYTES = 64 * 1024
const shortAnswer = Buffer.allocUnsafeSlow(SHORT_BYTES)

/** Whether the pieces of an answer deserve more than one turn. */
export function isManyKilobytes(pieces: Iterable<string>): boolean {
  let characters = 0
  for (const piece of pieces) if ((characters += piece.length) > WHOLE_CHARACTERS) return true
  return false
}

/** The JSON text of a handler's answer. */
export function successText(status: number, answer: Answer): string {
  const meta = metaText(status, answer)
  const json = answer.json ?? (answer.pieces && [...answer.pieces].join(''))
  if (json !== undefined) return json === '' ? `${meta}}` : `${meta},${json}}`
  const members = answer.body === undefined ? '{}' : JSON.stringify(answer.body)
  return members === '{}' ? `${meta}}` : `${meta},${members.slice(1)}`
}

/**
 * The bytes of {@link successText} for an answer with members in packed form.
 * @returns bytes that are valid until the next call, if they are at most 64 KB
 */
export function packedAnswerBytes(status: number, answer: Answer, packedJson: string): Uint8Array {
  const meta = `${metaText(status, answer)},`
  const length = Buffer.byteLength(meta) + packedJson.length + 1
  const bytes = length <= SHORT_BYTES ? shortAnswer.subarray(0, length) : Buffer.allocUnsafeSlow(length)
  writePacked(packedJson, bytes, bytes.write(meta))
  bytes[length - 1] = CLOSING_BRACE
  return bytes
}

/**
 * The bytes of {@link successText} for an answer in pieces, in turns with other work.
 *
 * Pieces are joined in groups, because V8 would copy each one that was put together out of others before it is written,
 * and keep the copy for as long as the piece.
 */
export async function successBytes(
  status: number,
  answer: Answer & { readonly pieces: Iterable<string> },
): Promise<Uint8Array> {
  const slice = new Slice()
  // Whoever asks for a large answer has often worked in this turn already.
  await slice.next()
  const groups: Buffer[] = []
  let length = 0
  let group = [`${metaText(status, answer)},`]
  let characters = 0
  const endGroup = (): void => {
    const bytes = Buffer.from(group.join(''))
    groups.push(bytes)
    length += bytes.length
    group = []
    characters = 0
  }
  for (const piece of answer.pieces) {
    group.push(piece)
    characters += piece.length
    if (characters < GROUP_CHARACTERS) continue
    endGroup()
    if (slice.isOver) await slice.next()
  }
  group.push('}')
  endGroup()
  const whole = Buffer.allocUnsafeSlow(length)
  let at = 0
  for (const bytes of groups) {
    if (slice.isOver) await slice.next()
    whole.set(bytes, at)
    at += bytes.length
  }
  return whole
}

function metaText(status: number, { meta }: Answer): string {
  if (status === 200 && meta === undefined) return SUCCESS
  return `{"meta":${JSON.stringify({ code: status, ...meta })}`
}

/**
 * A list as pieces of JSON text.
 * @param opening comes before its first bracket
 * @param closing comes after its last
 */
export function listPieces(opening: string, items: readonly string[], closing = ''): string[] {
  return [...eachPiece(opening, items, closing)]
}

/** The same as {@link listPieces}, one by one, for lists with tens of thousands of items. */
export function* eachPiece(opening: string, items: readonly string[], closing = ''): Generator<string, void> {
  yield `${opening}[`
  let separator = ''
  for (const item of items) {
    if (item.length > PIECE_CHARACTERS) {
      if (separator !== '') yield separator
      yield* textPieces(item)
    } else yield `${separator}${item}`
    separator = ','
  }
  yield `]${closing}`
}
