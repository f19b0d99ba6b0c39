/** What was typed, as words, and every way to read numbers, units and crossings in it. Pure. */
import { fold, wordOf, type Word } from '../text/words.ts'
import { JOIN_WORDS, UNIT_WORDS } from '../text/wordClasses.ts'
import { numberKey, numberValue } from '../records/houseNumbers.ts'

/** How many words of a query are read. Hardly any address has more. */
export const MAX_WORDS = 20
/** How many words of a query may be the house number. More are a mistake. */
const MAX_NUMBERS = 4
const LIGHT_SHARE = 0.3

export interface QueryWord extends Word {
  /** How much the word counts: the number of its letters, and less for a light word. */
  readonly weight: number
  /** The part of the query, as divided by commas. */
  readonly part: number
  /** Whether more letters may follow. */
  readonly isPrefix: boolean
}

/** Words that are read as a house number. */
export interface NumberReading {
  readonly first: number
  /** The index after the last of these words. */
  readonly end: number
  readonly key: string
  readonly value: number
}

/** Words that are read as a unit, such as `apt 4`. */
export interface UnitReading {
  readonly first: number
  readonly end: number
  readonly unit: string
}

export interface Query {
  readonly words: readonly QueryWord[]
  readonly weight: number
  readonly numbers: readonly NumberReading[]
  readonly unit: UnitReading | undefined
  /** The indexes of words that stand between two streets that meet. */
  readonly joins: readonly number[]
  /** Whether more may be typed. */
  readonly isUnfinished: boolean
  /** Whether it names a box at a post office or a rural route. Only what comes after it counts then. */
  readonly isBox: boolean
}

/** `PO Box 7`, `RR 2 Box 15`, `HC 1`, `General Delivery`; folded. */
const BOX = /^(?:po box \S+|post office box \S+|(?:rr|hc) \S+(?: box \S+)?|general delivery)(?: |$)/

/** Words before the first street of a crossing: `esquina de 18 de Julio y Ejido`. */
const CORNER = /^(?:corner|esquina|esq)(?: of| de)? /

const SUFFIXES: ReadonlySet<string> = new Set(['bis', 'ter', 'quater'])

/**
 * Reads a text.
 * @param isUnfinished letters may follow the last word, unless a space or comma does
 */
export function readQuery(text: string, isUnfinished: boolean): Query {
  const words: QueryWord[] = []
  const joined = text.replaceAll(/[@&]| \/ /g, ' and ').replaceAll('#', ' no ')
  const parts = joined.split(/[,;\n\t]/)
  let isBox = false
  for (const [part, piece] of parts.entries()) {
    const folded = fold(piece)
    const afterBox = folded.replace(BOX, '')
    if (afterBox !== folded) isBox = true
    const rest = part === 0 ? afterBox.replace(CORNER, '') : afterBox
    for (const one of rest.split(' ')) {
      if (one === '' || words.length === MAX_WORDS) continue
      const word = wordOf(one)
      words.push({ ...word, weight: weightOf(word), part, isPrefix: false })
    }
  }
  const last = words.at(-1)
  if (isUnfinished && last !== undefined && /[\p{L}\p{M}\p{N}'’]$/u.test(text))
    words[words.length - 1] = { ...last, isPrefix: true, isLight: false, weight: last.text.length }
  const withUnit = unitOf(words)
  const numbers = numbersOf(words, withUnit)
  // `No. 7` is only a unit beside a house number.
  const unit = numbers.length > 0 ? withUnit : undefined
  return {
    words,
    weight: words.reduce((sum, { weight }) => sum + weight, 0),
    numbers: isBox ? [] : numbers.length > 0 ? numbers : numbersOf(words, undefined),
    unit,
    joins: words.flatMap(({ text: one }, index) =>
      JOIN_WORDS.has(one) && index > 0 && index < words.length - 1 ? [index] : [],
    ),
    isUnfinished,
    isBox,
  }
}

/** How much a word counts. */
export function weightOf({ text, isLight }: Word): number {
  return text.length * (isLight ? LIGHT_SHARE : 1)
}

/** A query that consists of some words of another one. */
export function someWords(query: Query, isWanted: (index: number) => boolean): Query {
  return { ...query, words: query.words.filter((_, index) => isWanted(index)) }
}

function numbersOf(words: readonly QueryWord[], unit: UnitReading | undefined): NumberReading[] {
  const readings: NumberReading[] = []
  const add = (first: number, end: number): void => {
    const text = words
      .slice(first, end)
      .map((word) => word.text)
      .join(' ')
    readings.push({ first, end, key: numberKey(text), value: numberValue(text) })
  }
  for (const [index, { text, part }] of words.entries()) {
    if (readings.length >= MAX_NUMBERS) break
    if (unit !== undefined && index >= unit.first && index < unit.end) continue
    if (!/^\d{1,6}(?:-\d{1,4})?(?:[a-z]|bis)?$/.test(text)) continue
    const next = words[index + 1]
    const isSuffix =
      next?.part === part &&
      (/^[a-z]$/.test(next.text) || SUFFIXES.has(next.text) || /^\d\/\d$/.test(next.text))
    if (isSuffix) add(index, index + 2)
    add(index, index + 1)
  }
  return readings
}

/** The last word that stands for a unit, with its number. */
function unitOf(words: readonly QueryWord[]): UnitReading | undefined {
  for (let index = words.length - 2; index > 0; index--) {
    const unit = words[index + 1]!.text
    if (UNIT_WORDS.has(words[index]!.text) && /^(?:\d{1,5}[a-z]?|[a-z]\d{0,4})$/.test(unit))
      return { first: index, end: index + 2, unit: unit.toUpperCase() }
  }
  return undefined
}
