/** What a person may do in a project. Each role includes the ones before it. */
export const ROLES = ['read', 'write', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** Whether a role includes another one. */
export function includes(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}
