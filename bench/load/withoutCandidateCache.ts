/** Loaded before a server, so that each evaluation queries the index as if no candidates were remembered. */
import { CandidateCache } from '../../src/rules/candidateCache.ts'

const name = 'recall'
if (!(name in CandidateCache.prototype)) throw new Error(`CandidateCache has no ${name} any more`)
Object.defineProperty(CandidateCache.prototype, name, { value: () => -1 })
