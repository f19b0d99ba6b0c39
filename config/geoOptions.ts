/** Settings of the dashboard, and of everything that comes from map data: regions, maps, IP addresses and routing. */
import type { Option } from './option.ts'
import { routingProblem } from './optionChecks.ts'

const MIB = 1024 * 1024

/** In the order of `--help`. */
export const GEO_OPTIONS = {
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
} as const satisfies Record<string, Option>
