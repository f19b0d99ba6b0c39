import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import type { ScopeId } from '../model/scope.ts'

/** A number that distinguishes a position that this server sealed from any other sixteen bytes. */
const MARK = 0x52464e43

/**
 * Positions in the event log as clients store them. A position counts the events of all projects, which only the
 * operator may know, so clients get it sealed: one block of AES, valid for its scope in this store.
 */
export class ResumeTokens {
  readonly #key: Buffer

  /**
   * Seals with a key.
   * @param secret the store's secret; its id would not do, because event ids reveal it
   */
  constructor(secret: string) {
    this.#key = createHash('sha256').update(`place ${secret}`).digest().subarray(0, 16)
  }

  /** Seals a position as `@` and 32 hex digits, so that it differs from every event's `_id`. */
  seal(scope: ScopeId, offset: number): string {
    const block = Buffer.alloc(16)
    block.writeUInt32LE(MARK, 0)
    block.writeUInt32LE(scope, 4)
    block.writeDoubleLE(offset, 8)
    const cipher = createCipheriv('aes-128-ecb', this.#key, null).setAutoPadding(false)
    return `@${cipher.update(block).toString('hex')}${cipher.final('hex')}`
  }

  /** The position, or undefined if it was not sealed here for this scope. */
  open(scope: ScopeId, token: string): number | undefined {
    if (!/^@[0-9a-f]{32}$/.test(token)) return undefined
    const decipher = createDecipheriv('aes-128-ecb', this.#key, null).setAutoPadding(false)
    const block = Buffer.concat([decipher.update(token.slice(1), 'hex'), decipher.final()])
    if (block.readUInt32LE(0) !== MARK || block.readUInt32LE(4) !== scope) return undefined
    return block.readDoubleLE(8)
  }
}
