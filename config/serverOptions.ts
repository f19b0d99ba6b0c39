/** Settings of the server itself: its address, what it stores, its limits, and how long it keeps what. */
import { LIMIT_NAMES } from '../src/http/limits.ts'
import type { Option } from './option.ts'
import { addressesProblem, keysProblem, originProblem } from './optionChecks.ts'

const MIB = 1024 * 1024

/** What a process of the distributed engine may do. */
export const PROCESS_ROLES = ['gateway', 'actors', 'delivery'] as const

/** In the order of `--help`. */
export const SERVER_OPTIONS = {
  port: {
    type: 'integer',
    default: 8080,
    low: 0,
    high: 65535,
    env: 'RINGFENCE_PORT',
    value: 'NUMBER',
    help: 'Port of the HTTP API; 0 takes a free one.',
  },
  host: {
    type: 'text',
    default: '127.0.0.1',
    env: 'RINGFENCE_HOST',
    value: 'ADDRESS',
    help: 'Address to listen on.',
  },
  data: {
    type: 'text',
    default: './data',
    env: 'RINGFENCE_DATA',
    value: 'FOLDER',
    help: 'Data folder; it is created if it does not exist. Only one process may use it at a time.',
  },
  keys: {
    type: 'list',
    default: [],
    problem: keysProblem,
    env: 'RINGFENCE_KEYS',
    value: 'KEYS',
    help:
      'Four API keys to install at the first start, instead of generated ones: test publishable, live ' +
      'publishable, test secret, live secret.',
  },
  engine: {
    type: 'choice',
    default: 'embedded',
    values: ['embedded', 'distributed'],
    env: 'RINGFENCE_ENGINE',
    value: 'embedded|distributed',
    help:
      'embedded: one process does everything. distributed: any number of processes with different roles share ' +
      'the work through NATS JetStream. See docs/operating.md.',
  },
  roles: {
    type: 'list',
    default: ['all'],
    problem: rolesProblem,
    env: 'RINGFENCE_ROLES',
    value: 'ROLES',
    help: 'The tasks of this process in the distributed engine: gateway, actors, delivery, or all.',
  },
  rateLimits: {
    type: 'switch',
    default: true,
    env: 'RINGFENCE_RATE_LIMITS',
    value: 'on|off',
    help: 'Whether the rate limits of the API apply.',
  },
  limits: {
    type: 'rates',
    default: {},
    names: LIMIT_NAMES,
    high: 1_000_000,
    env: 'RINGFENCE_LIMITS',
    value: 'LIMITS',
    help:
      'Requests per second that replace the standard limits, e.g. "GET /v1/context=50,management=off". ' +
      'management means every endpoint that needs a secret key or a session. docs/operating.md has the table.',
  },
  publicUrl: {
    type: 'text',
    default: '',
    problem: originProblem,
    env: 'RINGFENCE_PUBLIC_URL',
    value: 'URL',
    help:
      'The address of this server as people see it in their browsers, e.g. https://fleet.example.com: for invitation ' +
      'links and session cookies. Without it, the Host header of the request is used.',
  },
  keySignIn: {
    type: 'switch',
    default: true,
    env: 'RINGFENCE_KEY_SIGN_IN',
    value: 'on|off',
    help: 'Whether people may sign in with a secret key instead of an account.',
  },
  auditDays: {
    type: 'integer',
    default: 365,
    low: 1,
    high: 36_500,
    env: 'RINGFENCE_AUDIT_DAYS',
    value: 'DAYS',
    help: 'How long entries of the audit are kept, at most 200,000 for each project.',
  },
  operatorProject: {
    type: 'integer',
    default: 0,
    low: 0,
    high: 1_000_000_000,
    env: 'RINGFENCE_OPERATOR_PROJECT',
    value: 'NUMBER',
    help: 'The project whose admins see the state of the server and its map regions; 0: the first project.',
  },
  trustedProxies: {
    type: 'list',
    default: [],
    problem: addressesProblem,
    env: 'RINGFENCE_TRUSTED_PROXIES',
    value: 'ADDRESSES',
    help: 'Addresses or CIDR ranges of the proxies whose X-Forwarded-For and X-Forwarded-Proto headers are trusted.',
  },
  durability: {
    type: 'choice',
    default: 'fsync',
    values: ['fsync', 'os'],
    env: 'RINGFENCE_DURABILITY',
    value: 'fsync|os',
    help:
      'What an acknowledged update survives. fsync: a power failure. os: the end of the process, but not a ' +
      'power failure.',
  },
  partitions: {
    type: 'integer',
    default: 64,
    low: 1,
    high: 1024,
    env: 'RINGFENCE_PARTITIONS',
    value: 'NUMBER',
    help: 'Number of partitions that devices are spread over. Fixed once the data folder is created.',
  },
  segmentBytes: {
    type: 'integer',
    default: 64 * MIB,
    low: 64 * 1024,
    high: 1024 * MIB,
    env: 'RINGFENCE_SEGMENT_BYTES',
    value: 'BYTES',
    help: 'Size at which the commit log starts a new segment file.',
  },
  snapshotBytes: {
    type: 'integer',
    default: 256 * MIB,
    low: 64 * 1024,
    high: 65536 * MIB,
    env: 'RINGFENCE_SNAPSHOT_BYTES',
    value: 'BYTES',
    help: 'Amount of commit log that is written between two rounds of snapshots.',
  },
  mailboxBytes: {
    type: 'integer',
    default: 64 * MIB,
    low: 16 * MIB,
    high: 16384 * MIB,
    env: 'RINGFENCE_MAILBOX_BYTES',
    value: 'BYTES',
    help: 'Upper limit of the memory for waiting updates. Beyond it, updates are answered 503.',
  },
  maxConnections: {
    type: 'integer',
    default: 10_000,
    low: 1,
    high: 1_000_000,
    env: 'RINGFENCE_MAX_CONNECTIONS',
    value: 'NUMBER',
    help:
      'Upper limit of open connections; further ones are closed at once. It is reduced if the limit of open ' +
      'files (ulimit -n) is too low.',
  },
  maxConnectionsPerAddress: {
    type: 'integer',
    default: 2000,
    low: 1,
    high: 1_000_000,
    env: 'RINGFENCE_MAX_CONNECTIONS_PER_ADDRESS',
    value: 'NUMBER',
    help: 'Upper limit of open connections per client address, on Linux only. It does not apply to trusted proxies.',
  },
  maxBodyBytes: {
    type: 'integer',
    default: MIB,
    low: 1024,
    high: 16 * MIB,
    env: 'RINGFENCE_MAX_BODY_BYTES',
    value: 'BYTES',
    help: 'Largest request body; larger ones are answered 413.',
  },
  maxStreamsPerKey: {
    type: 'integer',
    default: 2000,
    low: 1,
    high: 1_000_000,
    env: 'RINGFENCE_MAX_STREAMS_PER_KEY',
    value: 'NUMBER',
    help: 'Upper limit of open WebSocket streams per key; further ones are answered 429.',
  },
  streamMessageBytes: {
    type: 'integer',
    default: 256 * MIB,
    low: MIB,
    high: 16384 * MIB,
    env: 'RINGFENCE_STREAM_MESSAGE_BYTES',
    value: 'BYTES',
    help:
      'Memory for messages of streams while they arrive. Each open stream is counted with the largest message that it may ' +
      'send; the streams of one key may use half. Streams that open beyond it may send messages of 64 KB only.',
  },
  subscriptionBytes: {
    type: 'integer',
    default: 256 * MIB,
    low: MIB,
    high: 16384 * MIB,
    env: 'RINGFENCE_SUBSCRIPTION_BYTES',
    value: 'BYTES',
    help:
      'Upper limit of the memory for the filters and areas of streams and server-sent events. The connections of one ' +
      'key may take half of it, and one connection a 64th.',
  },
  deviceBytes: {
    type: 'integer',
    default: 0,
    low: 0,
    high: 1024 * 1024 * MIB,
    env: 'RINGFENCE_DEVICE_BYTES',
    value: 'BYTES',
    help:
      'Upper limit of the memory for users and their metadata, about 400 bytes for a plain one; one environment may ' +
      'take half of it. Beyond it, updates of new users are answered 429. 0 means half of the memory of the machine or ' +
      'container.',
  },
  streamIdleSeconds: {
    type: 'integer',
    default: 120,
    low: 8,
    high: 960,
    env: 'RINGFENCE_STREAM_IDLE_SECONDS',
    value: 'SECONDS',
    help: 'A stream is closed if nothing arrives from its client for this long, not even an answer to a ping.',
  },
  streamDeviceLimit: {
    type: 'switch',
    default: false,
    env: 'RINGFENCE_STREAM_DEVICE_LIMIT',
    value: 'on|off',
    help: 'Whether the limit of POST /v1/track per device applies to streams too.',
  },
  idleMinutes: {
    type: 'integer',
    default: 15,
    low: 1,
    high: 1440,
    env: 'RINGFENCE_IDLE_MINUTES',
    value: 'MINUTES',
    help: 'A device without an update for this long is stored in a compact form.',
  },
  eventsDays: {
    type: 'integer',
    default: 365,
    low: 1,
    high: 36500,
    env: 'RINGFENCE_EVENTS_DAYS',
    value: 'DAYS',
    help: 'Events older than this are deleted.',
  },
  tripsDays: {
    type: 'integer',
    default: 90,
    low: 1,
    high: 36500,
    env: 'RINGFENCE_TRIPS_DAYS',
    value: 'DAYS',
    help: 'Trips that have ended are deleted this long after their last change.',
  },
  tripLocationsDays: {
    type: 'integer',
    default: 7,
    low: 1,
    high: 36500,
    env: 'RINGFENCE_TRIP_LOCATIONS_DAYS',
    value: 'DAYS',
    help: 'The locations of trips are deleted this long after their last change.',
  },
  usersDays: {
    type: 'integer',
    default: 365,
    low: 1,
    high: 36500,
    env: 'RINGFENCE_USERS_DAYS',
    value: 'DAYS',
    help: 'Users without an update for this long are deleted.',
  },
} as const satisfies Record<string, Option>

function rolesProblem(roles: readonly string[]): string | undefined {
  const known = roles.every((role) => role === 'all' || (PROCESS_ROLES as readonly string[]).includes(role))
  return known && roles.length > 0 ? undefined : `must be of ${PROCESS_ROLES.join(', ')}, all`
}
