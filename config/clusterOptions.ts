/** Settings of NATS and Tile38. */
import type { Option } from './option.ts'
import { natsProblem, tile38Problem } from './optionChecks.ts'

/** In the order of `--help`. */
export const CLUSTER_OPTIONS = {
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
} as const satisfies Record<string, Option>
