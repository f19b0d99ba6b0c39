import { readFileSync } from 'node:fs'
import { Marked } from 'marked'

/**
 * The guides of docs/guides as web pages. They can also be read as files, so their links are those of files: here, a
 * link to a guide leads to its page, and a link to another file of the repository becomes plain text.
 */

export interface GuideEntry {
  /** The name in the address `/docs/guides/<name>`, and of the file `<name>.md`. */
  readonly name: string
  readonly title: string
}

/** The address of the pages; the name of a guide or picture follows. */
export const GUIDES_PATH = '/docs/guides'

const FOLDER = new URL('../../docs/guides/', import.meta.url)

/** A line of the list in docs/guides/README.md, a link and what the guide is about: the guides and their order. */
const ENTRY = /^- \[([^[\]]+)\]\(((?:\.\.\/)?[a-z-]+)\.md\)/gm

/** The index of the guides and the location of their files, read once. */
export class Guides {
  readonly entries: readonly GuideEntry[]
  readonly #files: ReadonlyMap<string, URL>

  /**
   * Reads the list of guides.
   * @throws Error if it cannot be read
   */
  constructor() {
    const index = new URL('README.md', FOLDER)
    const listed = [...readFileSync(index, 'utf8').matchAll(ENTRY)].map(([, title, path]) => ({
      name: path!.replace('../', ''),
      title: title!,
      file: new URL(`${path}.md`, FOLDER),
    }))
    this.entries = listed.map(({ name, title }) => ({ name, title }))
    this.#files = new Map([['README', index], ...listed.map(({ name, file }) => [name, file] as const)])
  }

  /** The HTML of a guide's text; `README` is the list of guides. Undefined if there is no such guide. */
  html(name: string): string | undefined {
    const file = this.#files.get(name)
    return file && this.#marked.parse(readFileSync(file, 'utf8'), { async: false })
  }

  /** The picture with that file name, if the name is valid for one. */
  picture(name: string): URL | undefined {
    return /^[a-z][a-z-]*\.svg$/.test(name) ? new URL(name, FOLDER) : undefined
  }

  /** The address of a link's target on this server; undefined if the target is not served. */
  #target(href: string): string | undefined {
    if (/^(?:https?:|#|\/)/.test(href)) return href.replace(/^http:\/\/127\.0\.0\.1:8080(?=\/)/, '')
    const [, name, anchor = ''] = /^(?:(?:\.\.\/|guides\/)*)([\w-]+)\.md(#.*)?$/.exec(href) ?? []
    if (name === undefined || !this.#files.has(name)) return undefined
    return name === 'README' ? GUIDES_PATH : `${GUIDES_PATH}/${name}${anchor}`
  }

  readonly #marked: Marked = new Marked({
    renderer: {
      heading: ({ tokens, depth }) => {
        const text = this.#marked.Parser.parseInline(tokens)
        return `<h${depth} id="${anchorOf(text)}">${text}</h${depth}>\n`
      },
      link: ({ href, tokens }) => {
        const text = this.#marked.Parser.parseInline(tokens)
        const target = this.#target(href)
        return target === undefined ? text : `<a href="${escapeHtml(target)}">${text}</a>`
      },
      image: ({ href, text }) =>
        `<img src="${GUIDES_PATH}/${escapeHtml(href.replace(/^(?:\.\.\/)?(?:guides\/)?/, ''))}" alt="${escapeHtml(text)}">`,
    },
  })
}

/** An anchor like GitHub's, for headings of plain words. */
function anchorOf(html: string): string {
  return html
    .replaceAll(/<[^<>]+>|&\w+;/g, '')
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}

/** A text for use in HTML and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
