/** A small city with everything that the pages of the dashboard show, for their pictures. */
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from '../kit/server.ts'
import { CENTER, makeCity, sendAll } from './fleet.ts'

export const DEVICES = 180
/** No picture in docs/images is larger. */
export const MOST_PICTURE_BYTES = 60_000
/** The server must accept its own computer as a source of the sync, and as a receiver of webhooks. */
export const CITY_ENV = {
  RINGFENCE_SYNC_PRIVATE_ADDRESSES: '127.0.0.0/8',
  RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8',
}
const STORES = [
  'description,type,tag,externalId,coordinates,radius,metadata.region',
  'Store Pocitos,circle,store,pocitos,"[-56.1510, -34.9105]",90,south',
  'Store Cordón,circle,store,cordon,"[-56.1790, -34.9010]",80,centre',
  'Store Prado,circle,store,prado,"[-56.2000, -34.8700]",80,north',
  'Store Nowhere,circle,store,nowhere,"[-56.2000, -134.87]",80,north',
  'Kiosk,circle,store,kiosk,"[-56.1640, -34.8970]",2,centre',
].join('\n')
const BEACONS = [
  ['front-door', 'Front door', -0.0004, 0.0002],
  ['loading-bay', 'Loading bay', 0.0012, -0.0006],
  ['cold-store', 'Cold store', 0.0003, 0.001],
] as const

/** A page with the name of its picture. */
export type PicturedPage = readonly [name: string, path: string]

/**
 * Makes the city.
 * @returns its pages, and what ends the servers that it needs
 */
export async function furnish(
  server: Server,
): Promise<{ readonly pages: readonly PicturedPage[]; close(): void }> {
  const receiver = await listen((path) => (path === '/billing' ? 503 : 200))
  await makeCity(server)
  const good = async (method: string, path: string, body?: unknown, headers = {}) => {
    const answer = await server.api(method, path, body, undefined, headers)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  await good('PATCH', '/v1/settings', { exitDelaySeconds: 20, tripUpdateSeconds: 0 })
  for (const [i, [externalId, description, east, north]] of BEACONS.entries())
    await good('PUT', `/v1/beacons/depot/${externalId}`, {
      description,
      type: 'ibeacon',
      uuid: 'e2c56db5-dffb-48d2-b060-d0f5a71096e0',
      major: '1',
      minor: String(i + 1),
      coordinates: [CENTER.longitude + east, CENTER.latitude + north],
    })
  await good('POST', '/v1/imports/geofences?fileName=stores.csv', STORES, { 'content-type': 'text/csv' })
  const hooks = []
  for (const [path, description] of [
    ['orders', 'Orders'],
    ['billing', 'Billing'],
  ])
    hooks.push((await good('POST', '/v1/webhooks', { url: `${receiver.url}/${path}`, description })).webhook)
  await good('PUT', '/v1/geofence-sync', {
    protocol: 'http',
    http: { urls: [`${receiver.url}/stores.csv`] },
    time: '03:30',
    timeZone: 'America/Montevideo',
  })
  await good('POST', '/v1/geofence-sync/runs', { dryRun: true })
  const trip = await driveTrip(good)
  for (let seconds = 0; seconds < 12; seconds += 2) await sendAll(server, DEVICES, seconds * 4)
  // A change that the audit shows.
  const { geofence: port } = await good('GET', '/v1/geofences/depot/port')
  await good('PUT', '/v1/geofences/depot/port', {
    description: port.description,
    type: 'circle',
    coordinates: port.geometryCenter.coordinates,
    radius: 400,
  })
  const { users } = await good('GET', '/v1/users?deviceId=van-4')
  const { events } = await good('GET', '/v1/events?limit=1')
  const { beacon } = await good('GET', '/v1/beacons/depot/front-door')
  const user = `/test/users/${users[0]._id}`
  const at = `at=${CENTER.longitude},${CENTER.latitude}&zoom=13.6`
  return {
    pages: [
      ['map', `/test/map?${at}`],
      ['users', '/test/users'],
      ['user', user],
      ['explain', `${user}/explain`],
      ['events', '/test/events'],
      ['event', `/test/events/${events[0]._id}`],
      ['trips', '/test/trips'],
      ['trip', `/test/trips/${trip}`],
      ['explore', '/test/explore/route?at=-34.9059,-56.1913|-34.8945,-56.1770'],
      ['geofences', '/test/geofences'],
      ['geofence', `/test/geofences/${port._id}`],
      ['beacons', '/test/beacons'],
      ['beacon', `/test/beacons/${beacon._id}`],
      ['imports', '/test/imports'],
      ['sync', '/test/sync'],
      ['webhooks', '/test/webhooks'],
      ['webhook', `/test/webhooks/${hooks[0]._id}`],
      ['settings', '/test/settings'],
      ['keys', '/keys'],
      ['members', '/members'],
      ['audit', '/audit'],
      ['system', '/system'],
    ],
    close: () => receiver.server.close(),
  }
}

/** An order that a courier brings, who is under way. @returns the id of the trip */
async function driveTrip(
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
  good: (method: string, path: string, body?: unknown) => Promise<any>,
): Promise<string> {
  await good('PUT', '/v1/geofences/customer/1842', {
    description: 'Customer 1842',
    type: 'circle',
    coordinates: [-56.1637, -34.9121],
    radius: 60,
  })
  const { trip } = await good('POST', '/v1/trips', {
    externalId: 'order-1842',
    userId: 'courier-7',
    destinationGeofenceTag: 'customer',
    destinationGeofenceExternalId: '1842',
    mode: 'bike',
    metadata: { items: 3 },
  })
  await good('POST', '/v1/trips', {
    externalId: 'round-3',
    userId: 'courier-9',
    legs: [
      { destination: { coordinates: [-56.1913, -34.9059] } },
      { destination: { coordinates: [-56.177, -34.8945] } },
    ],
  })
  for (let step = 0; step < 5; step++) {
    const latitude = -34.9 - step * 0.0018
    const longitude = -56.182 + step * 0.0032
    await good('POST', '/v1/track', {
      deviceId: 'bike-7',
      userId: 'courier-7',
      latitude,
      longitude,
      accuracy: 8,
    })
    // A device may send once a second.
    await sleep(1100)
  }
  return trip._id as string
}

/** A web server that gets the webhooks and has the file of the sync. */
async function listen(
  statusOf: (path: string) => number,
): Promise<{ readonly server: HttpServer; readonly url: string }> {
  const server = createServer((request, response) => {
    request.resume()
    response.statusCode = statusOf(request.url ?? '')
    response.end(request.url === '/stores.csv' ? STORES : 'thanks')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
