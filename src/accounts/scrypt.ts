import { scryptSync } from 'node:crypto'

/** How much work a hash is: with the standard one, 128 MiB and some tenths of a second of one processor. */
export interface Cost {
  readonly n: number
  readonly r: number
  readonly p: number
}

/** A password as it is stored: scrypt, with its parameters. */
export interface PasswordHash extends Cost {
  /** Base64. */
  readonly salt: string
  /** Base64. */
  readonly hash: string
}

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
