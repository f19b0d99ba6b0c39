import { badParam } from '../runtime/errors.ts'
import { Structure } from './structure.ts'

/** A shorter text takes a millisecond at most, whatever it holds. */
const HARMLESS_CHARACTERS = 16 * 1024

const QUOTE = 0x22
const BACKSLASH = 0x5c

const structure = new Structure()

/**
 * JSON.parse, with a bound on what it takes, before anything is parsed: a megabyte of `{}` or of names that are all
 * different takes a hundred milliseconds. The check reads each character once and makes nothing.
 * @param name the parameter that the text is
 * @throws ApiError 400 that says which bound of {@link Structure} it exceeds; what JSON.parse throws
 */
export function parseJson(text: string, name: string): unknown {
  if (text.length > HARMLESS_CHARACTERS) {
    structure.begin()
    check(text, name)
  }
  return JSON.parse(text)
}

/** As {@link parseJson}, of the JSON texts of one form or query, which count together: after {@link beginTexts}. */
export function parseOneOfTexts(text: string, name: string): unknown {
  check(text, name)
  return JSON.parse(text)
}

/** Another form or query begins. */
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
  /** Of the text that was read last, which is a name where a colon follows it. */
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
