import type { Clock } from '../../runtime/clock.ts'
import type { Keys } from '../projects/keys.ts'
import { MAX_CHANGES, type EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import { Accounts } from './accounts.ts'
import { Sessions } from './sessions.ts'

export interface PeopleParts {
  readonly replica: RegistryReplica
  readonly edits: EditLog
  readonly clock: Clock
  readonly keys: Keys
  /** Called when the time of a session's last use could not be stored. */
  readonly troubled: (error: unknown) => void
}

/** The people of all projects, in the registry: their accounts and sessions. */
export class People {
  readonly accounts: Accounts
  readonly sessions: Sessions
  readonly edits: EditLog

  constructor({ replica, edits, clock, keys, troubled }: PeopleParts) {
    this.edits = edits
    this.sessions = new Sessions({
      replica,
      edits,
      clock,
      keys,
      account: (id) => this.accounts.get(id),
      troubled,
    })
    this.accounts = new Accounts({
      replica,
      edits,
      clock,
      changed: (account) => this.sessions.accountChanged(account),
      ending: (account, except) => this.sessions.ending(account, except),
    })
  }

  /** Fills the memory from the file, once. */
  load(): void {
    this.accounts.load()
    this.sessions.load()
  }

  /** Removes sessions and links that have ended by themselves, within an edit. */
  sweep(): void {
    const changes = [...this.sessions.expired(), ...this.accounts.expired()]
    if (changes.length > 0) this.edits.commit(changes.slice(0, MAX_CHANGES))
  }
}
