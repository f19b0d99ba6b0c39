/** Loaded before a server, so that each evaluation queries the index as if no candidates were remembered. */
import { CandidateCache } from '../../src/rules/candidateCache.ts'

CandidateCache.prototype.recall = () => -1
