import { readFileSync } from 'node:fs'
import t from 'tap'
import { helpText } from '../../config/help.ts'
import { OptionError } from '../../config/option.ts'
import { loadOptions, OPTIONS } from '../../config/options.ts'

const NO_FILE = () => {
  throw new Error('no such file')
}

/** Loads the options from the given sources. A source that is absent is empty. */
function load(sources: { argv?: string[]; env?: Record<string, string>; file?: unknown }) {
  const { argv = [], env = {}, file } = sources
  const text = typeof file === 'string' ? file : JSON.stringify(file)
  return loadOptions({
    argv: file === undefined ? argv : ['--config', 'my.json', ...argv],
    env,
    readFile: file === undefined ? NO_FILE : () => text,
  })
}

const KEYS = ['prj_test_pk_', 'prj_live_pk_', 'prj_test_sk_', 'prj_live_sk_'].map(
  (prefix) => prefix + 'a'.repeat(40),
)

t.test('config/embedded.json holds the defaults of the table, all of them', async (t) => {
  const text = readFileSync(new URL('../../config/embedded.json', import.meta.url), 'utf8')
  t.strictSame(load({ file: text }).options, load({}).options)
  t.strictSame(Object.keys(JSON.parse(text)), Object.keys(OPTIONS))
})

t.test('config/distributed.json can be used as it is', async (t) => {
  const text = readFileSync(new URL('../../config/distributed.json', import.meta.url), 'utf8')
  t.match(load({ file: text }).options, { engine: 'distributed', roles: ['all'], natsReplicas: 3 })
})

t.test('a flag wins over the environment, that over the file, that over the default', async (t) => {
  const file = { port: 3, host: '::1' }
  const env = { RINGFENCE_PORT: '2' }
  t.equal(load({}).options.port, 8080)
  t.equal(load({ file }).options.port, 3)
  t.equal(load({ file, env }).options.port, 2)
  t.equal(load({ file, env, argv: ['--port', '1'] }).options.port, 1)
  t.equal(load({ file, env }).options.host, '::1', 'each setting for itself')
  t.equal(load({ env: { RINGFENCE_PORT: '' } }).options.port, 8080, 'set to nothing is not set')
})

t.test('a variable that is spelled like a setting but is none is reported, and has no effect', async (t) => {
  const env = { RINGFENCE_PROT: '2', RINGFENCE_PORT: '3', RINGFENCE_SECRET_KEY: 'x', PORT: '4' }
  const { options, unknownVariables } = load({ env })
  t.equal(options.port, 3)
  t.strictSame(unknownVariables, ['RINGFENCE_PROT'])
})

t.test('every setting is read from its flag, its variable and its key', async (t) => {
  const VALUES: Record<keyof typeof OPTIONS, [text: string, value: unknown, json?: unknown]> = {
    port: ['0', 0, 0],
    host: ['0.0.0.0', '0.0.0.0'],
    data: ['/var/lib/ringfence', '/var/lib/ringfence'],
    keys: [KEYS.join(','), KEYS, KEYS],
    engine: ['distributed', 'distributed'],
    roles: ['gateway, delivery', ['gateway', 'delivery'], ['gateway', 'delivery']],
    rateLimits: ['off', false],
    limits: [
      'GET /v1/context=50, management=off',
      { 'GET /v1/context': 50, management: Infinity },
      { 'GET /v1/context': 50, management: 'off' },
    ],
    publicUrl: ['https://fleet.example.com', 'https://fleet.example.com'],
    keySignIn: ['off', false],
    auditDays: ['34', 34, 34],
    operatorProject: ['2', 2, 2],
    trustedProxies: ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1'], ['10.0.0.0/8', '::1']],
    durability: ['os', 'os'],
    partitions: ['16', 16, 16],
    segmentBytes: ['1048576', 1048576, 1048576],
    snapshotBytes: ['1048576', 1048576, 1048576],
    mailboxBytes: ['33554432', 33554432, 33554432],
    maxConnections: ['500', 500, 500],
    maxConnectionsPerAddress: ['20', 20, 20],
    maxBodyBytes: ['4096', 4096, 4096],
    maxStreamsPerKey: ['20', 20, 20],
    streamMessageBytes: ['2000000', 2000000, 2000000],
    subscriptionBytes: ['2000000', 2000000, 2000000],
    deviceBytes: ['2000000', 2000000, 2000000],
    streamIdleSeconds: ['30', 30, 30],
    streamDeviceLimit: ['on', true, 'on'],
    idleMinutes: ['1', 1, 1],
    eventsDays: ['30', 30, 30],
    tripsDays: ['32', 32, 32],
    tripLocationsDays: ['33', 33, 33],
    usersDays: ['31', 31, 31],
    natsUrl: [
      'nats://a:4222, tls://user:secret@b.example',
      ['nats://a:4222', 'tls://user:secret@b.example'],
      ['nats://a:4222', 'tls://user:secret@b.example'],
    ],
    natsCredentials: ['/etc/ringfence/nats.creds', '/etc/ringfence/nats.creds'],
    natsTlsCa: ['/etc/ringfence/ca.pem', '/etc/ringfence/ca.pem'],
    natsTlsCertificate: ['/etc/ringfence/nats.pem', '/etc/ringfence/nats.pem'],
    natsTlsKey: ['/etc/ringfence/nats.key', '/etc/ringfence/nats.key'],
    natsReplicas: ['3', 3, 3],
    natsFormat: ['protobuf', 'protobuf'],
    tile38Url: [
      'tile38://127.0.0.1:9851, tile38s://b:9852',
      ['tile38://127.0.0.1:9851', 'tile38s://b:9852'],
      ['tile38://127.0.0.1:9851', 'tile38s://b:9852'],
    ],
    tile38TlsCa: ['/etc/ringfence/tile38.pem', '/etc/ringfence/tile38.pem'],
    tile38Password: ['open sesame', 'open sesame'],
    dashboard: ['off', false, 'off'],
    sampleRegion: ['off', false, 'off'],
    regionMaxBytes: ['1048576', 1048576, 1048576],
    mapFiles: ['a.pmtiles, b.pmtiles', ['a.pmtiles', 'b.pmtiles'], ['a.pmtiles', 'b.pmtiles']],
    ipCityFile: ['/var/lib/GeoLite2-City.mmdb', '/var/lib/GeoLite2-City.mmdb'],
    ipProxyFiles: ['a.txt, b.txt', ['a.txt', 'b.txt'], ['a.txt', 'b.txt']],
    ipTorFile: ['/var/lib/tor.txt', '/var/lib/tor.txt'],
    ipAllowedFile: ['/var/lib/allowed.txt', '/var/lib/allowed.txt'],
    routingUrl: ['http://127.0.0.1:8002/valhalla', 'http://127.0.0.1:8002/valhalla'],
    routingThreads: ['4', 4, 4],
    routingTimeoutSeconds: ['5', 5, 5],
    routingQueue: ['10', 10, 10],
    routingMemoryBytes: ['2147483648', 2147483648, 2147483648],
    routingCacheBytes: ['0', 0, 0],
    webhookPrivateAddresses: ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1'], ['10.0.0.0/8', '::1']],
    webhookTimeoutSeconds: ['5', 5, 5],
    webhookRetrySeconds: ['60', 60, 60],
    syncPrivateAddresses: ['10.0.0.0/8', ['10.0.0.0/8'], ['10.0.0.0/8']],
    syncMaxBytes: ['1048576', 1048576, 1048576],
    syncKey: ['0f'.repeat(32), '0f'.repeat(32)],
    smtpUrl: ['smtps://user:a%20b@mail.example.com', 'smtps://user:a%20b@mail.example.com'],
    smtpFrom: ['ringfence@example.com', 'ringfence@example.com'],
    operatorEmails: [
      'a@example.com,b@example.com',
      ['a@example.com', 'b@example.com'],
      ['a@example.com', 'b@example.com'],
    ],
    deliveriesDays: ['7', 7, 7],
    deliveriesRows: ['500', 500, 500],
    metricsToken: ['0123456789abcdef', '0123456789abcdef'],
    logLevel: ['silent', 'silent'],
  }
  for (const [name, [text, value, json = text]] of Object.entries(VALUES)) {
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
    const option = OPTIONS[name as keyof typeof OPTIONS]
    const read = (from: Parameters<typeof load>[0]) => load(from).options[name as keyof typeof OPTIONS]
    t.strictSame(read({ argv: [flag, text] }), value, flag)
    t.strictSame(read({ argv: [`${flag}=${text}`] }), value, `${flag}=`)
    t.strictSame(read({ env: { [option.env]: text } }), value, option.env)
    t.strictSame(read({ file: { [name]: json } }), value, `"${name}"`)
    t.notSame(
      value,
      load({}).options[name as keyof typeof OPTIONS],
      `${name}: the example is not the default`,
    )
  }
})

t.test('arguments that are not flags are positional, and so is everything after --', async (t) => {
  const { positionals, options } = load({ argv: ['keys', '--port', '7', 'rotate', '--', '--port', '-x'] })
  t.strictSame(positionals, ['keys', 'rotate', '--port', '-x'])
  t.equal(options.port, 7)
})

t.test('--help and --version are told apart and need no valid settings', async (t) => {
  t.equal(load({}).show, undefined)
  t.equal(load({ argv: ['--version'] }).show, 'version')
  t.equal(load({ argv: ['--version', '-h'], env: { RINGFENCE_PORT: 'x' } }).show, 'help')
  t.equal(load({ argv: ['--config', 'absent.json', '--help'] }).show, 'help')
})

t.test('the error names an invalid setting and its source', async (t) => {
  const CASES: readonly (readonly [Parameters<typeof load>[0], RegExp])[] = [
    [{ argv: ['--prot', '1'] }, /^unknown option --prot; --help lists them$/],
    [{ argv: ['-p'] }, /^unknown option -p/],
    [{ argv: ['--constructor', '1'] }, /^unknown option --constructor/],
    [{ argv: ['--port'] }, /^--port needs a value$/],
    [{ argv: ['--port', '--host'] }, /^--port needs a value$/],
    [{ argv: ['--port', 'http'] }, /^--port must be a whole number, not "http"$/],
    [{ argv: ['--port', '1e3'] }, /^--port must be a whole number/],
    [{ argv: ['--port='] }, /^--port must be a whole number/],
    [{ argv: ['--port', '-1'] }, /^--port must be from 0 to 65535, not "-1"$/],
    [{ env: { RINGFENCE_PORT: '65536' } }, /^RINGFENCE_PORT must be from 0 to 65535, not "65536"$/],
    [{ env: { RINGFENCE_RATE_LIMITS: 'no' } }, /^RINGFENCE_RATE_LIMITS must be on or off, not "no"$/],
    [
      { env: { RINGFENCE_DURABILITY: 'none' } },
      /^RINGFENCE_DURABILITY must be one of fsync, os, not "none"$/,
    ],
    [{ argv: ['--roles', 'gateway,king'] }, /^--roles must be of gateway, actors, delivery, all$/],
    [{ env: { RINGFENCE_DATA: ' ' } }, /^RINGFENCE_DATA must be a text/],
    [{ env: { RINGFENCE_TRUSTED_PROXIES: '10.0.0.0/33' } }, /^RINGFENCE_TRUSTED_PROXIES must hold .*33"$/],
    [{ env: { RINGFENCE_TRUSTED_PROXIES: 'proxy.local' } }, /must hold addresses or CIDR ranges/],
    [{ env: { RINGFENCE_TRUSTED_PROXIES: '::1/' } }, /must hold addresses or CIDR ranges/],
    [
      { argv: ['--limits', 'GET /v1/nothing=1'] },
      /^--limits has no "GET \/v1\/nothing"; it knows POST \/v1\/track, /,
    ],
    [{ argv: ['--limits', '__proto__=1'] }, /^--limits has no "__proto__"/],
    [{ argv: ['--limits', 'management'] }, /^--limits must be a list of name=number, not "management"$/],
    [
      { env: { RINGFENCE_LIMITS: 'management=0' } },
      /^RINGFENCE_LIMITS management must be from 1 to 1000000, or off, not "0"$/,
    ],
    [{ argv: ['--limits', 'management=1.5'] }, /, not "1\.5"$/],
    [{ argv: ['--limits', 'management='] }, /, not ""$/],
    [{ file: { limits: { management: -1 } } }, /^my\.json: "limits" management must be .*, not -1$/],
    [{ file: { limits: [1] } }, /^my\.json: "limits" must be a list of name=number, or an object$/],
    [{ env: { RINGFENCE_KEYS: KEYS.slice(1).join(',') } }, /^RINGFENCE_KEYS must hold four keys, not 3$/],
    [
      { env: { RINGFENCE_KEYS: KEYS.toReversed().join(',') } },
      /must hold a key that starts with prj_test_pk_ in place 1$/,
    ],
    [
      { env: { RINGFENCE_NATS_URL: 'nats://a, http://u:pass@b' } },
      /^RINGFENCE_NATS_URL must hold URLs that start with nats:\/\/ or tls:\/\/$/,
    ],
    [{ argv: ['--nats-url', '127.0.0.1:4222'] }, /^--nats-url must hold URLs that start with/],
    [
      { argv: ['--nats-url', 'tls://[::1]:4222'] },
      /^--nats-url must name hosts, not addresses, after tls:\/\/$/,
    ],
    [{ file: { prot: 1 } }, /^my\.json: unknown setting "prot"$/],
    [{ file: '{"__proto__": 1}' }, /^my\.json: unknown setting "__proto__"$/],
    [{ file: { port: 1.5 } }, /^my\.json: "port" must be a whole number, not 1\.5$/],
    [{ file: { port: null } }, /^my\.json: "port" must be a whole number, not null$/],
    [{ file: { keys: [1, 2, 3, 4] } }, /^my\.json: "keys" must be a comma-separated list$/],
    [{ file: { rateLimits: true } }, /^my\.json: "rateLimits" must be on or off, not true$/],
    [{ file: [] }, /^my\.json: must hold a JSON object/],
    [{ file: '{' }, /^my\.json: cannot be read as JSON/],
    [{ argv: ['--config', 'absent.json'] }, /^absent\.json: cannot be read: no such file$/],
  ]
  for (const [sources, message] of CASES) {
    try {
      load(sources)
      t.fail(`${JSON.stringify(sources)} was taken`)
    } catch (error) {
      t.ok(error instanceof OptionError, 'an OptionError')
      t.match((error as OptionError).message, message)
      t.equal((error as OptionError).exitCode, 2)
    }
  }
})

t.test('a refused key is not repeated in the message', async (t) => {
  t.throws(() => load({ env: { RINGFENCE_KEYS: 'prj_live_sk_secretsecretsecret' } }), {
    message: /^((?!secretsec).)*$/,
  })
})

t.test('the text of --help', async (t) => {
  t.matchSnapshot(helpText())
  for (const name of Object.keys(OPTIONS) as (keyof typeof OPTIONS)[]) t.match(helpText(), OPTIONS[name].env)
})
