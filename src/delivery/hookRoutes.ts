import type { Fields } from '../http/fields.ts'
import type { RouteFor } from '../http/route.ts'
import { hookSubject, type Hook } from '../model/hook.ts'
import { HOOKS } from '../registry/hooks/hookEntity.ts'
import { parseHook, type HookDefinition } from '../registry/hooks/hookFields.ts'
import { routesOfCollection, type ServedCollection } from '../registry/records/collectionRoutes.ts'
import type { EditableRecords } from '../registry/records/port.ts'
import type { Pair } from '../registry/records/recordFields.ts'
import { ApiError } from '../runtime/errors.ts'
import type { Outgoing } from '../runtime/outgoing.ts'
import { NEEDS_TILE38, type Hooks } from './hooks.ts'
import { refusePrivate } from './privateUrl.ts'

/** The dependencies of the hooks' routes. */
export interface HookRouteParts {
  readonly hooks: Hooks
  readonly collection: EditableRecords<HookDefinition, Hook>
  readonly outgoing: Outgoing
}

/**
 * Management of hooks: the routes of a collection (secret keys), answered by the process that sends their messages,
 * because it knows their state.
 */
export function hookRoutes(): RouteFor<HookRouteParts>[] {
  return routesOfCollection<HookDefinition, Hook, Hook>(HOOKS).map(({ shape, handlerOf }) => ({
    shape,
    handlerOf: (parts) => handlerOf({ entity: entityOf(parts), collection: parts.collection }),
  }))
}

function entityOf({
  hooks,
  outgoing,
}: HookRouteParts): ServedCollection<HookDefinition, Hook, Hook>['entity'] {
  return {
    ...HOOKS,
    parse(fields: Fields, known?: Pair): HookDefinition {
      const definition = parseHook(fields, known)
      refusePrivate(outgoing, definition.endpoint.url, 'endpoint.url')
      if (hookSubject(definition) !== 'geofence' && !hooks.hasPlaces) throw new ApiError(503, NEEDS_TILE38)
      return definition
    },
    answer: (hook: Hook) => ({ ...HOOKS.answer(hook), ...hooks.standing(hook) }),
  }
}
