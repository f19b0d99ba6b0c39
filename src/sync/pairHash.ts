import { nameHash } from '../runtime/nameHash.ts'

/**
 * A number of 53 bits for a tag and externalId, the same within a thread. A million of them are remembered in a tenth of
 * the memory that their texts would take; of a million, two are equal with a chance of one in ten thousand.
 */
export function pairHash(tag: string, externalId: string): number {
  const low = nameHash(nameHash(0, tag), externalId) >>> 0
  const high = nameHash(nameHash(1, tag), externalId) >>> 11
  return high * 2 ** 32 + low
}
