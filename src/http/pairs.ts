import { ApiError, badParam } from '../runtime/errors.ts'
import { shownKey } from './cleanValue.ts'

/** A longer query or form is refused before it is read: the largest legitimate form is a polygon of 2,000 points. */
const MAX_PAIRS = 10_000

/** `operatingHours[sun][0][1]` has three levels; nothing in the interface needs many more. */
const MAX_LEVELS = 8

/** The values under one name: texts in order, or further names in brackets. */
export type PairNode = PairTexts | PairBranch

export interface PairTexts {
  readonly texts: string[]
}

export interface PairBranch {
  /** The node's members: `[name]` and `[0]`. */
  readonly members: Map<string, PairNode>
  /** The node's items: each `[]` is a new one. */
  readonly items: PairNode[]
}

/** A query or form, split and sorted by names but not interpreted yet. */
export interface Pairs {
  /** The wanted values, by the name before the brackets. */
  readonly wanted: ReadonlyMap<string, PairNode>
  /** The last text of every other name, including brackets. It is not decoded if its escapes are invalid. */
  readonly others: ReadonlyMap<string, string>
}

export function isTexts(node: PairNode | undefined): node is PairTexts {
  return node !== undefined && 'texts' in node
}

/**
 * Splits `a=1&b[c]=2&b[d][]=3` into a tree.
 * @throws ApiError 400 for more than {@link MAX_PAIRS} pairs; for wanted names, an invalid escape, or brackets that
 * do not close or are nested too deep
 */
export function splitPairs(text: string, isWanted: (name: string) => boolean): Pairs {
  const wanted = new Map<string, PairNode>()
  const others = new Map<string, string>()
  if (text === '') return { wanted, others }
  const pairs = text.split('&', MAX_PAIRS + 1)
  if (pairs.length > MAX_PAIRS) throw new ApiError(400, `Too many parameters: at most ${MAX_PAIRS}.`)
  for (const pair of pairs) {
    const equals = pair.indexOf('=')
    const rawName = equals < 0 ? pair : pair.slice(0, equals)
    const decodedName = decode(rawName)
    const name = decodedName ?? rawName
    const bracket = name.indexOf('[')
    const field = bracket < 0 ? name : name.slice(0, bracket)
    const rawValue = equals < 0 ? '' : pair.slice(equals + 1)
    const value = decode(rawValue)
    if (!isWanted(field)) others.set(name, value ?? rawValue)
    else if (decodedName === undefined || value === undefined)
      throw badParam(shownKey(field), 'Invalid escape sequence.')
    else wanted.set(field, add(wanted.get(field), levelsOf(name, field), 0, value))
  }
  return { wanted, others }
}

/** `[sun][0][]` → `sun`, `0`, ``. */
function levelsOf(name: string, field: string): readonly string[] {
  if (name === field) return []
  if (!name.endsWith(']')) throw badParam(field, 'Brackets in its name must close.')
  const levels = name.slice(field.length + 1, -1).split('][')
  if (levels.length > MAX_LEVELS)
    throw badParam(field, `Must not be nested deeper than ${MAX_LEVELS} levels.`)
  if (levels.some((level) => /[[\]]/.test(level))) throw badParam(field, 'Brackets in its name must close.')
  return levels
}

/** Returns the node with one more text. If text and brackets meet under one name, the last one counts. */
function add(node: PairNode | undefined, levels: readonly string[], depth: number, text: string): PairNode {
  if (depth === levels.length) {
    if (!isTexts(node)) return { texts: [text] }
    node.texts.push(text)
    return node
  }
  const branch: PairBranch = node === undefined || isTexts(node) ? { members: new Map(), items: [] } : node
  const level = levels[depth]!
  if (level !== '') {
    branch.members.set(level, add(branch.members.get(level), levels, depth + 1, text))
    return branch
  }
  const last = branch.items.at(-1)
  if (last !== undefined && takesMore(last, levels, depth + 1)) add(last, levels, depth + 1, text)
  else branch.items.push(add(undefined, levels, depth + 1, text))
  return branch
}

/** `beacons[][uuid]=…&beacons[][major]=…` is one item until a name is repeated, as in Rack. */
function takesMore(node: PairNode, levels: readonly string[], depth: number): boolean {
  if (depth === levels.length || levels[depth] === '' || isTexts(node)) return false
  const member = node.members.get(levels[depth]!)
  return member === undefined || takesMore(member, levels, depth + 1)
}

/** Decodes a text; undefined for an invalid escape. */
function decode(text: string): string | undefined {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
