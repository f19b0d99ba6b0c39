import type { GeocoderQuestion } from './geocoderThread.ts'
import { MAX_WORDS } from './query.ts'

/** What a question takes that looks up a point or a single record, in milliseconds. */
const LOOK_UP_MS = 0.5
/** What a text of one word takes. */
const TEXT_MS = 1
/** What each further word adds, for each word before it: the ways to combine words grow with their square. */
const PAIR_MS = 0.05
/** Each test finds the next word of a text. */
const WORD = /[\p{L}\p{N}]+/gu

/**
 * How long a question will probably take in a thread, in milliseconds. It tells apart what somebody types from texts of
 * many words, which may take twenty times as long, whatever they say.
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
