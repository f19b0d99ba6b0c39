import { scryptSync } from 'node:crypto'
import type { Cost } from '../registry/people/rows.ts'

/** A password to hash. */
export interface HashTask {
  readonly password: string
  readonly salt: Uint8Array
  readonly bytes: number
  readonly cost: Cost
}

/** Hashes a password with scrypt, RFC 7914. Takes long: it belongs in a thread. */
export function derive({ password, salt, bytes, cost: { n, r, p } }: HashTask): Uint8Array {
  return scryptSync(password, salt, bytes, { N: n, r, p, maxmem: 2 * 128 * n * r })
}
