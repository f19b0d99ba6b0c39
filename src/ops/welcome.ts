import type { Position } from '../model/geofence.ts'

/** The example geofence that a first start puts into the test environment, so that the first call has an answer. */
export const EXAMPLE = {
  tag: 'example',
  externalId: 'liberty-island',
  description: 'Liberty Island, New York',
  center: [-74.0445, 40.6892] as Position,
  radius: 300,
}

/** The text of a first start: the keys, shown this once, and a first call. */
export function firstStartText(keys: FirstKeys, url: string): string {
  const [longitude, latitude] = EXAMPLE.center
  return `
Four keys were made for the first project. They are kept hashed: this is the only time you see them.

  test publishable   ${keys.testPublishable}
  live publishable   ${keys.livePublishable}
  test secret        ${keys.testSecret}
  live secret        ${keys.liveSecret}

Publishable keys go into apps, secret keys stay on servers. "npm run keys -- rotate testSecret" replaces one that
was lost.

The test environment has an example geofence around ${EXAMPLE.description}. Send a location in it:

  curl ${url}/v1/track -H "Authorization: ${keys.testPublishable}" \\
    -d "deviceId=phone-$(date +%s)" -d latitude=${latitude} -d longitude=${longitude} -d accuracy=20

The answer is the user and the event user.entered_geofence. Go on in a browser:

  ${url}/docs           every call, with examples, to be tried with a key
  ${url}/docs/routes    directions drawn, once the sample city is there (some seconds)
  ${url}/docs/guides    quickstart, geofences, events and confidence, routing, …

Ctrl-C stops the server.
`
}

/** The keys that a first start has made. */
export interface FirstKeys {
  readonly testPublishable: string
  readonly livePublishable: string
  readonly testSecret: string
  readonly liveSecret: string
}
