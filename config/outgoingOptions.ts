/** Settings of what the server sends and fetches: webhooks, geofence syncs and e-mails. And of its log and metrics. */
import { isEmail } from '../src/model/email.ts'
import type { Option } from './option.ts'
import { addressesProblem, emailProblem, smtpProblem, syncKeyProblem, tokenProblem } from './optionChecks.ts'

const MIB = 1024 * 1024

/** In the order of `--help`. */
export const OUTGOING_OPTIONS = {
  webhookPrivateAddresses: {
    type: 'list',
    default: [],
    problem: addressesProblem,
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
    problem: addressesProblem,
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
