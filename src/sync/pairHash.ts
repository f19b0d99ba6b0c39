import { nameHash } from '../runtime/nameHash.ts'

/**
 * A number of 53 bits for a tag and externalId, which is always the same within a thread. To remember a million of these
 * numbers takes a tenth of the memory that the texts would take. The chance that any two of a million are equal is less than
 * one in ten thousand.
 */
export function pairHash(tag: string, externalId: string): number {
  const low = nameHash(nameHash(0, tag), externalId) >>> 0
  const high = nameHash(nameHash(1, tag), externalId) >>> 11
  return high * 2 ** 32 + low
}
