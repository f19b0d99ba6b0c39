import { readFileSync } from 'node:fs'
import type { ReferenceTexts } from '../api/openapi.ts'
import type { Examples } from '../api/openapiExamples.ts'
import type { Route } from '../api/route.ts'
import { STREAM_OPERATION } from './streamOperation.ts'

/** What the reference says beyond the routes: its opening, its groups, and examples that are real answers. */
export function referenceTexts(): ReferenceTexts {
  return { description: opening, tags: TAGS, examples: readExamples(), upgrades: [STREAM_OPERATION] }
}

const EXAMPLES = new URL('../../docs/examples.json', import.meta.url)

/** Written by `npm run examples`. */
function readExamples(): Examples {
  return JSON.parse(readFileSync(EXAMPLES, 'utf8')) as Examples
}

const TAGS: Readonly<Record<string, string>> = {
  Track: 'Location updates in, events out.',
  Geofences:
    'Areas; entries, exits and stays cause events. A geofence is identified by its pair of tag and externalId.',
  Beacons: 'Bluetooth beacons that devices range: geofences of a few metres.',
  'Import and export': 'Geofences and beacons as CSV and GeoJSON files.',
  Users: 'Where users are, and why an event did or did not happen.',
  Events: 'Read, verify and delete events; send conversions.',
  Streams: 'Many locations in, events and positions out, over one WebSocket.',
  Context: 'The geofences around a location; nothing is stored.',
  Routing: 'Distances and travel times on roads, directions, map matching, and the best order of stops.',
  SDK: 'Calls that SDKs make by themselves.',
  Settings: 'How the updates of an environment are evaluated.',
  Keys: 'Keys of the calling environment.',
  Operations: 'Health, metrics and this document.',
}

function opening(routes: readonly Route[]): string {
  return `Location updates in, geofence events out. [The guides](/docs/guides) explain the rules with pictures.

## Authentication

Every call carries a key in the header \`Authorization\`, as it is or after \`Bearer \`. A project has four:

| key | for |
|---|---|
| \`prj_test_pk_…\`, \`prj_live_pk_…\` | **publishable**: in apps. May track and search; reads nothing about other users |
| \`prj_test_sk_…\`, \`prj_live_sk_…\` | **secret**: on servers. May call everything |

Test and live are separate worlds: geofences, users, events and settings of one never meet those of the other. Put a key
into the field at the top of this page, and the calls that you try here carry it. It stays in this tab.

## Requests and answers

- Bodies are \`application/json\`, or \`application/x-www-form-urlencoded\` with nested keys (\`metadata[color]=red\`,
  \`coordinates[]=13.4&coordinates[]=52.5\`). \`null\`, or an empty value in a form, means absent; where null takes a value away,
  an empty value does. Fields that are not known are ignored.
- Every JSON answer has \`meta.code\`, the HTTP status, and every answer the header \`X-Radar-Request-Id\`.
- Dates come as ISO 8601 in UTC with milliseconds. They are taken as ISO 8601, as JavaScript prints them, or as Unix time.
- A pair of coordinates is \`[longitude, latitude]\` in definitions and in GeoJSON, and \`latitude,longitude\` in queries.
- Lists are newest first, \`limit\` records long; \`meta.hasMore\` says whether there are more: go on with
  \`before\`, the \`_id\` of the last one. A query parameter that is not known is ignored.

## Errors

An error says what is wrong in \`meta.message\`, and where there is one to blame, which parameter in \`meta.param\`.

| status | meaning |
|---|---|
| 400 | a parameter is missing or invalid |
| 401 | no key, or none of ours |
| 402 | the project is disabled, or has used up its quota of the month |
| 403 | the call needs a secret key |
| 404 | there is no such thing, or no such path |
| 409 | it exists already |
| 405 | the path has no such method; the header \`Allow\` names those that it has |
| 413 | the body is too large |
| 415 | the body is of a type that is not read |
| 426 | the path is a WebSocket |
| 429 | too many requests; \`meta.type\` names the window, \`Retry-After\` the seconds to wait |
| 431 | the headers are too large; not as JSON |
| 451 | not available in the requester's country |
| 500 | our mistake; the server's log has more under the request's id |
| 503 | try again after \`Retry-After\` seconds |

## Rate limits

Buckets that hold one second's worth and fill evenly. Past it the answer is 429; \`Retry-After\` says how many seconds to
wait. What is not in the table has no limit. The operator may have set others with \`--limits\`: these are this server's.

${limits(routes)}

Beside them, updates of the deviceId \`anonymous\` (\`POST /v1/track\`, \`POST /v1/track/replay\`): 10 a second for each address, unless
limits are off as a whole.
`
}

/** The limits of the routes as a table; those of calls for servers, where they are alike, in one row. */
function limits(routes: readonly Route[]): string {
  const rows = new Map<string, string[]>()
  for (const { method, path, auth, limit } of routes) {
    if (limit === undefined) continue
    const row = `${limit.perSecond} | ${limit.by}`
    const key = auth === 'secret' ? `secret ${row}` : `${method} ${path} ${row}`
    const calls = rows.get(key) ?? []
    rows.set(key, [...calls, `\`${method} ${path}\` | ${row}`])
  }
  const lines = [...rows].map(([key, calls]) => {
    if (calls.length <= MOST_CALLS_ALIKE) return calls.map((call) => `| ${call} |`).join('\n')
    return `| each of the ${calls.length} calls that need a secret key | ${key.slice('secret '.length)} |`
  })
  return ['| call | requests a second | for each |', '|---|---|---|', ...lines].join('\n')
}

/** More calls with the same limit than these are not named. */
const MOST_CALLS_ALIKE = 5
