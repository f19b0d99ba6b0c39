/**
 * The image, run by podman as docs/containers.md says. `.ci/containers` builds the three images and runs this file;
 * RINGFENCE_TEST_IMAGE is their name, without the tags `all`, `regions` and `tracking`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { freePort } from '../kit/freePort.ts'
import { until, untilReady } from '../kit/waiting.ts'
import { run, text } from './tools.ts'

const NAME = process.env.RINGFENCE_TEST_IMAGE ?? ''
/** Bytes of an image without its base. */
const BOUNDS = { all: 300e6, regions: 300e6, tracking: 160e6 }
type Features = keyof typeof BOUNDS
/** In the example geofence of a new server, and far from it. */
const INSIDE = { latitude: 40.6892, longitude: -74.0445, accuracy: 20 }
const OUTSIDE = { latitude: 40.75, longitude: -73.98, accuracy: 20 }

const skip = NAME === '' && 'RINGFENCE_TEST_IMAGE is not set: .ci/containers builds the image and sets it'
if (skip) console.error(`SKIPPED: ${skip}`)

const podman = (...args: readonly string[]) => run('podman', args)

/** A container of the image on a volume. */
class Container {
  readonly name: string
  readonly url: string
  /** What it has printed. */
  output = ''
  readonly #child
  readonly #closed

  /** Runs the command of docs/containers.md, with another name, port, volume and image. */
  constructor(features: Features, volume: string, port: number) {
    this.name = `${volume}-${features}`
    this.url = `http://127.0.0.1:${port}`
    const documented = /^docker run ((?:.*\\\n)*.*)$/m.exec(text('docs/containers.md'))![1]!
    const args = documented
      .replaceAll('\\\n', ' ')
      .replace('--name ringfence', `--name ${this.name}`)
      .replace(':8080:8080', `:${port}:8080`)
      .replace('--volume ringfence:', `--volume ${volume}:`)
      .replace(/ringfence:\d\S*$/, `${NAME}:${features}`)
    if (!args.includes(NAME) || !args.includes(this.name) || !args.includes(`${port}`)) throw new Error(args)
    this.#child = spawn('podman', ['run', ...args.split(/\s+/)], { stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => (this.output += chunk))
    this.#closed = once(this.#child, 'close')
  }

  async ready(): Promise<void> {
    const isReady = () =>
      fetch(`${this.url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    await untilReady(this.#child, this.name, isReady, () => this.output)
  }

  exec(...command: readonly string[]): Promise<string> {
    return podman('exec', this.name, ...command)
  }

  /** Ends and removes it. @returns its exit code */
  async end(...command: readonly string[]): Promise<number> {
    await podman(...command, this.name)
    const [code] = await this.#closed
    await podman('rm', '--force', this.name)
    return code as number
  }

  /** Sends a request, `form` as curl's -d does. */
  async call(path: string, key: string, form?: Readonly<Record<string, string | number>>): Promise<Answer> {
    const body =
      form &&
      new URLSearchParams(Object.entries(form).map(([name, value]): [string, string] => [name, `${value}`]))
    const init = { headers: { Authorization: key }, ...(body && { method: 'POST', body }) }
    return (await (await fetch(this.url + path, init)).json()) as Answer
  }
}

interface Answer {
  readonly meta: { readonly code: number; readonly message?: string }
  readonly events?: readonly { readonly type: string }[]
}

async function newVolume(t: Test): Promise<string> {
  const volume = `ringfence-test-${process.pid}-${await freePort()}`
  t.teardown(async () => {
    for (const features of Object.keys(BOUNDS))
      await podman('rm', '--force', '--ignore', `${volume}-${features}`)
    await podman('volume', 'rm', '--force', volume)
  })
  return volume
}

t.test('the sizes of the images without their base', { skip }, async (t) => {
  const version = /^ARG NODE_VERSION=(.*)$/m.exec(text('Dockerfile'))![1]!
  const sizeOf = async (image: string) =>
    Number(await podman('image', 'inspect', '--format', '{{.Size}}', image))
  const base = await sizeOf(`docker.io/library/node:${version}-bookworm-slim`)
  for (const [features, bound] of Object.entries(BOUNDS)) {
    const bytes = (await sizeOf(`${NAME}:${features}`)) - base
    t.comment(`${features}: ${Math.round(bytes / 1e6)} MB`)
    t.ok(bytes > 10e6 && bytes < bound, `${features}: ${bytes} bytes`)
  }
})

t.test(
  'first call, health, operator commands, drain, upgrade of the volume, kill -9',
  { skip },
  async (t) => {
    const volume = await newVolume(t)
    const port = await freePort()
    const first = new Container('all', volume, port)
    t.teardown(() => {
      if (!t.passing()) console.error(first.output)
    })
    await first.ready()
    const key = /test publishable +(\S+)/.exec(first.output)![1]!
    const secret = /test secret +(\S+)/.exec(first.output)![1]!
    t.match(await first.call('/v1/track', key, { deviceId: 'visitor-1', ...INSIDE }), {
      events: [{ type: 'user.entered_geofence' }],
    })
    // From the compressed data of IP addresses.
    t.match(await first.call('/v1/geocode/ip?ip=72.229.28.185', secret), {
      meta: { code: 200 },
      address: { stateCode: 'NY', countryCode: 'US' },
      proxy: false,
    })
    t.match(await first.call('/v1/geocode/ip?ip=2600:1f18::1', secret), {
      address: { countryCode: 'US' },
      proxy: true,
    })
    await podman('healthcheck', 'run', first.name)
    t.match(await first.exec('node', 'src/main.ts', 'keys', 'list'), /testPublishable +…/)
    t.equal((await first.exec('id', '-u')).trim(), '1000')
    await t.rejects(first.exec('touch', '/app/here'), /Read-only file system/)
    await t.rejects(
      podman('exec', '--env', 'RINGFENCE_PORT=1', first.name, ...healthCheck()),
      'the check can fail',
    )

    // Eight clients at a time send while the container is stopped.
    const acknowledged: string[] = []
    let answer = ''
    const sender = async (client: number) => {
      for (let n = 0; ; n++) {
        const deviceId = `load-${client}-${n}`
        try {
          const { meta, events } = await first.call('/v1/track', key, { deviceId, ...INSIDE })
          if (meta.code !== 200) answer = JSON.stringify(meta)
          else if (events?.length === 1) acknowledged.push(deviceId)
          else answer = `no event for ${deviceId}`
        } catch {
          // The server accepts no connections any more.
          return
        }
        if (answer !== '') return
      }
    }
    const senders = Array.from({ length: 8 }, (_, client) => sender(client))
    await until(() => acknowledged.length > 200 || answer !== '')
    t.equal(await first.end('stop', '--time', '20'), 0, 'it ends by itself, before SIGKILL')
    t.match(first.output, /"draining"[\s\S]*"stopped"/)
    await Promise.all(senders)
    t.ok(answer === '' || /"code":503/.test(answer), answer || 'no refusal')

    const second = new Container('all', volume, port)
    t.teardown(() => {
      if (!t.passing()) console.error(second.output)
    })
    await second.ready()
    t.notMatch(second.output, /test publishable/, 'the keys are those of before')
    const isThere = async (container: Container) => {
      for (const deviceId of [acknowledged[0]!, ...acknowledged.slice(-40)])
        t.match(
          await container.call('/v1/track', key, { deviceId, ...INSIDE }),
          { events: [] },
          `${deviceId} was inside`,
        )
    }
    await isThere(second)
    t.match(await second.call('/v1/track', key, { deviceId: 'visitor-1', ...OUTSIDE }), {
      events: [{ type: 'user.exited_geofence' }],
    })
    t.not(await second.end('kill', '--signal', 'KILL'), 0)

    const third = new Container('regions', volume, port)
    await third.ready()
    await isThere(third)
    t.match(await third.call('/v1/geocode/ip?ip=72.229.28.185', secret), { meta: { code: 503 } })
    t.match(await third.call('/v1/geocode/reverse?coordinates=48.8566,2.3522', secret), {
      meta: { code: 200 },
    })
    t.equal(await third.end('stop', '--time', '20'), 0)
  },
)

t.test('only for tracking: first call, and what is missing is named', { skip }, async (t) => {
  const volume = await newVolume(t)
  const container = new Container('tracking', volume, await freePort())
  await container.ready()
  const key = /test publishable +(\S+)/.exec(container.output)![1]!
  t.match(await container.call('/v1/track', key, { deviceId: 'visitor-1', ...INSIDE }), {
    events: [{ type: 'user.entered_geofence' }],
  })
  t.match(await container.call('/v1/route/distance?origin=40.7,-74&destination=40.8,-74&modes=car', key), {
    meta: { code: 503, message: /is not installed/ },
  })
  t.equal(await container.end('stop', '--time', '20'), 0)
})

/** The command of the Dockerfile's HEALTHCHECK. */
function healthCheck(): string[] {
  return JSON.parse(/^ {2}CMD (\[.*\])$/m.exec(text('Dockerfile'))![1]!) as string[]
}
