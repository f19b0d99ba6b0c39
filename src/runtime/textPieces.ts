/** How many characters a piece has. Writing it takes a fraction of a millisecond. */
export const PIECE_CHARACTERS = 128 * 1024

/** How many characters some texts have together, such as the pieces of one. */
export function charactersOf(texts: readonly string[]): number {
  let characters = 0
  for (const text of texts) characters += text.length
  return characters
}

/** A text as pieces. Characters stay complete, so no pair of surrogates is divided. */
export function textPieces(text: string): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length;) {
    let to = from + PIECE_CHARACTERS
    const isInPair = (text.charCodeAt(to - 1) & 0xfc00) === 0xd800
    if (isInPair) to++
    pieces.push(text.slice(from, to))
    from = to
  }
  return pieces
}
