/**
 * Every setting of the process, in one table. The types, the flags, the environment variables, the keys of the
 * configuration file, their checks and the text of `--help` are derived from it. Nothing else in the program reads
 * the environment.
 *
 * A value comes from the first of these that sets it: flag, environment variable, file of `--config`, default.
 */
import { isIP } from 'node:net'
import { LIMIT_NAMES } from '../src/http/limits.ts'
import { isEmail } from '../src/model/email.ts'
import { systemReason } from '../src/runtime/errors.ts'

interface OptionBase {
  /** The environment variable. An empty one counts as not set. */
  readonly env: string
  /** The form of the value, as `--help` shows it: `BYTES`, `on|off`. */
  readonly value: string
  /** One sentence, without the default. */
  readonly help: string
}

interface IntegerOption extends OptionBase {
  readonly type: 'integer'
  readonly default: number
  readonly low: number
  readonly high: number
}

interface TextOption extends OptionBase {
  readonly type: 'text'
  /** The default; an empty one means that there is none, and then an empty value is accepted. */
  readonly default: string
  /** What is wrong with the text, or undefined. The sentence never contains a secret. */
  readonly problem?: (text: string) => string | undefined
}

interface ChoiceOption extends OptionBase {
  readonly type: 'choice'
  readonly default: string
  readonly values: readonly string[]
}

/** A setting that is `on` or `off`, and a boolean in the program. */
interface SwitchOption extends OptionBase {
  readonly type: 'switch'
  readonly default: boolean
}

/** A list whose items are separated by commas; in a file it may also be an array. */
interface ListOption extends OptionBase {
  readonly type: 'list'
  readonly default: readonly string[]
  /** What is wrong with the list, or undefined. The sentence never contains a secret. */
  readonly problem?: (list: readonly string[]) => string | undefined
}

/**
 * Numbers by name, written `name=number` with commas between them; in a file an object. `off` is Infinity, and empty
 * means all defaults.
 */
interface RatesOption extends OptionBase {
  readonly type: 'rates'
  readonly default: Readonly<Record<string, number>>
  readonly names: readonly string[]
  readonly high: number
}

type Option = IntegerOption | TextOption | ChoiceOption | SwitchOption | ListOption | RatesOption

const MIB = 1024 * 1024
/** How many characters of a wrong value messages repeat. */
const MAX_SHOWN_LENGTH = 200

/** What a process of the distributed engine may do. */
export const PROCESS_ROLES = ['gateway', 'actors', 'delivery'] as const

/** The option table. Flags are the names in kebab case: `maxBodyBytes` is `--max-body-bytes`. */
export const OPTIONS = {
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
    problem: proxiesProblem,
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
  natsUrl: {
    type: 'list',
    default: [],
    problem: natsProblem,
    env: 'RINGFENCE_NATS_URL',
    value: 'URLS',
    help:
      'NATS servers to publish events to: nats://HOST:PORT or tls://HOST:PORT, with USER:PASSWORD@ or TOKEN@ ' +
      'before the host. See docs/guides/nats.md.',
  },
  natsCredentials: {
    type: 'text',
    default: '',
    env: 'RINGFENCE_NATS_CREDENTIALS',
    value: 'FILE',
    help: `File to authenticate to NATS with: a credentials file (.creds), or the seed of a user's nkey.`,
  },
  natsTlsCa: {
    type: 'text',
    default: '',
    env: 'RINGFENCE_NATS_TLS_CA',
    value: 'FILE',
    help:
      'File with the certificates (PEM) of the authorities to trust for NATS servers at tls://, instead of ' +
      'those that Node trusts.',
  },
  natsTlsCertificate: {
    type: 'text',
    default: '',
    env: 'RINGFENCE_NATS_TLS_CERTIFICATE',
    value: 'FILE',
    help: 'Client certificate (PEM) for NATS servers that require one.',
  },
  natsTlsKey: {
    type: 'text',
    default: '',
    env: 'RINGFENCE_NATS_TLS_KEY',
    value: 'FILE',
    help: 'Private key (PEM) of the client certificate.',
  },
  natsReplicas: {
    type: 'integer',
    default: 1,
    low: 1,
    high: 5,
    env: 'RINGFENCE_NATS_REPLICAS',
    value: 'NUMBER',
    help: 'Number of NATS servers that store each message of the distributed engine: 1, 3 or 5.',
  },
  natsFormat: {
    type: 'choice',
    default: 'json',
    values: ['json', 'protobuf'],
    env: 'RINGFENCE_NATS_FORMAT',
    value: 'json|protobuf',
    help: 'Format of events on NATS: JSON, or the message Event of proto/ringfence.proto.',
  },
  tile38Url: {
    type: 'list',
    default: [],
    problem: tile38Problem,
    env: 'RINGFENCE_TILE38_URL',
    value: 'URLS',
    help:
      'Tile38 servers to keep copies of positions in, tile38://HOST:PORT or tile38s://HOST:PORT. If there are several, ' +
      'the first one that can be reached and is not a follower is used. See docs/operating.md.',
  },
  tile38TlsCa: {
    type: 'text',
    default: '',
    env: 'RINGFENCE_TILE38_TLS_CA',
    value: 'FILE',
    help:
      'File with the certificates (PEM) of the authorities to trust for tile38s://, instead of those that ' +
      'Node trusts.',
  },
  tile38Password: {
    type: 'text',
    default: '',
    env: 'RINGFENCE_TILE38_PASSWORD',
    value: 'PASSWORD',
    help: 'Password of the Tile38 server (requirepass).',
  },
  dashboard: {
    type: 'switch',
    default: true,
    env: 'RINGFENCE_DASHBOARD',
    value: 'on|off',
    help:
      'Whether / is the dashboard, which the first start builds in the background. off: / shows the API reference. ' +
      'See docs/guides/dashboard.md.',
  },
  sampleRegion: {
    type: 'switch',
    default: true,
    env: 'RINGFENCE_SAMPLE_REGION',
    value: 'on|off',
    help:
      'Whether a start without any region builds the sample region, a city to try routing with, from data in the ' +
      'installed packages. See docs/guides/regions.md.',
  },
  regionMaxBytes: {
    type: 'integer',
    default: 2048 * MIB,
    low: 0,
    high: 65536 * MIB,
    env: 'RINGFENCE_REGION_MAX_BYTES',
    value: 'BYTES',
    help: 'Largest OpenStreetMap extract that is imported over HTTP; 0 imports none. Commands of the operator have no limit.',
  },
  mapFiles: {
    type: 'list',
    default: [],
    problem: (files) => (files.length <= 20 ? undefined : 'must have at most 20 files'),
    env: 'RINGFENCE_MAP_FILES',
    value: 'FILES',
    help:
      'PMTiles files with vector tiles, in the Protomaps basemap schema, that maps show before the imported regions. If ' +
      'several files have a tile, the first one is used. See docs/guides/maps.md.',
  },
  ipCityFile: {
    type: 'text',
    default: '',
    env: 'RINGFENCE_IP_CITY_FILE',
    value: 'FILE',
    help: 'GeoLite2 City or another .mmdb file of cities, for geocoding of IP addresses. Empty: DB-IP City Lite.',
  },
  ipProxyFiles: {
    type: 'list',
    default: [],
    env: 'RINGFENCE_IP_PROXY_FILES',
    value: 'FILES',
    help: 'Files of addresses and CIDR ranges, one in each line, that count as proxies.',
  },
  ipTorFile: {
    type: 'text',
    default: '',
    env: 'RINGFENCE_IP_TOR_FILE',
    value: 'FILE',
    help: 'File of the addresses of Tor exits, one in each line; they count as proxies.',
  },
  ipAllowedFile: {
    type: 'text',
    default: '',
    env: 'RINGFENCE_IP_ALLOWED_FILE',
    value: 'FILE',
    help: 'File of addresses and CIDR ranges that are not proxies, whatever other lists say.',
  },
  routingUrl: {
    type: 'text',
    default: '',
    problem: routingProblem,
    env: 'RINGFENCE_ROUTING_URL',
    value: 'URL',
    help: 'A Valhalla server, http://HOST:PORT, to use for routing instead of the regions on this machine.',
  },
  routingThreads: {
    type: 'integer',
    default: 0,
    low: 0,
    high: 128,
    env: 'RINGFENCE_ROUTING_THREADS',
    value: 'NUMBER',
    help:
      'Number of routing requests computed at the same time for each region, at a lower priority than tracking. ' +
      '0 means one less than the number of processors, but at least 1.',
  },
  routingTimeoutSeconds: {
    type: 'integer',
    default: 15,
    low: 1,
    high: 600,
    env: 'RINGFENCE_ROUTING_TIMEOUT_SECONDS',
    value: 'SECONDS',
    help: 'Upper limit of the time that a routing request may wait and compute. Beyond it, the answer is 503.',
  },
  routingQueue: {
    type: 'integer',
    default: 256,
    low: 1,
    high: 100_000,
    env: 'RINGFENCE_ROUTING_QUEUE',
    value: 'NUMBER',
    help: 'Number of routing requests of a region that may wait; further ones are answered 503.',
  },
  routingMemoryBytes: {
    type: 'integer',
    default: 1024 * MIB,
    low: 128 * MIB,
    high: 1024 * 1024 * MIB,
    env: 'RINGFENCE_ROUTING_MEMORY_BYTES',
    value: 'BYTES',
    help:
      `Upper limit of the memory of a region's routing process; half of it is for road data. A process that ` +
      'exceeds it is replaced.',
  },
  routingCacheBytes: {
    type: 'integer',
    default: 32 * MIB,
    low: 0,
    high: 65536 * MIB,
    env: 'RINGFENCE_ROUTING_CACHE_BYTES',
    value: 'BYTES',
    help: 'Memory for the answers to routing requests, which are reused for identical requests.',
  },
  webhookPrivateAddresses: {
    type: 'list',
    default: [],
    problem: proxiesProblem,
    env: 'RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES',
    value: 'ADDRESSES',
    help: 'Addresses or CIDR ranges outside the public internet to which webhooks and hooks may be sent.',
  },
  webhookTimeoutSeconds: {
    type: 'integer',
    default: 15,
    low: 1,
    high: 60,
    env: 'RINGFENCE_WEBHOOK_TIMEOUT_SECONDS',
    value: 'SECONDS',
    help: 'Time that the receiver of a webhook has to respond.',
  },
  webhookRetrySeconds: {
    type: 'integer',
    default: 86_400,
    low: 1,
    high: 7 * 86_400,
    env: 'RINGFENCE_WEBHOOK_RETRY_SECONDS',
    value: 'SECONDS',
    help:
      'Time for which a webhook delivery is retried. A webhook whose deliveries all fail for this long is ' +
      'paused.',
  },
  syncPrivateAddresses: {
    type: 'list',
    default: [],
    problem: proxiesProblem,
    env: 'RINGFENCE_SYNC_PRIVATE_ADDRESSES',
    value: 'ADDRESSES',
    help: 'Addresses or CIDR ranges outside the public internet from which geofence syncs may fetch their sources.',
  },
  syncMaxBytes: {
    type: 'integer',
    default: 1024 * MIB,
    low: 1024,
    high: 65536 * MIB,
    env: 'RINGFENCE_SYNC_MAX_BYTES',
    value: 'BYTES',
    help: 'Largest source of a geofence sync, before and after decompression.',
  },
  syncKey: {
    type: 'text',
    default: '',
    problem: syncKeyProblem,
    env: 'RINGFENCE_SYNC_KEY',
    value: 'KEY',
    help:
      'The key that encrypts the secrets of geofence syncs: 64 hexadecimal digits, the same for all processes. Empty: a key in ' +
      'the data folder, which is enough for the embedded engine.',
  },
  smtpUrl: {
    type: 'text',
    default: '',
    problem: smtpProblem,
    env: 'RINGFENCE_SMTP_URL',
    value: 'URL',
    help:
      'Mail server for notifications: smtp://USER:PASSWORD@HOST:PORT, or smtps:// for TLS from the beginning. A password ' +
      'is sent only over TLS, or to this machine. Empty: no e-mail.',
  },
  smtpFrom: {
    type: 'text',
    default: '',
    problem: emailProblem,
    env: 'RINGFENCE_SMTP_FROM',
    value: 'ADDRESS',
    help: 'The address that e-mails come from.',
  },
  operatorEmails: {
    type: 'list',
    default: [],
    problem: (emails) => (emails.every(isEmail) ? undefined : 'must hold e-mail addresses'),
    env: 'RINGFENCE_OPERATOR_EMAILS',
    value: 'ADDRESSES',
    help: 'Addresses that get an e-mail when less than 10 % of the disk of the data folder is free.',
  },
  deliveriesDays: {
    type: 'integer',
    default: 30,
    low: 1,
    high: 36500,
    env: 'RINGFENCE_DELIVERIES_DAYS',
    value: 'DAYS',
    help: 'Finished webhook deliveries are deleted from the log after this time.',
  },
  deliveriesRows: {
    type: 'integer',
    default: 100_000,
    low: 100,
    high: 10_000_000,
    env: 'RINGFENCE_DELIVERIES_ROWS',
    value: 'NUMBER',
    help: 'Largest number of deliveries to keep in the log of each webhook.',
  },
  metricsToken: {
    type: 'text',
    default: '',
    problem: tokenProblem,
    env: 'RINGFENCE_METRICS_TOKEN',
    value: 'TOKEN',
    help: 'What GET /metrics requires as Authorization: Bearer TOKEN. Without it anybody who reaches the port can read the metrics.',
  },
  logLevel: {
    type: 'choice',
    default: 'info',
    values: ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    env: 'RINGFENCE_LOG_LEVEL',
    value: 'LEVEL',
    help: 'Least severe level of messages to log: trace, debug, info, warn, error, silent.',
  },
} as const satisfies Record<string, Option>

type OptionName = keyof typeof OPTIONS

type ValueOf<O extends Option> = O extends IntegerOption
  ? number
  : O extends SwitchOption
    ? boolean
    : O extends ListOption
      ? readonly string[]
      : O extends RatesOption
        ? Readonly<Record<string, number>>
        : O extends ChoiceOption
          ? O['values'][number]
          : string

/** The checked settings of the process. Lists are empty if nothing was given. */
export type Options = { readonly [N in OptionName]: ValueOf<(typeof OPTIONS)[N]> }

/** A setting that cannot be used. The message names it and where it came from; the process exits with code 2. */
export class OptionError extends Error {
  readonly exitCode = 2

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'OptionError'
  }
}

export interface OptionSources {
  /** Arguments after the script's name. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Reads the file of `--config` as text. An error becomes the cause of an {@link OptionError}. */
  readonly readFile: (path: string) => string
}

export interface LoadedOptions {
  readonly options: Options
  /** Arguments that are not flags, in order: the subcommand and its arguments. */
  readonly positionals: readonly string[]
  /**
   * Print this (of the subcommand if there is one) and exit without doing anything else; `options` are then the
   * defaults.
   */
  readonly show: 'help' | 'version' | undefined
  /** Environment variables that are spelled like a setting but are none, and so are probably mistyped. */
  readonly unknownVariables: readonly string[]
}

/** Variables that are no settings, because the import command reads them, which sends requests to a running server. */
const OTHER_VARIABLES = ['RINGFENCE_SECRET_KEY']

/**
 * The settings from flags, environment, file and defaults, in this precedence. Flags are written `--port 80` or
 * `--port=80`; everything after `--` is positional.
 * @throws {OptionError} for an unknown flag or key and for a value that cannot be used
 */
export function loadOptions(sources: OptionSources): LoadedOptions {
  const { flags, positionals, config, show } = readArguments(sources.argv)
  const file = config === undefined || show !== undefined ? {} : readConfig(config, sources.readFile)
  const options: Record<string, unknown> = {}
  for (const name of OPTION_NAMES) {
    const option: Option = OPTIONS[name]
    options[name] = option.default
    if (show !== undefined) continue
    const flag = flags.get(name)
    const variable = sources.env[option.env]
    if (flag !== undefined) options[name] = parse(option, flag, flagOf(name))
    else if (variable !== undefined && variable !== '') options[name] = parse(option, variable, option.env)
    else if (Object.hasOwn(file, name)) options[name] = parse(option, file[name], `${config}: "${name}"`)
  }
  const variables = new Set([...OPTION_NAMES.map((name) => OPTIONS[name].env as string), ...OTHER_VARIABLES])
  const unknownVariables = Object.keys(sources.env).filter(
    (name) => name.startsWith('RINGFENCE_') && !variables.has(name),
  )
  return { options: options as Options, positionals, show, unknownVariables }
}

/** The text of `--help`, made from the table. */
export function helpText(): string {
  const lines = [
    'Usage: npm start -- [options]                 run the server',
    '       npm run keys -- <command>              list and rotate API keys',
    '       npm run projects -- <command>          create and disable projects, give them a monthly quota',
    '       npm run accounts -- <command>          manage the accounts of people who sign in',
    '       npm run import -- KIND FILE            import geofences or beacons into a running server',
    '       npm run move -- --from-radar           copy geofences, beacons and settings from a Radar project',
    '       npm run region -- <command>            build regions (map data) from OpenStreetMap extracts',
    '       npm run backup -- FOLDER               copy the data folder, while the server runs',
    '       npm run restore -- BACKUP              create a data folder from a backup',
    '       npm run mcp -- [options]               let AI assistants ask a running server',
    '       npm run demo -- [options]              simulate devices that drive through geofences',
    '       npm run cluster -- [options]           run the distributed engine on this machine',
    'Each of these commands explains itself with --help.',
    '',
    'Each setting has a flag and an environment variable. If it is set in several ways, the first of these counts: flag,',
    'environment variable, file of --config, default.',
    '',
  ]
  for (const name of OPTION_NAMES) {
    const option: Option = OPTIONS[name]
    lines.push(`  ${flagOf(name)} ${option.value}`)
    for (const line of wrap(`${option.help} ${boundsText(option)}`, 84)) lines.push(`      ${line}`)
    lines.push(`      ${option.env}`)
  }
  lines.push(
    '  --config FILE',
    '      JSON object of settings by name, as in config/embedded.json and config/distributed.json.',
    '  --version',
    '  --help',
  )
  return lines.join('\n')
}

const OPTION_NAMES = Object.keys(OPTIONS) as OptionName[]

/** Writes a name as a flag: `maxBodyBytes` becomes `--max-body-bytes`. */
function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

function readArguments(argv: readonly string[]) {
  const names = new Map<string, string>(OPTION_NAMES.map((name) => [flagOf(name), name]))
  const flags = new Map<string, string>()
  const positionals: string[] = []
  let config: string | undefined
  let show: 'help' | 'version' | undefined
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i] as string
    if (argument === '--') {
      positionals.push(...argv.slice(i + 1))
      break
    }
    // A negative number is a wrong value of a command, not an unknown option.
    if (!argument.startsWith('-') || /^-(?:\d|$)/.test(argument)) {
      positionals.push(argument)
      continue
    }
    if (argument === '--help' || argument === '-h') {
      show = 'help'
      continue
    }
    if (argument === '--version') {
      show ??= 'version'
      continue
    }
    const equals = argument.indexOf('=')
    const flag = equals < 0 ? argument : argument.slice(0, equals)
    const name = names.get(flag)
    if (name === undefined && flag !== '--config') {
      throw new OptionError(`unknown option ${flag}; --help lists them`)
    }
    const value = equals < 0 ? argv[++i] : argument.slice(equals + 1)
    if (value === undefined || (equals < 0 && value.startsWith('--'))) {
      throw new OptionError(`${flag} needs a value`)
    }
    if (name === undefined) config = value
    else flags.set(name, value)
  }
  return { flags, positionals, config, show }
}

function readConfig(path: string, readFile: (path: string) => string): Record<string, unknown> {
  let text: string
  try {
    text = readFile(path)
  } catch (error) {
    throw new OptionError(`${path}: cannot be read: ${systemReason(error)}`, error)
  }
  let file: unknown
  try {
    file = JSON.parse(text)
  } catch (error) {
    throw new OptionError(`${path}: cannot be read as JSON: ${(error as Error).message}`, error)
  }
  if (typeof file !== 'object' || file === null || Array.isArray(file)) {
    throw new OptionError(`${path}: must hold a JSON object of settings`)
  }
  for (const key of Object.keys(file)) {
    if (!Object.hasOwn(OPTIONS, key)) throw new OptionError(`${path}: unknown setting "${key}"`)
  }
  return file as Record<string, unknown>
}

/**
 * Converts a raw value (text, or a value from a JSON file) to the option's type. `source` begins the error's message.
 */
function parse(option: Option, raw: unknown, source: string): unknown {
  switch (option.type) {
    case 'integer': {
      const number = typeof raw === 'string' && /^-?\d+$/.test(raw.trim()) ? Number(raw) : raw
      if (!Number.isSafeInteger(number)) throw bad(source, 'must be a whole number', raw)
      if ((number as number) < option.low || (number as number) > option.high) {
        throw bad(source, `must be from ${option.low} to ${option.high}`, raw)
      }
      return number
    }
    case 'switch':
      if (raw !== 'on' && raw !== 'off') throw bad(source, 'must be on or off', raw)
      return raw === 'on'
    case 'choice':
      if (typeof raw !== 'string' || !option.values.includes(raw)) {
        throw bad(source, `must be one of ${option.values.join(', ')}`, raw)
      }
      return raw
    case 'text':
      if (typeof raw !== 'string' || (raw.trim() === '' && option.default !== '')) {
        throw bad(source, 'must be a text', raw)
      }
      const wrong = raw === '' ? undefined : option.problem?.(raw)
      if (wrong !== undefined) throw new OptionError(`${source} ${wrong}`)
      return raw
    case 'list': {
      const items: unknown = typeof raw === 'string' ? raw.split(',') : raw
      if (!Array.isArray(items) || !items.every((item) => typeof item === 'string')) {
        throw new OptionError(`${source} must be a comma-separated list`)
      }
      const list = items.map((item) => item.trim()).filter((item) => item !== '')
      const problem = option.problem?.(list)
      if (problem !== undefined) throw new OptionError(`${source} ${problem}`)
      return list
    }
    case 'rates':
      return parseRates(option, raw, source)
  }
}

function parseRates(option: RatesOption, raw: unknown, source: string): Record<string, number> {
  const rates: Record<string, number> = {}
  for (const [name, value] of ratePairs(raw, source)) {
    if (!option.names.includes(name)) {
      throw new OptionError(`${source} has no ${shown(name)}; it knows ${option.names.join(', ')}`)
    }
    const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
    if (number === 'off') rates[name] = Infinity
    else if (Number.isInteger(number) && (number as number) >= 1 && (number as number) <= option.high) {
      rates[name] = number as number
    } else throw bad(`${source} ${name}`, `must be from 1 to ${option.high}, or off`, value)
  }
  return rates
}

function ratePairs(raw: unknown, source: string): (readonly [name: string, value: unknown])[] {
  if (typeof raw === 'object' && raw !== null && !Array.isArray(raw)) return Object.entries(raw)
  if (typeof raw !== 'string') throw new OptionError(`${source} must be a list of name=number, or an object`)
  const items = raw.split(',').filter((item) => item.trim() !== '')
  return items.map((item) => {
    const equals = item.lastIndexOf('=')
    if (equals < 0) throw bad(source, 'must be a list of name=number', item.trim())
    return [item.slice(0, equals).trim(), item.slice(equals + 1).trim()]
  })
}

/** A value as messages show it; a very long one is cut. */
function shown(raw: unknown): string {
  const text = JSON.stringify(raw) ?? String(raw)
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH).toWellFormed()}…` : text
}

function bad(source: string, sentence: string, raw: unknown): OptionError {
  return new OptionError(`${source} ${sentence}, not ${shown(raw)}`)
}

/** Number and order of the keys; the registry checks each when it installs them. */
function keysProblem(keys: readonly string[]): string | undefined {
  if (keys.length === 0) return undefined
  const prefixes = ['prj_test_pk_', 'prj_live_pk_', 'prj_test_sk_', 'prj_live_sk_']
  if (keys.length !== prefixes.length) return `must hold four keys, not ${keys.length}`
  const wrong = prefixes.findIndex((prefix, i) => !keys[i]?.startsWith(prefix))
  return wrong < 0 ? undefined : `must hold a key that starts with ${prefixes[wrong]} in place ${wrong + 1}`
}

function rolesProblem(roles: readonly string[]): string | undefined {
  const known = roles.every((role) => role === 'all' || (PROCESS_ROLES as readonly string[]).includes(role))
  return known && roles.length > 0 ? undefined : `must be of ${PROCESS_ROLES.join(', ')}, all`
}

/** What is wrong with the URLs. The sentence contains none of them, because they may contain a password. */
function natsProblem(urls: readonly string[]): string | undefined {
  const parsed = urls.map((text) => (URL.canParse(text) ? new URL(text) : undefined))
  if (!parsed.every((url) => url && ['nats:', 'tls:'].includes(url.protocol) && url.hostname !== '')) {
    return 'must hold URLs that start with nats:// or tls://'
  }
  // The client checks certificates of such servers against "localhost".
  const byAddress = parsed.some(
    (url) => url!.protocol === 'tls:' && isIP(url!.hostname.replaceAll(/[[\]]/g, '')),
  )
  return byAddress ? 'must name hosts, not addresses, after tls://' : undefined
}

function tile38Problem(urls: readonly string[]): string | undefined {
  for (const text of urls) {
    const url = URL.canParse(text) ? new URL(text) : undefined
    const isAddress = url !== undefined && url.hostname !== '' && url.port !== ''
    if (!isAddress || !['tile38:', 'tile38s:'].includes(url.protocol))
      return 'must hold URLs like tile38://HOST:PORT, or tile38s:// for TLS'
    if (url.username !== '' || url.password !== '') return 'must hold no password: tile38Password does'
  }
  return undefined
}

function routingProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isServer =
    url !== undefined && ['http:', 'https:'].includes(url.protocol) && url.search === '' && url.hash === ''
  if (!isServer) return 'must be a URL like http://HOST:PORT'
  return url.username === '' && url.password === '' ? undefined : 'must hold no password'
}

function originProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isOrigin =
    url !== undefined && ['http:', 'https:'].includes(url.protocol) && url.href === `${url.origin}/`
  return isOrigin ? undefined : 'must be a URL like https://HOST, without a path'
}

function smtpProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isServer =
    url !== undefined &&
    ['smtp:', 'smtps:'].includes(url.protocol) &&
    url.hostname !== '' &&
    ['', '/'].includes(url.pathname + url.search + url.hash)
  return isServer && isDecodable(url) ? undefined : 'must be a URL like smtps://USER:PASSWORD@HOST:PORT'
}

function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}

function emailProblem(text: string): string | undefined {
  return isEmail(text) ? undefined : 'must be an e-mail address'
}

function syncKeyProblem(text: string): string | undefined {
  return text === '' || /^[0-9a-f]{64}$/i.test(text) ? undefined : 'must be 64 hexadecimal digits'
}

function tokenProblem(text: string): string | undefined {
  return /^[\x21-\x7e]{16,}$/.test(text)
    ? undefined
    : 'must be 16 or more printable characters without spaces'
}

function proxiesProblem(ranges: readonly string[]): string | undefined {
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/', 2)
    const bits = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1
    const valid = bits > 0 && (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits))
    if (!valid) return `must hold addresses or CIDR ranges, not ${shown(range)}`
  }
  return undefined
}

function boundsText(option: Option): string {
  switch (option.type) {
    case 'integer':
      return `From ${option.low} to ${option.high}, default ${option.default}.`
    case 'switch':
      return `Default ${option.default ? 'on' : 'off'}.`
    case 'list':
      return `Comma-separated, default ${option.default.join(',') || 'none'}.`
    case 'rates':
      return 'Comma-separated, default none.'
    case 'choice':
    case 'text':
      return `Default ${option.default === '' ? 'none' : option.default}.`
  }
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}
