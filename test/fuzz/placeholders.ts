/**
 * Words in generated requests that stand for what is only known when they are sent: ids, keys, tokens and marks. They
 * are written `§user:7§`: the kind, and which of those that are known.
 */

/** Placeholder for the mark of the caller's scope. Only callers of this scope may see it. */
export const MARK = '§mark§'

/** What a placeholder stands for. A kind may have members: `way.trip`. */
export type LookUp = (kind: string, draw: number) => string

const NAMED = /§([a-z]+(?:\.[a-zA-Z]+)?):(\d+)§/g
/** The same in bytes that are read as Latin-1, and in a form or query. */
const NAMED_BYTES =
  /\u00c2\u00a7([a-z]+(?:\.[a-zA-Z]+)?):(\d+)\u00c2\u00a7|%C2%A7([a-z]+(?:\.[a-zA-Z]+)?)%3A(\d+)%C2%A7/g
const MARK_BYTES = /\u00c2\u00a7mark\u00c2\u00a7|%C2%A7mark%C2%A7/g

/** Replaces the placeholders of a text. */
export function filledText(text: string, mark: string, lookUp: LookUp): string {
  return text.replaceAll(MARK, mark).replace(NAMED, (_, kind, draw) => lookUp(kind, Number(draw)))
}

/** Replaces the placeholders of a body, which may not be valid text. What they stand for is ASCII. */
export function filledBytes(body: Uint8Array | undefined, mark: string, lookUp: LookUp): Buffer {
  if (body === undefined) return Buffer.alloc(0)
  const bytes = Buffer.from(body)
  if (!bytes.includes('§') && !bytes.includes('%C2%A7')) return bytes
  const text = bytes
    .toString('latin1')
    .replaceAll(MARK_BYTES, mark)
    .replace(NAMED_BYTES, (_, kind, draw, formKind, formDraw) =>
      lookUp(kind ?? formKind, Number(draw ?? formDraw)),
    )
  return Buffer.from(text, 'latin1')
}

/** Escapes all characters that may not occur in a request line, and keeps placeholders. */
export function escaped(text: string): string {
  return text
    .split(/(§[\w.]+(?::\d+)?§)/)
    .map((part, i) => (i % 2 === 1 ? part : encodeURIComponent(part.toWellFormed())))
    .join('')
}
