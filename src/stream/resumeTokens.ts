import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import type { ScopeId } from '../model/scope.ts'

/** Tells a place that we have sealed from any other sixteen bytes. */
const MARK = 0x52464e43

/**
 * Places in the log as clients keep them. A place counts the events of all projects, which is nobody's business but the
 * operator's, so a client gets it sealed: one block of AES, good for its scope in this store.
 */
export class ResumeTokens {
  readonly #key: Buffer

  /** @param secret the store's: its id would not do, since the ids of events tell that */
  constructor(secret: string) {
    this.#key = createHash('sha256').update(`place ${secret}`).digest().subarray(0, 16)
  }

  /** `@` and 32 hex digits: no event's `_id` looks like it. */
  seal(scope: ScopeId, place: number): string {
    const block = Buffer.alloc(16)
    block.writeUInt32LE(MARK, 0)
    block.writeUInt32LE(scope, 4)
    block.writeDoubleLE(place, 8)
    const cipher = createCipheriv('aes-128-ecb', this.#key, null).setAutoPadding(false)
    return `@${cipher.update(block).toString('hex')}${cipher.final('hex')}`
  }

  /** The place, or undefined for what was not sealed here for this scope. */
  open(scope: ScopeId, token: string): number | undefined {
    if (!/^@[0-9a-f]{32}$/.test(token)) return undefined
    const decipher = createDecipheriv('aes-128-ecb', this.#key, null).setAutoPadding(false)
    const block = Buffer.concat([decipher.update(token.slice(1), 'hex'), decipher.final()])
    if (block.readUInt32LE(0) !== MARK || block.readUInt32LE(4) !== scope) return undefined
    return block.readDoubleLE(8)
  }
}
