import type { Change, EditLog } from './editLog.ts'
import type { RegistryReplica } from './replica.ts'

/** Edits of a registry that belongs to this process alone: an edit is durable, and in the image, when it returns. */
export class LocalEdits implements EditLog {
  readonly health = { ok: true, detail: 'on this machine' }
  readonly isShared = false
  readonly #image: RegistryReplica

  constructor(image: RegistryReplica) {
    this.#image = image
  }

  async edit<T>(work: () => T): Promise<T> {
    return work()
  }

  commit(changes: readonly Change[]): void {
    this.#image.apply(changes, this.#image.revision + 1)
  }

  close(): void {}
}
