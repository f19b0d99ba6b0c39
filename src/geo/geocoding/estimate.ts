import type { GeocoderQuestion } from './geocoderThread.ts'
import { MAX_WORDS } from './query.ts'

/** The time in milliseconds of a question that looks up a point or a single record. */
const LOOK_UP_MS = 0.5
/** The time of a text of one word. */
const TEXT_MS = 1
/** The time that each further word adds for each word before it. The number of combinations grows with the square of the words. */
const PAIR_MS = 0.05
/** Each test finds the next word of a text. */
const WORD = /[\p{L}\p{N}]+/gu

/**
 * How long a question will probably take in a thread, in milliseconds. It distinguishes what somebody types from texts of
 * many words, which may take twenty times as long.
 */
export function estimatedMs({ kind, question }: GeocoderQuestion): number {
  if (kind === 'forward' || kind === 'autocomplete') return textMs(question.query)
  return kind === 'validate' ? textMs(question.firstLine) : LOOK_UP_MS
}

function textMs(text: string): number {
  let words = 0
  WORD.lastIndex = 0
  while (words < MAX_WORDS && WORD.test(text)) words++
  return TEXT_MS + (PAIR_MS * words * (words - 1)) / 2
}
