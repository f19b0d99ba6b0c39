import { readFileSync } from 'node:fs'
import type { ReferenceTexts } from '../http/openapi.ts'
import type { Examples } from '../http/openapiExamples.ts'
import type { Route } from '../http/route.ts'
import { STREAM_OPERATION } from './streamOperation.ts'

/** The texts of the reference besides the routes: its introduction, its groups, and examples that are real answers. */
export function referenceTexts(): ReferenceTexts {
  return { description: opening, tags: TAGS, examples: readExamples(), upgrades: [STREAM_OPERATION] }
}

const EXAMPLES = new URL('../../docs/examples.json', import.meta.url)

/** Reads the file that `npm run examples` writes. */
function readExamples(): Examples {
  return JSON.parse(readFileSync(EXAMPLES, 'utf8')) as Examples
}

const TAGS: Readonly<Record<string, string>> = {
  Track: 'Send location updates; the response contains the events.',
  Geofences:
    'Areas. A device that enters, leaves or dwells in an area causes an event. A geofence is identified by its pair of tag and externalId.',
  Beacons: 'Bluetooth beacons, which devices detect (range) like geofences of a few metres.',
  'Import and export': 'Geofences and beacons as CSV and GeoJSON files.',
  Users: 'Where users are, and why an event did or did not happen.',
  Events: 'Read, verify and delete events; send conversions.',
  Hooks: 'Send the events of a geofence, or of all geofences with a tag, to a web server or to NATS.',
  Streams: 'Send many locations and receive events and positions over one WebSocket.',
  Context: 'The geofences around a location; nothing is stored.',
  Routing: 'Distances and travel times on roads, directions, map matching, and the best order of stops.',
  SDK: 'Calls that SDKs make by themselves.',
  Settings: 'How the updates of an environment are evaluated.',
  Keys: 'Keys of the calling environment.',
  People: 'People who sign in: sessions, accounts with roles, invitations.',
  Operations: 'Health, metrics and this document.',
}

function opening(routes: readonly Route[]): string {
  return `Send location updates and receive geofence events. [The guides](/docs/guides) explain the rules with pictures.

## Authentication

Every call needs a key in the header \`Authorization\`, with or without \`Bearer \`. A project has four keys:

| key | use |
|---|---|
| \`prj_test_pk_…\`, \`prj_live_pk_…\` | **publishable**: for apps. It can track and search, and cannot read data of other users |
| \`prj_test_sk_…\`, \`prj_live_sk_…\` | **secret**: for servers. It can make every call, except those that need an account |

The test and live environments are separate: they share no geofences, users, events or settings. Enter a key in the field at the top of this page; the
calls that you try here then use it. The key stays in this browser tab.

People sign in with an e-mail address and a password, or with a secret key (\`POST /v1/sessions\`). Their browser then sends a cookie, which counts
only beside the header \`X-Ringfence-Environment: test\` or \`live\`, without \`Authorization\`. Each call says which role people need.

## Requests and responses

- Bodies are \`application/json\`, or \`application/x-www-form-urlencoded\` with nested keys (\`metadata[color]=red\`,
  \`coordinates[]=13.4&coordinates[]=52.5\`). \`null\`, or an empty value in a form, means that the
  field is absent; where null removes a value, an empty value does too. Unknown fields are ignored.
- Every JSON response has \`meta.code\`, the HTTP status, and every response has the header \`X-Radar-Request-Id\`.
- A number, boolean, date or pair of coordinates that is sent as text has at most 128 characters; other texts have the \`maxLength\` of
  their parameter. A longer text gets a 400 with the limit.
- Dates in responses are ISO 8601 in UTC with milliseconds. In requests, ISO 8601, the date format of JavaScript, and Unix times are accepted.
- A pair of coordinates is \`[longitude, latitude]\` in definitions and in GeoJSON, and \`latitude,longitude\` in queries.
- Lists are sorted newest first and have up to \`limit\` records. \`meta.hasMore\` says whether there are more: for the next page, set \`before\` to the
  \`_id\` of the last record. Unknown query parameters are ignored.

## Errors

An error has a description in \`meta.message\` and, if a parameter is the cause, its name in \`meta.param\`.

| status | meaning |
|---|---|
| 400 | a parameter is missing or invalid |
| 401 | the key is missing or unknown, or nobody has signed in |
| 402 | the project is disabled, or has used up its monthly quota |
| 403 | the call needs a secret key, another role, or an \`Origin\` of this server |
| 404 | the record or the path does not exist |
| 405 | the path does not support this method; the header \`Allow\` lists the methods |
| 409 | the record already exists |
| 413 | the body is too large |
| 415 | the content type is not supported |
| 426 | the path is a WebSocket |
| 429 | too many requests; \`meta.type\` names the window, \`Retry-After\` the seconds to wait |
| 431 | the request line and headers are larger than 32 KB, or there are more than 98 headers; not as JSON |
| 451 | not available in the requester's country |
| 500 | an error in the server; its log has details under the id of the request |
| 503 | try again after \`Retry-After\` seconds |
| 505 | the request is not HTTP/1.1; not as JSON |

## Rate limits

Each limit is a token bucket that holds the requests of one second. Beyond it, the response is 429; \`Retry-After\` says how many seconds to wait.
Calls that are not in the table have no limit. These are the limits of this server; the operator can change them with \`--limits\`.

${limits(routes)}

In addition, updates with the deviceId \`anonymous\` (\`POST /v1/track\`, \`POST /v1/track/replay\`) are limited to 10 per second and address, unless
all limits are off.
`
}

/** The limits of the routes as a table; equal limits of calls for servers share one row. */
function limits(routes: readonly Route[]): string {
  const rows = new Map<string, string[]>()
  for (const { method, path, auth, limit } of routes) {
    if (limit === undefined) continue
    const row = `${limit.perSecond} | ${limit.by}`
    const key = auth !== 'none' && auth !== 'publishable' ? `secret ${row}` : `${method} ${path} ${row}`
    const calls = rows.get(key) ?? []
    rows.set(key, [...calls, `\`${method} ${path}\` | ${row}`])
  }
  const lines = [...rows].map(([key, calls]) => {
    if (calls.length <= MOST_CALLS_ALIKE) return calls.map((call) => `| ${call} |`).join('\n')
    return `| each of the ${calls.length} other calls that need a secret key or a session | ${key.slice('secret '.length)} |`
  })
  return ['| call | requests per second | per |', '|---|---|---|', ...lines].join('\n')
}

/** If more calls than this have the same limit, they are not named. */
const MOST_CALLS_ALIKE = 5
