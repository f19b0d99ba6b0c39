import type { Change, EditLog } from './editLog.ts'
import type { RegistryReplica } from './replica.ts'

/** Edits of a registry that belongs to this process alone: an edit is durable, and in the replica, when it returns. */
export class LocalEdits implements EditLog {
  readonly health = { ok: true, detail: 'on this machine' }
  readonly isShared = false
  readonly #replica: RegistryReplica

  constructor(replica: RegistryReplica) {
    this.#replica = replica
  }

  async edit<T>(work: () => T): Promise<T> {
    return work()
  }

  commit(changes: readonly Change[]): void {
    this.#replica.apply(changes, this.#replica.revision + 1)
  }

  close(): void {}
}
