import type { Hook } from '../../model/hook.ts'
import type { ScopeId } from '../../model/scope.ts'
import { ApiError } from '../../runtime/errors.ts'
import { Collection, type CollectionParts } from '../records/collection.ts'
import type { PutOutcome } from '../records/port.ts'
import type { JointPut } from '../records/recordList.ts'
import type { HookDirectory, HookFollower } from './hookDirectory.ts'
import { HOOKS, MAX_HOOKS } from './hookEntity.ts'
import type { HookDefinition } from './hookFields.ts'

/** The hooks of all scopes. */
export class HookRegistry extends Collection<HookDefinition, Hook> implements HookDirectory {
  follower: HookFollower | undefined

  constructor(parts: CollectionParts<Hook>) {
    super(HOOKS, parts)
  }

  /** Makes an edit like {@link Collection.edit}. It resolves only once the follower is ready, too. */
  override async edit<T>(work: () => T): Promise<T> {
    const result = await super.edit(work)
    await this.follower?.settled()
    return result
  }

  override putMany(
    scope: ScopeId,
    definitions: readonly HookDefinition[],
    joint?: JointPut,
  ): PutOutcome<Hook>[] {
    const { records } = this.store(scope)
    const added = definitions.filter(({ tag, externalId }) => records.byPair(tag, externalId) === undefined)
    if (added.length > 0 && records.size + added.length > MAX_HOOKS)
      throw new ApiError(
        409,
        `There are ${records.size} hooks, and ${MAX_HOOKS} is the limit. Delete one first.`,
      )
    return super.putMany(scope, definitions, joint)
  }
}
