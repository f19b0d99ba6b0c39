/** The roles that the settings give the process. Part of the composition roots. */
import { OptionError } from '../../config/option.ts'
import { PROCESS_ROLES } from '../../config/serverOptions.ts'
import type { Options } from '../../config/options.ts'

export type ProcessRole = (typeof PROCESS_ROLES)[number]

/**
 * The roles that the options name.
 * @throws {OptionError} for settings that do not fit the engine
 */
export function rolesOf({ roles, natsUrl, natsFormat }: Options): (role: ProcessRole) => boolean {
  if (natsUrl.length === 0)
    throw new OptionError(
      'the distributed engine needs NATS servers: --nats-url nats://HOST:PORT (RINGFENCE_NATS_URL)',
    )
  if (natsFormat !== 'json') throw new OptionError('natsFormat must be json if engine is distributed')
  return (role) => roles.includes('all') || roles.includes(role)
}

/** The role of a process that has only one; undefined for all others. */
export function onlyRole(isIn: (role: ProcessRole) => boolean): ProcessRole | undefined {
  const roles = PROCESS_ROLES.filter(isIn)
  return roles.length === 1 ? roles[0] : undefined
}
