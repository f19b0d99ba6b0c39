/**
 * `node test/growth/prove.ts`: writes proven.json, the patterns that recheck has proved to be linear. The quick suite proves
 * only others, so this saves time and is never needed; the slow suite proves all.
 */
import { writeFileSync } from 'node:fs'
import { projectPatterns } from './patterns.ts'
import { PROVEN, PROVER, textOf, verdictOf } from './verdict.ts'

const patterns = projectPatterns().patterns.filter(
  (pattern) => PROVEN.has(textOf(pattern)) || verdictOf(pattern) === undefined,
)
const file = { by: PROVER, patterns: [...new Set(patterns.map(textOf))].toSorted() }
writeFileSync(new URL('./proven.json', import.meta.url), `${JSON.stringify(file, null, 2)}\n`)
