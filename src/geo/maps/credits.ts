/** Who is credited on maps. Pure. */

/** A name, or one with the page that it links to. */
export type MapCredit = string | { readonly text: string; readonly url: string }

/** How many characters of an attribution in a file's metadata are read. */
const MOST_CHARACTERS = 2000

const ENTITIES: Readonly<Record<string, string>> = {
  copy: '©',
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  nbsp: ' ',
}

/**
 * The credits that an attribution names. It is HTML, and files come from anywhere, so only its texts and the web
 * addresses of its links are used.
 */
export function creditsOf(html: string): MapCredit[] {
  const credits: MapCredit[] = []
  let url: string | undefined
  let before = ''
  for (const [i, piece] of html.slice(0, MOST_CHARACTERS).split('<').entries()) {
    const end = i === 0 ? -1 : piece.indexOf('>')
    // If a tag does not end, the rest is not shown.
    if (i > 0 && end < 0) continue
    if (i > 0) {
      const tag = piece.slice(0, end).trim().toLowerCase()
      if (/^a\s/.test(tag)) url = linkOf(piece.slice(0, end))
      else if (tag === '/a') url = undefined
    }
    const text = plain(piece.slice(end + 1))
    if (!/[\p{L}\p{N}]/u.test(text)) {
      if (text.includes('©')) before = '© '
      continue
    }
    const credit = before + text
    before = ''
    credits.push(url === undefined ? credit : { text: credit, url })
  }
  return credits
}

/** The address of a link's tag, if it is a page of the web. Other addresses could run code. */
function linkOf(tag: string): string | undefined {
  const [, double, single, bare] = /\shref=(?:"([^"]*)"|'([^']*)'|([^\s"']+))/i.exec(tag) ?? []
  const address = double ?? single ?? bare
  if (address === undefined || !URL.canParse(address)) return undefined
  const { protocol, href } = new URL(address)
  return protocol === 'https:' || protocol === 'http:' ? href : undefined
}

const SEPARATOR = /[\s,;|·-]/

/** A text without entities, without separators at its ends. */
function plain(text: string): string {
  const words = text
    .replace(/&(#?\w{1,8});/g, (whole, name: string) => ENTITIES[name] ?? whole)
    .replace(/\s+/g, ' ')
  let [start, end] = [0, words.length]
  while (start < end && SEPARATOR.test(words[start]!)) start++
  // A pattern that ends with $ would take quadratic time.
  while (end > start && SEPARATOR.test(words[end - 1]!)) end--
  return words.slice(start, end)
}
