import { badParam } from '../runtime/errors.ts'
import { Structure } from './structure.ts'

/** A shorter text takes at most a millisecond, whatever it contains. */
const HARMLESS_CHARACTERS = 16 * 1024

const QUOTE = 0x22
const BACKSLASH = 0x5c

const structure = new Structure()

/**
 * JSON.parse with a bound on its cost, before anything is parsed: a megabyte of `{}`, or of different names, takes a
 * hundred milliseconds. The check reads each character once and allocates nothing.
 * @param name the parameter that has the text
 * @throws ApiError 400 that says which bound of {@link Structure} it exceeds; the errors of JSON.parse
 */
export function parseJson(text: string, name: string): unknown {
  if (text.length > HARMLESS_CHARACTERS) {
    structure.begin()
    check(text, name)
  }
  return JSON.parse(text)
}

/**
 * Does the same as {@link parseJson} for the JSON texts of one form or query, which are counted together.
 * {@link beginTexts} must be called before.
 */
export function parseOneOfTexts(text: string, name: string): unknown {
  check(text, name)
  return JSON.parse(text)
}

/** Begins to count another form or query. */
export function beginTexts(): void {
  structure.begin()
}

function check(text: string, name: string): void {
  structure.beginText()
  count(text)
  if (structure.excess !== undefined) throw badParam(name, structure.excess)
}

function count(text: string): void {
  const { length } = text
  /** The hash of the last text, which is a name if a colon follows it. */
  let hash = 0
  for (let at = 0; at < length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        hash = structure.seed
        let code = text.charCodeAt(++at)
        while (at < length && code !== QUOTE) {
          if (code === BACKSLASH) code = text.charCodeAt(++at)
          hash = Math.imul(hash ^ code, 0x01000193)
          code = text.charCodeAt(++at)
        }
        break
      }
      case 0x3a: // :
        structure.name(hash)
        break
      case 0x5b: // [
      case 0x7b: // {
        structure.open()
        break
      case 0x5d: // ]
      case 0x7d: // }
        structure.close()
    }
    if (structure.excess !== undefined) return
  }
}
