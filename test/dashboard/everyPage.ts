/** Every page of the dashboard, with records that they show: for tests that must leave none out. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Server } from '../kit/server.ts'
import { DASHBOARD } from './kit.ts'

const PAGES = join(DASHBOARD, 'src', 'pages')
/** The server must accept its own computer as the receiver of a webhook and as a source of the sync. */
export const EVERY_PAGE_ENV = {
  RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8',
  RINGFENCE_SYNC_PRIVATE_ADDRESSES: '127.0.0.0/8',
}
const HERE = [6.7735, 51.2277] as const
const STORES = 'description,tag,externalId,type,coordinates,radius\nTwo,store,2,circle,"[6.77,51.22]",5'

/** An address, and what must be seen there. */
export interface KnownPage {
  readonly path: string
  /** The file that has the page's heading, below `dashboard/src/pages`. */
  readonly file: string
  /** The page's heading. */
  readonly title: string
}

/** The files that have a heading of a page. */
export function filesOfPages(): readonly string[] {
  return readdirSync(PAGES, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.tsx') && /<h1\b/.test(readFileSync(join(PAGES, file), 'utf8')))
    .map((file) => file.replaceAll('\\', '/'))
    .toSorted()
}

/** The questions of the page Explore, each of which is a page of its own. */
export function questionsOfExplore(): readonly string[] {
  const text = readFileSync(join(PAGES, 'explore', 'questions.ts'), 'utf8')
  const [, body = ''] = /QUESTIONS[^=]*= \{\n(.*?)\n\}/s.exec(text) ?? []
  return [...body.matchAll(/^ {2}(\w+): \{$/gm)].map(([, name]) => name!)
}

/** Makes the records, and returns all pages for those who have signed in. */
export async function everyPage(server: Server): Promise<readonly KnownPage[]> {
  const made = async (method: string, path: string, fields: unknown, headers = {}) => {
    const answer = await server.api(method, path, fields, undefined, headers)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const { geofence } = await made('PUT', '/v1/geofences/depot/north', {
    description: 'Depot north',
    type: 'circle',
    coordinates: HERE,
    radius: 100,
  })
  const { user, events } = await made('POST', '/v1/track', {
    deviceId: 'van-7',
    latitude: HERE[1],
    longitude: HERE[0],
    accuracy: 8,
    metadata: { crew: 2 },
  })
  const entered = events.find((event: { geofence?: { _id: string } }) => event.geofence?._id === geofence._id)
  const { trip } = await made('POST', '/v1/trips', {
    externalId: 'order-1',
    legs: [{ destination: { coordinates: [6.78, 51.23] } }, { destination: { coordinates: [6.8, 51.25] } }],
  })
  const { beacon } = await made('PUT', '/v1/beacons/depot/door', {
    description: 'Front door',
    type: 'ibeacon',
    uuid: 'e2c56db5-dffb-48d2-b060-d0f5a71096e0',
    major: '1',
    minor: '1',
    coordinates: HERE,
  })
  const csv = { 'content-type': 'text/csv' }
  const imported = await made('POST', '/v1/imports/geofences?fileName=stores.csv', STORES, csv)
  const { webhook } = await made('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/hook' })
  await made('POST', `/v1/webhooks/${webhook._id}/test`, {})
  await made('PUT', '/v1/geofence-sync', {
    protocol: 'http',
    http: { urls: ['http://127.0.0.1:9/stores.csv'] },
    time: '03:30',
    timeZone: 'Europe/Berlin',
  })
  const { run } = await made('POST', '/v1/geofence-sync/runs', { dryRun: true })
  const page = (path: string, file: string, title: string): KnownPage => ({ path, file, title })
  const at = 'at=51.22,6.77'
  return [
    page('/test/map', 'map/mapPage.tsx', 'Map'),
    page('/test/map?welcome=1', 'map/mapPage.tsx', 'Map'),
    page('/live/map', 'map/mapPage.tsx', 'Map'),
    page('/test/users', 'users/usersPage.tsx', 'Users'),
    page('/test/users?userId=none', 'users/usersPage.tsx', 'Users'),
    page(`/test/users/${user._id}`, 'users/userPage.tsx', 'van-7'),
    page(`/test/users/${user._id}/explain`, 'users/explainPage.tsx', 'Why? The last update, explained'),
    page('/test/events', 'events/eventsPage.tsx', 'Events'),
    page(`/test/events/${entered._id}`, 'events/eventPage.tsx', 'entered geofence Depot north'),
    page('/test/trips', 'trips/tripsPage.tsx', 'Trips'),
    page(`/test/trips/${trip._id}`, 'trips/tripPage.tsx', 'order-1'),
    ...questionsOfExplore().map((question) =>
      page(`/test/explore/${question}?${at}&q=cafe`, 'explore/explorePage.tsx', 'Explore'),
    ),
    page(`/test/explore/route?${at}|51.23,6.78`, 'explore/explorePage.tsx', 'Explore'),
    page('/test/geofences', 'geofences/geofencesPage.tsx', 'Geofences'),
    page('/test/geofences/new', 'geofences/geofenceEditor.tsx', 'New geofence'),
    page(`/test/geofences/${geofence._id}`, 'geofences/geofenceEditor.tsx', 'Depot north'),
    page('/test/beacons', 'beacons/beaconsPage.tsx', 'Beacons'),
    page('/test/beacons/new', 'beacons/beaconEditor.tsx', 'New beacon'),
    page(`/test/beacons/${beacon._id}`, 'beacons/beaconEditor.tsx', 'Front door'),
    page('/test/imports', 'imports/importsPage.tsx', 'Imports'),
    page(`/test/imports/${imported.import._id}`, 'imports/importsPage.tsx', 'stores.csv'),
    page('/test/sync', 'sync/syncPage.tsx', 'Geofence sync'),
    page(`/test/sync/${run._id}`, 'sync/runPage.tsx', 'Dry run'),
    page('/test/webhooks', 'webhooks/webhooksPage.tsx', 'Webhooks'),
    page(`/test/webhooks/${webhook._id}`, 'webhooks/webhookPage.tsx', webhook.url),
    page('/test/settings', 'settings/settingsPage.tsx', 'Settings'),
    page('/keys', 'keys/keysPage.tsx', 'Keys of test'),
    page('/members', 'members/membersPage.tsx', 'Members'),
    page('/audit', 'audit/auditPage.tsx', 'Audit'),
    page('/system', 'system/systemPage.tsx', 'System'),
  ]
}
