import type { Position } from '../model/geofence.ts'

/** The example geofence that a first start puts into the test environment, so that the first call has an answer. */
export const EXAMPLE = {
  tag: 'example',
  externalId: 'liberty-island',
  description: 'Liberty Island, New York',
  center: [-74.0445, 40.6892] as Position,
  radius: 300,
}

/**
 * The text of a first start: the keys, which are shown once, and a first call.
 * @param flags that commands need to find this server's data folder
 */
export function firstStartText(keys: FirstKeys, url: string, flags: string): string {
  const [longitude, latitude] = EXAMPLE.center
  return `
These are the four API keys of the first project. Of the secret keys, the server stores only hashes, so it never shows them again.

  test publishable   ${keys.testPublishable}
  live publishable   ${keys.livePublishable}
  test secret        ${keys.testSecret}
  live secret        ${keys.liveSecret}

Publishable keys go into apps, secret keys stay on servers. To replace a key that was lost:
npm run keys -- rotate testSecret${flags}

The test environment has an example geofence around ${EXAMPLE.description}. Send a location in it:

  curl ${url}/v1/track -H "Authorization: ${keys.testPublishable}" \\
    -d "deviceId=phone-$(date +%s)" -d latitude=${latitude} -d longitude=${longitude} -d accuracy=20

The answer contains the user and the event user.entered_geofence. Continue in a browser:

  ${url}/               the dashboard: a live map, geofences, users and events; sign in with the test secret key
  ${url}/docs           the API reference; paste the test publishable key at the top and try each call
  ${url}/docs/routes    directions on a map; with routing installed, a sample city is ready about a minute after the start
  ${url}/docs/guides    quickstart, geofences, events and confidence, routing, and more

Ctrl-C stops the server.
`
}

/**
 * The text of every later start.
 * @param flags as in {@link firstStartText}
 */
export function laterStartText(url: string, flags: string): string {
  return `
Dashboard: ${url}/
API reference and guides: ${url}/docs
List the keys by their last four characters: npm run keys -- list${flags}
Replace a key that was lost: npm run keys -- rotate testSecret${flags}
`
}

/** The keys that a first start has created. */
export interface FirstKeys {
  readonly testPublishable: string
  readonly livePublishable: string
  readonly testSecret: string
  readonly liveSecret: string
}
