/** Loaded before a server in which each evaluation looks into the index, as if nothing were remembered of the one before. */
import { CandidateCache } from '../../src/rules/candidateCache.ts'

const name = 'recall'
if (!(name in CandidateCache.prototype)) throw new Error(`CandidateCache has no ${name} any more`)
Object.defineProperty(CandidateCache.prototype, name, { value: () => -1 })
