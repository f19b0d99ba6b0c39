/** What there is on the fuzzed server from the beginning, so that the first requests can name one of each kind. */
import type { Api, Json } from '../e2e/contract.ts'
import { PASSWORD } from './aims.ts'
import { keyOf } from './callers.ts'
import { town } from './extracts.ts'
import type { Known, ScopeName } from './known.ts'

export interface ScopeKey {
  readonly scope: ScopeName
  /** See MARKS in world.ts. */
  readonly mark: string
  readonly secret: string
}

/** Creates the same pairs, devices and users in all scopes. Those of project 2 test are elsewhere, beside the canary. */
export async function populate(api: Api, scopes: readonly ScopeKey[], known: Known): Promise<void> {
  for (const { scope, mark, secret } of scopes) {
    const more = { description: mark, metadata: { mark } }
    for (let n = 0; n < 6; n++) {
      const pair = `${n < 3 ? 'shop' : mark}/x-${n}`
      const at = [10 + n * 0.003, 50 + (scope === 'two-test' ? 1 : 0)] as const
      known.learn({ geofence: await api.circle(pair, at, 200, more, secret) }, undefined, scope)
    }
    for (let n = 0; n < 4; n++) {
      const update = {
        ...more,
        deviceId: `device-${n}`,
        userId: `user-${n}`,
        latitude: 50,
        longitude: 10,
        accuracy: 5,
      }
      known.learn(await api.track(update, secret), undefined, scope)
    }
  }
}

/** What {@link furnish} needs of the world. */
export interface Furnished {
  readonly api: Api
  /** The headers of the admin's requests. */
  readonly cookie: Readonly<Record<string, string>>
  id(kind: string, draw: number, scope: ScopeName | undefined): string
  remember(body: Json, headers: Headers, scope: ScopeName | undefined): void
}

const FILE =
  'description,type,tag,externalId,coordinates,radius\nx,circle,depot,f-1,"[10,50]",60\nx,circle,depot,f-2,"[10,500]",60\n'
const BEACONS =
  'description,tag,externalId,type,uuid,major,minor,coordinates,enabled\nx,depot,f-1,ibeacon,f7826da6-4fa2-4e98-8024-bc5b71e0893e,1,1,"[10,50]",true\n'

/**
 * Creates one of each other kind in an environment of project 1. Requests delete them, so it is done again and again;
 * something may then stand against it.
 * @param round makes names differ
 */
export async function furnish(world: Furnished, live: boolean, round = 0): Promise<void> {
  const { key, scope } = keyOf('secret', live)
  const url = world.id('source', round, undefined)
  const make = async (
    method: string,
    path: string,
    body: unknown,
    by: string | null = key,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Json> => {
    const answer = await world.api.call(method, path, body, by, headers)
    if (answer.status >= 300 && round === 0)
      throw new Error(`${method} ${path} → ${JSON.stringify(answer.body)}`)
    world.remember(answer.body, answer.headers, scope)
    return answer.body
  }
  const csv = { 'content-type': 'text/csv' }
  await make('POST', '/v1/imports/geofences', FILE, key, csv)
  await make('POST', '/v1/imports/beacons', BEACONS, key, csv)
  await make('GET', '/v1/beacons', undefined)
  const legs = [0, 1, 2].map((n) => ({ destination: { coordinates: [10 + n * 0.01, 50] } }))
  for (const name of ['whole', 'over'])
    await make('POST', '/v1/trips', { externalId: `${name}-${round}`, userId: `u-${round}`, legs })
  await make('PATCH', `/v1/trips/over-${round}`, { status: 'started' })
  for (const longitude of [10.001, 10.02]) {
    const update = { deviceId: `d-${round}`, userId: `u-${round}`, latitude: 50, longitude, accuracy: 5 }
    await make('POST', '/v1/track', update)
  }
  await make('PATCH', `/v1/trips/over-${round}`, { status: 'completed' })
  await make('POST', '/v1/webhooks', { url })
  const hook = { geofence: { tag: 'shop' }, endpoint: { url } }
  await make('PUT', `/v1/hooks/shop/x-${round % 15}`, hook)
  await make('PUT', '/v1/geofence-sync', { protocol: 'http', http: { urls: [url] }, run: true })
  await make('POST', '/v1/events', { name: 'bought', deviceId: 'device-1' })
  await make('POST', '/v1/sessions', { key }, null)
  if (live) {
    await make('PUT', '/v1/map-regions/made', town, key, { 'content-type': 'application/octet-stream' })
    return
  }
  const person = { email: `made-${round}@example.com`, name: 'Made', role: 'admin' }
  const { invitation } = await make('POST', '/v1/accounts', person, null, world.cookie)
  // In a later round this may be refused because of what rounds before it left.
  if (invitation !== undefined) {
    const token = new URL(invitation.url).hash.slice('#invitation='.length)
    await make('POST', `/v1/invitations/${token}`, { password: PASSWORD }, null)
  }
  await make('POST', '/v1/accounts', { ...person, email: `more-${round}@example.com` }, null, world.cookie)
}
