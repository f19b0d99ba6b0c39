/**
 * A scope is a project in one environment. Nothing crosses scopes: not state, not indexes, not events (G8).
 *
 * The number is what the hot path and the commit log carry: `project * 2 + (live ? 1 : 0)`, project ≥ 0.
 */
export type ScopeId = number

/** The scope number of a project's environment. */
export function scopeId(project: number, live: boolean): ScopeId {
  return project * 2 + (live ? 1 : 0)
}

/** Whether records of this scope carry `live: true`. */
export function isLive(scope: ScopeId): boolean {
  return (scope & 1) === 1
}

/** The project that a scope belongs to. */
export function projectOf(scope: ScopeId): number {
  return scope >> 1
}
