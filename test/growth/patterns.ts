/** Every regular expression of the project, found in the syntax of the code, so that new ones are found, too. */
import { globSync, readFileSync } from 'node:fs'
import { parseSync } from 'oxc-parser'

/** The folders whose code processes input from clients, operators and other servers. */
const FOLDERS = ['src', 'config', 'cluster', 'workers', 'sdk/src', 'demo']

const ROOT = new URL('../../', import.meta.url)

export interface Pattern {
  readonly source: string
  readonly flags: string
  /** `file:line` of each place where it occurs. */
  readonly places: string[]
}

export interface Found {
  readonly patterns: readonly Pattern[]
  /** Places where the program puts a pattern together at run time, so that its cost cannot be checked. */
  readonly unknown: readonly string[]
}

// oxlint-disable-next-line typescript/no-explicit-any -- nodes of every kind
type Node = any

/** The patterns of all folders. */
export function projectPatterns(): Found {
  const files = FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.{ts,js,mjs}`, { cwd: ROOT.pathname }))
  return patternsOf(files.map((file) => [file, readFileSync(new URL(file, ROOT), 'utf8')]))
}

/** @param files the name and the text of each file */
export function patternsOf(files: readonly (readonly [name: string, text: string])[]): Found {
  const patterns = new Map<string, Pattern>()
  const unknown: string[] = []
  for (const [name, text] of files) {
    const { program, errors } = parseSync(name, text)
    if (errors.length > 0) throw new Error(`${name}: ${errors[0]!.message}`)
    visit(program, (node) => {
      const pattern = patternOf(node)
      if (pattern === undefined) return
      const place = `${name}:${text.slice(0, node.start).split('\n').length}`
      if (pattern === 'unknown') {
        unknown.push(place)
        return
      }
      const [source, flags] = pattern
      const key = `/${source}/${flags}`
      const before = patterns.get(key)
      if (before === undefined) patterns.set(key, { source, flags, places: [place] })
      else before.places.push(place)
    })
  }
  return { patterns: [...patterns.values()], unknown }
}

/** Methods of strings that compile a string to a pattern. */
const COMPILING = new Set(['match', 'matchAll', 'search'])

/**
 * The pattern that a node represents: a literal, `RegExp(…)`, `text.match('…')`, or `pattern: '…'` of a JSON schema.
 */
function patternOf(node: Node): readonly [source: string, flags: string] | 'unknown' | undefined {
  switch (node.type) {
    case 'Literal':
      return node.regex && [node.regex.pattern, node.regex.flags]
    case 'NewExpression':
    case 'CallExpression': {
      const { callee, arguments: given } = node
      if (callee.name === 'RegExp') {
        // If the argument is a literal, the literal itself is found.
        if (given[0]?.regex) return undefined
        const [source, flags] = given.map(textOf)
        if (source === undefined || (given.length > 1 && flags === undefined)) return 'unknown'
        return [source, flags ?? '']
      }
      const source = COMPILING.has(callee.property?.name) ? textOf(given[0]) : undefined
      return source === undefined ? undefined : [source, callee.property.name === 'matchAll' ? 'g' : '']
    }
    case 'Property': {
      const source = node.key?.name === 'pattern' ? textOf(node.value) : undefined
      return source === undefined ? undefined : [source, 'u']
    }
    default:
      return undefined
  }
}

function textOf(node: Node): string | undefined {
  return node?.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined
}

function visit(node: Node, look: (node: Node) => void): void {
  if (typeof node !== 'object' || node === null) return
  if (typeof node.type === 'string') look(node)
  for (const member of Object.values(node)) visit(member, look)
}
