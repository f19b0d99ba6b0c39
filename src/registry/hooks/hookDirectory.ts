import type { Hook } from '../../model/hook.ts'

/** Sends the messages of hooks. */
export interface HookFollower {
  /** Called for each change of a hook, within the edit. */
  changed(): void
  /** Resolves once everything that follows from the edits so far is durable, too. */
  settled(): Promise<void>
}

/** The hooks of all scopes, for the code that sends their messages. */
export interface HookDirectory {
  all(): Iterable<Hook>
  /** Follows the edits. They resolve only once it is ready, too. */
  follower: HookFollower | undefined
}
