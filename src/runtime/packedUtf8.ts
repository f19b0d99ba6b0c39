/**
 * Texts whose UTF-8 is what counts, on their way from a thread to a socket. Such a text is packed: it has a character for each
 * byte. The engine keeps it in a byte a character, where one emoji makes it take two for all, and copies it as it is, where a
 * text would be encoded.
 */

/** The packed form of a text. */
export function packUtf8(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** The text of a packed form. */
export function unpackUtf8(packed: string): string {
  return Buffer.from(packed, 'latin1').toString()
}

/** Writes the bytes of a packed text. @param at the offset, behind which there is room for all of them */
export function writePacked(packed: string, bytes: Buffer, at: number): void {
  bytes.write(packed, at, 'latin1')
}
