import type { Hook } from '../../model/hook.ts'

/** Sends the messages of hooks. */
export interface HookFollower {
  /** Called for each change of a hook, within the edit. */
  changed(): void
  /** Resolves once what follows from the edits so far is durable, too. */
  settled(): Promise<void>
}

/** The hooks of all scopes, as what sends their messages uses them. */
export interface HookDirectory {
  all(): Iterable<Hook>
  /** Edits resolve once it is ready, too. */
  follower: HookFollower | undefined
}
