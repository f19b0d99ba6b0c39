/** Texts of growing length that are hard for a reader which looks at the same character more than once. */

/** Counts how long a piece is where it is sent. */
export type Length = (text: string) => number

export interface Shape {
  readonly name: string
  readonly head: string
  /** Repeated as often as there is room. */
  readonly piece: string
  readonly tail: string
}

function shape(name: string, piece: string, head = '', tail = ''): Shape {
  return { name, head, piece, tail }
}

export const SHAPES: readonly Shape[] = [
  shape('digits and an x', '1', '', 'x'),
  shape('opening brackets', '('),
  shape('opening square brackets', '['),
  shape('percent signs', '%'),
  shape('pieces of an email address', 'a@'),
  shape('combining marks', '\u0301', 'e'),
  shape('a ligature of eighteen letters', '\u{FDFA}'),
  shape('blanks and an x', ' ', 'x', 'x'),
  shape('short words', 'ab '),
  shape('a host name of many parts', 'a.', 'http://'),
  shape('a list', 'a,'),
  shape('colons', '1:'),
  shape('backslashes', '\\'),
  shape('dashes', '-'),
]

/** The shape with a total length of about `most`, as `lengthOf` counts it. */
export function textOf({ head, piece, tail }: Shape, most: number, lengthOf: Length): string {
  const room = most - lengthOf(head) - lengthOf(tail)
  return head + piece.repeat(Math.max(0, Math.floor(room / lengthOf(piece)))) + tail
}

/** The bytes of a text within JSON. */
export const jsonLength: Length = (text) => Buffer.byteLength(JSON.stringify(text)) - 2

/** The bytes of a text within a request line. */
export const urlLength: Length = (text) => urlText(text).length

/**
 * A text for a request line. Only what would end the line or the value is escaped, so that the server also receives
 * what other clients would escape.
 */
export function urlText(text: string): string {
  return text.replace(/[^!-~]|[#&+?/]/gu, encodeURIComponent)
}
