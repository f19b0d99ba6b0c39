import type { Fields } from '../../http/fields.ts'
import type { Route } from '../../http/route.ts'
import type { Hook } from '../../model/hook.ts'
import { collectionRoutes } from '../records/collectionRoutes.ts'
import type { Pair } from '../records/recordFields.ts'
import { HOOKS } from './hookEntity.ts'
import { parseHook, type HookDefinition } from './hookFields.ts'
import type { HookRegistry } from './hookRegistry.ts'

/** The dependencies of the hooks' routes. */
export interface HookRouteParts {
  readonly registry: HookRegistry
  /** The state of a hook, for its record. */
  standing(hook: Hook): Readonly<Record<string, unknown>>
  /**
   * Checks a definition.
   * @throws {ApiError} 400 if nothing may be sent to its url, 503 if it needs something that is missing
   */
  refuse(definition: HookDefinition): void
}

/**
 * Management of hooks: the routes of a collection (secret keys), answered by the process that sends their messages,
 * because it knows their state.
 */
export function hookRoutes(parts: HookRouteParts): Route[] {
  const entity = {
    ...HOOKS,
    parse(fields: Fields, known?: Pair): HookDefinition {
      const definition = parseHook(fields, known)
      parts.refuse(definition)
      return definition
    },
    answer: (hook: Hook) => ({ ...HOOKS.answer(hook), ...parts.standing(hook) }),
  }
  return collectionRoutes(entity, parts.registry)
}
