/** What recheck proves about a regular expression, and for which that has been done. */
process.env.RECHECK_BACKEND = 'pure'
import { checkSync } from 'recheck'
import recheck from 'recheck/package.json' with { type: 'json' }
import type { Pattern } from './patterns.ts'
import proven from './proven.json' with { type: 'json' }

/** With another version of recheck, everything is to be proved anew. */
export const PROVER = `recheck ${recheck.version}`

/** Patterns that this version of recheck has proved to be linear: `node test/growth/prove.ts` writes them. */
export const PROVEN: ReadonlySet<string> = new Set(proven.by === PROVER ? proven.patterns : [])

/** A pattern as code has it. */
export function textOf({ source, flags }: Pick<Pattern, 'source' | 'flags'>): string {
  return `/${source}/${flags}`
}

/** What recheck finds wrong with a pattern, or undefined. It takes up to a second of a processor. */
export function verdictOf({ source, flags }: Pick<Pattern, 'source' | 'flags'>): string | undefined {
  // No time limits, because recheck must not give up on a busy machine.
  const verdict = checkSync(source, flags, {
    timeout: null,
    attackTimeout: null,
    incubationTimeout: null,
    randomSeed: 1,
  })
  if (verdict.status === 'safe') return undefined
  if (verdict.status === 'unknown') return `unknown: ${verdict.error.kind}`
  return `${verdict.complexity.summary}, by ${verdict.attack.pattern}`
}
