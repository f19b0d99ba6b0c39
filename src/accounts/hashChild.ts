/**
 * The child process that hashes passwords, for hashProcess.ts.
 *
 * Invariants
 * - HASH-CHILD-1: It ends when its parent ends, however that happened, because the channel between them closes.
 * - HASH-CHILD-2: It survives the signals that a terminal or a service manager sends to all processes: the parent
 *   answers what it has, then ends it.
 */
import { scrypt } from 'node:crypto'
import type { Cost } from '../registry/people/rows.ts'

/** A password to hash. */
export interface HashTask {
  readonly password: string
  readonly salt: Uint8Array
  readonly bytes: number
  readonly cost: Cost
}

export interface HashQuestion extends HashTask {
  readonly id: number
}

export interface HashAnswer {
  readonly id: number
  /** Undefined if the memory for the hash was not to be had. */
  readonly hash: Uint8Array | undefined
}

/** Hashes the passwords that the parent sends, each in a thread of Node's pool. */
export function serveHashes(): void {
  process.on('message', (question: HashQuestion) => {
    const { id, password, salt, bytes, cost } = question
    const { n: N, r, p } = cost
    scrypt(password, salt, bytes, { N, r, p, maxmem: 2 * 128 * N * r }, (error, hash) => {
      // Nothing is left to do if the parent is gone.
      process.send?.({ id, hash: error === null ? hash : undefined } satisfies HashAnswer, () => {})
    })
  })
  process.on('disconnect', () => process.exit())
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
}
