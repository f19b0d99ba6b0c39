/**
 * Loaded before a server whose updates are all to be evaluated, as if no device were ever within its safe zone: what
 * the zones are worth is the difference. There is no such setting, because nobody else has a use for it.
 */
import { Partition } from '../../src/actor/partition.ts'

const name = 'isWithinZone'
if (!(name in Partition.prototype)) throw new Error(`Partition has no ${name} any more`)
Object.defineProperty(Partition.prototype, name, { value: () => false })
