/** Turns texts into words that can be compared. The code is pure. */
import { LRUCache } from 'lru-cache'
import { canonicalForm, isLightWord } from './wordClasses.ts'

/** A word of a name or a query. */
export interface Word {
  /** The word in lower case, without marks. */
  readonly text: string
  /** The form that stands for it and its abbreviations. */
  readonly canonical: string
  /** Whether the word says little, because it is a type of street, a title or an article. */
  readonly isLight: boolean
  /** Whether the word begins with a digit. */
  readonly isNumeric: boolean
}

const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
}

/** Most names and all house numbers of digits. Only their case changes. */
const PLAIN = /^[A-Za-z0-9]+(?: [A-Za-z0-9]+)*$/

/**
 * The text in lower case, without marks, apostrophes and full stops. Everything except letters and digits becomes a
 * space, but `-` and `/` stay between digits. Texts that an English reader takes for the same are the same in this
 * form.
 */
export function fold(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[ßæœøłđðþı]/g, (letter) => LETTERS[letter]!)
    .replaceAll(/[\p{M}'’.]/gu, '')
    .replaceAll(/[^\p{L}\p{N}/-]/gu, ' ')
    .replaceAll(/(?<!\d)[/-]|[/-](?!\d)/g, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
}

const MAX_KEPT = 20_000
const kept = new Map<string, Word>()

/**
 * A word.
 * @param text one folded word
 */
export function wordOf(text: string): Word {
  let word = kept.get(text)
  if (word === undefined) {
    if (kept.size >= MAX_KEPT) kept.clear()
    word = {
      text,
      canonical: canonicalForm(text),
      isLight: isLightWord(text),
      isNumeric: /^\p{N}/u.test(text),
    }
    kept.set(text, word)
  }
  return word
}

/** The word for a code of a country or state. `CT` has nothing to do with `Court`. */
export function codeWord(code: string): Word {
  const text = fold(code)
  return { text, canonical: text, isLight: false, isNumeric: false }
}

/** How many names are kept. A name has at most 255 characters, and most have 20, which takes some 300 bytes. */
const MAX_KEPT_NAMES = 10_000
const keptNames = new LRUCache<string, readonly Word[]>({ max: MAX_KEPT_NAMES })

/** The words of a name. */
export function wordsOf(name: string): readonly Word[] {
  let words = keptNames.get(name)
  if (words === undefined) {
    const folded = fold(name)
    words = folded === '' ? [] : folded.split(' ').map(wordOf)
    keptNames.set(name, words)
  }
  return words
}

/** Names with the same key are spellings of one name: `Av. Italia`, `Avenida Italia`. */
export function nameKey(name: string): string {
  return wordsOf(name)
    .map(({ canonical }) => canonical)
    .join(' ')
}

/**
 * Whether one insertion, deletion, change or swap of neighbours makes the first text the second one.
 * @returns false if they are equal
 */
export function isOneEdit(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || a === b) return false
  let at = 0
  while (at < a.length && at < b.length && a[at] === b[at]) at++
  const rest = (text: string, from: number): string => text.slice(from)
  if (a.length > b.length) return rest(a, at + 1) === rest(b, at)
  if (a.length < b.length) return rest(a, at) === rest(b, at + 1)
  if (rest(a, at + 1) === rest(b, at + 1)) return true
  return a[at] === b[at + 1] && a[at + 1] === b[at] && rest(a, at + 2) === rest(b, at + 2)
}

/** Whether one edit makes the first text a prefix of the second one. */
export function isOneEditOfPrefix(text: string, of: string): boolean {
  for (const length of [text.length, text.length - 1, text.length + 1])
    if (length <= of.length && isOneEdit(text, of.slice(0, length))) return true
  return false
}
