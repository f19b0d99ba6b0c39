import { call } from '../../api/call.ts'
import type { Entry } from './auditPage.tsx'

const BY_PAIR = ['geofence', 'beacon', 'hook'] as const

/** Whether a call makes it as it was before: of records with a pair, and of settings. */
export function isRestorable(entry: Entry): boolean {
  const { action, before, target, live } = entry
  const [kind = '', done] = action.split('.')
  if (whyNotRestorable(entry) !== undefined) return false
  if (before === undefined || live === undefined || done === 'created') return false
  if (kind === 'settings') return true
  return (BY_PAIR as readonly string[]).includes(kind) && target.includes('/')
}

/** Why the values that were before are not there; undefined if they are, or there were none. */
export function whyNotRestorable({ action, leftOut = [] }: Entry): string | undefined {
  if (action.endsWith('.changedMany'))
    return 'Several long records were changed at once. Their values are not kept, so they cannot be restored from here.'
  const gone = leftOut
    .filter((name) => name.startsWith('before.'))
    .map((name) => name.slice('before.'.length))
  if (gone.length === 0) return undefined
  return `Too long to be kept: ${gone.join(', ')}. So it cannot be restored from here.`
}

/** Sends what was before, as anybody can with the API. @throws CallFailure */
export async function restore({ action, target, before }: Entry): Promise<void> {
  const [kind] = action.split('.')
  if (kind === 'settings') {
    await call('patch', '/v1/settings', { body: before as never })
    return
  }
  const at = target.indexOf('/')
  const params = { tag: target.slice(0, at), externalId: target.slice(at + 1) }
  const body = before as never
  if (kind === 'geofence') await call('put', '/v1/geofences/{tag}/{externalId}', { params, body })
  else if (kind === 'beacon') await call('put', '/v1/beacons/{tag}/{externalId}', { params, body })
  else await call('put', '/v1/hooks/{tag}/{externalId}', { params, body })
}
