import { call } from '../../api/call.ts'
import type { Entry } from './auditPage.tsx'

const BY_PAIR = ['geofence', 'beacon', 'hook'] as const

/** Whether a call makes it as it was before: of records with a pair, and of settings. */
export function isRestorable({ action, before, target, live }: Entry): boolean {
  const [kind = '', done] = action.split('.')
  if (before === undefined || live === undefined || done === 'created') return false
  if (kind === 'settings') return true
  return (BY_PAIR as readonly string[]).includes(kind) && target.includes('/')
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
