/**
 * The invariants at the top of modules, and the tables of docs/spec.md that say which test enforces each.
 *
 * In a comment: a line `Invariants`, then a list of `- HOST-1: sentence`. In a table: `| HOST-1 | sentence | tests
 * |`, the tests separated by `<br>`, each as `` `file`: title ``, or `by type: …` or `by review: …` if no test can
 * enforce it.
 */
import { parseSync, Visitor } from 'oxc-parser'

export interface Row {
  readonly id: string
  readonly sentence: string
  readonly tests: readonly TestName[]
  /** The reason why there is no test. */
  readonly exempt: string | undefined
}

export interface TestName {
  readonly file: string
  readonly title: string
}

/** The lines of a comment, without the asterisks at their beginning. */
export type CommentLines = readonly string[]

/** The comments of a source file. */
export function commentsOf(file: string, source: string): CommentLines[] {
  return parseSync(file, source).comments.map(({ value }) =>
    value.split('\n').map((line) => line.replace(/^ *\*? ?/, '').trimEnd()),
  )
}

/** The invariants that a comment lists, with id and sentence. Lines with another form are in `faults`. */
export function invariantsOf(comment: CommentLines): {
  readonly invariants: readonly (readonly [id: string, sentence: string])[]
  readonly faults: readonly string[]
} {
  const start = comment.indexOf('Invariants')
  const outside = comment.filter((line, i) => i !== start && /\binvariants?\b|^1\. /i.test(line))
  const faults = outside.map((line) => `not in a list below "Invariants": ${line}`)
  if (start < 0) return { invariants: [], faults }
  const items: string[] = []
  for (const line of comment.slice(start + 1)) {
    if (line === '') break
    if (line.startsWith('- ')) items.push(line.slice(2))
    else if (line.startsWith('  ') && items.length > 0) items.push(`${items.pop()} ${line.trim()}`)
    else faults.push(`no invariant: ${line}`)
  }
  const invariants: [string, string][] = []
  for (const item of items) {
    const match = /^([A-Z][A-Z0-9-]*-\d+): (.+)$/.exec(item)
    if (match === null) faults.push(`has no id: ${item}`)
    else invariants.push([match[1]!, match[2]!.replaceAll(/\{@link ([^}]+)\}/g, '`$1`')])
  }
  if (items.length === 0) faults.push('no invariant below "Invariants"')
  return { invariants, faults }
}

/** The rows with an id in all tables of the page, including those of the guarantees. */
export function rowsOf(page: string): { readonly rows: readonly Row[]; readonly faults: readonly string[] } {
  const rows: Row[] = []
  const faults: string[] = []
  for (const line of page.split('\n')) {
    const [, id, sentence, cell] = /^\| ([A-Z][A-Z0-9-]*-\d+|G\d+) \| (.+?) \| (.*?) ?\|$/.exec(line) ?? []
    if (id === undefined) continue
    if (rows.some((row) => row.id === id)) faults.push(`${id} is there twice`)
    const exempt = /^by (?:type|review): ./.test(cell!) ? cell : undefined
    const tests: TestName[] = []
    for (const part of exempt === undefined ? cell!.split('<br>') : []) {
      const [, file, title] = /^`([^`]+)`: (.+)$/.exec(part) ?? []
      if (file === undefined) faults.push(`${id} names no test in "${part}"`)
      else tests.push({ file, title: title! })
    }
    rows.push({ id, sentence: sentence!, tests, exempt })
  }
  return { rows, faults }
}

/**
 * The titles of the tests in a file, as they are written there: the first argument of each call, if it is a text and
 * the last argument is a function. `t.test.skip` and `t.todo` do not count.
 */
export function titlesOf(file: string, source: string): Set<string> {
  const titles = new Set<string>()
  new Visitor({
    CallExpression({ callee, arguments: given }) {
      const isSkipped = callee.type === 'MemberExpression' && /\.(?:skip|todo)$/.test(textOf(source, callee))
      const work = given.at(-1)?.type
      if (isSkipped || (work !== 'ArrowFunctionExpression' && work !== 'FunctionExpression')) return
      const title = given[0]!
      if (title.type === 'Literal' && typeof title.value === 'string') titles.add(title.value)
      else if (title.type === 'TemplateLiteral') titles.add(textOf(source, title).slice(1, -1))
    },
  }).visit(parseSync(file, source).program)
  return titles
}

function textOf(source: string, { start, end }: { readonly start: number; readonly end: number }): string {
  return source.slice(start, end)
}

/** Pages that a comment names: files, and decision records by number. */
export function pagesNamedIn(text: string): string[] {
  return [...text.matchAll(/[\w./-]*\w\.md\b|\bdocs\/adr\/\d{4}(?![\w-])/g)].map(([name]) => name)
}
