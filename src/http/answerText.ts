import { Slice } from '../runtime/slices.ts'
import { PIECE_CHARACTERS, textPieces } from '../runtime/textPieces.ts'
import type { Answer } from './route.ts'

export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8'

const SUCCESS = '{"meta":{"code":200}'

/** An answer in pieces up to this length is joined at once, which takes a fraction of a millisecond. */
const WHOLE_CHARACTERS = 256 * 1024

/** Whether the pieces of an answer deserve more than one turn. */
export function isManyKilobytes(pieces: readonly string[]): boolean {
  let characters = 0
  for (const piece of pieces) if ((characters += piece.length) > WHOLE_CHARACTERS) return true
  return false
}

/** The JSON text of a handler's answer. */
export function successText(status: number, answer: Answer): string {
  const meta = metaText(status, answer)
  const json = answer.json ?? answer.pieces?.join('')
  if (json !== undefined) return json === '' ? `${meta}}` : `${meta},${json}}`
  const members = answer.body === undefined ? '{}' : JSON.stringify(answer.body)
  return members === '{}' ? `${meta}}` : `${meta},${members.slice(1)}`
}

/** The bytes of {@link successText} for an answer in pieces, none of them empty, in turns with other work. */
export async function successBytes(
  status: number,
  answer: Answer & { readonly pieces: readonly string[] },
): Promise<Uint8Array> {
  const slice = new Slice()
  const pieces = [`${metaText(status, answer)},`, ...answer.pieces, '}']
  let length = 0
  for (const piece of pieces) {
    if (slice.isOver) await slice.next()
    length += Buffer.byteLength(piece)
  }
  const bytes = Buffer.allocUnsafeSlow(length)
  let at = 0
  for (const piece of pieces) {
    if (slice.isOver) await slice.next()
    at += bytes.write(piece, at)
  }
  return bytes
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
  const pieces = [`${opening}[`]
  for (const [i, item] of items.entries()) {
    if (item.length > PIECE_CHARACTERS) pieces.push(...(i === 0 ? [] : [',']), ...textPieces(item))
    else pieces.push(i === 0 ? item : `,${item}`)
  }
  pieces.push(`]${closing}`)
  return pieces
}
