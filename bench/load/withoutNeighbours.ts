/** Loaded before a server in which each evaluation looks into the index, as if nothing were remembered of the one before. */
import { Neighbours } from '../../src/rules/neighbours.ts'

const name = 'recall'
if (!(name in Neighbours.prototype)) throw new Error(`Neighbours has no ${name} any more`)
Object.defineProperty(Neighbours.prototype, name, { value: () => -1 })
