/** Whether the bytes from an offset on are this text in UTF-8. It makes no text unless it must. */
export function isTextAt(bytes: Buffer, from: number, length: number, text: string): boolean {
  for (let i = 0; i < length; i++) {
    const byte = bytes[from + i]!
    // The text is not ASCII, so a character takes several bytes.
    if (byte >= 0x80) return bytes.toString('utf8', from, from + length) === text
    if (byte !== text.charCodeAt(i)) return false
  }
  return length === text.length
}
