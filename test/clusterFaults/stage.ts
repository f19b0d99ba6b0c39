import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from '../../cluster/cluster.ts'
import type { Member } from '../../cluster/member.ts'
import { Receiver } from '../delivery/webhookKit.ts'
import { circleBody, drawCircles, PROJECT_DWELL, type Circle } from '../crash/fleet.ts'
import { Seeded } from '../crash/seeded.ts'
import { addSample } from '../kit/sampleRegion.ts'
import { KEYS, type HttpAnswer } from '../kit/server.ts'
import { makeWorld, shareWorld } from '../kit/world.ts'
import { Bystander, type Call } from './bystander.ts'
import { compare, type Totals } from './comparison.ts'
import { Courier, GOAL, Messenger } from './couriers.ts'
import { Delivered } from './delivered.ts'
import { Guest, GUEST_SETTINGS, type Cafe } from './guests.ts'
import { Load } from './load.ts'
import { Commuter, GATE, nameIn, Wanderer } from './movers.ts'
import type { Scenario } from './scenario.ts'
import { Streams } from './streams.ts'

/** Fewer than the default of 64, so that each partition gets a share of the load. */
const PARTITIONS = 16
const CIRCLES = 10
const BY_STREAM = 24
const COMMUTERS = 8
const GUESTS = 8
const COURIERS = 8
const COURIERS_BY_STREAM = 4
const MESSENGERS = 4
const LEAST_BY_HTTP = 32
/** How long the load runs before the fault and after the recovery. */
const LOAD_MS = 1500
/** More sentences than this would add no information. */
const MAX_FAULTS = 20
const ANSWER_MS = 20_000
/** Longer than any recovery may take. */
const GIVE_UP_MS = 60_000
const LOOK_AGAIN_MS = 100
/** The duration of a commit on a busy machine, and then many times that. */
const LONGEST_COMMIT_MS = 10
const ANSWERED_MS = 200

/** A process that was just killed may still be writing. */
const REMOVAL = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }

/** The result of a scenario. */
export interface Outcome {
  readonly seconds: number
  /** Broken rules, as sentences that begin with the number of the guarantee; empty if all is well. */
  readonly faults: readonly string[]
}

/** What became of a fault. Times in milliseconds, counts of updates by HTTP. */
export interface Happening {
  readonly what: string
  /** Until each device that sends by HTTP, or over a stream, had an acknowledgement for something newer. */
  readonly httpMs: number
  readonly streamMs: number
  readonly longestAnswerMs: number
  readonly refused: number
  readonly unanswered: number
}

/** A cluster with load, and what a scenario does to it; see scenario.ts. */
export class Stage {
  readonly random: Seeded
  readonly partitions: number
  readonly cluster: Cluster
  readonly load: Load
  readonly streams: Streams
  readonly faults: string[] = []
  /** In their order. */
  readonly happenings: Happening[] = []
  readonly #say: (line: string) => void
  readonly #delivered: Delivered
  readonly #calls: readonly Call[]
  readonly #bystander: Bystander
  /** When the current fault began, by `performance.now()`. */
  #since = 0
  #longestAnswerMs = 0

  private constructor(
    cluster: Cluster,
    streams: Streams,
    delivered: Delivered,
    partitions: number,
    random: Seeded,
    { circles, cafe, couriers }: Furniture,
    say: (line: string) => void,
  ) {
    this.cluster = cluster
    this.streams = streams
    this.partitions = partitions
    this.random = random
    this.#delivered = delivered
    this.#say = say
    const wanderer = (prefix: string, n: number) =>
      new Wanderer(nameIn(`${prefix}${n}`, n % partitions, partitions), random, circles)
    const count = Math.max(LEAST_BY_HTTP, partitions)
    const couriersByHttp = couriers.slice(0, COURIERS)
    this.load = new Load(
      cluster.gateways.map(({ options }) => options.url),
      {
        byHttp: [
          ...Array.from({ length: count }, (_, n) => wanderer('walker', n)),
          ...Array.from({ length: COMMUTERS }, (_, n) => new Commuter(`commuter-${n}`)),
          ...Array.from({ length: GUESTS }, (_, n) => new Guest(`guest-${n}`, cafe)),
          ...couriersByHttp,
          ...Array.from(
            { length: MESSENGERS },
            (_, n) => new Messenger(`messenger-${n}`, (n * 5) % partitions, partitions),
          ),
        ],
        byStream: [
          ...Array.from({ length: BY_STREAM }, (_, n) => wanderer('van', n)),
          ...couriers.slice(COURIERS),
        ],
      },
      (sentence) => this.fault(sentence),
    )
    this.#calls = cluster.gateways.map(({ options }) => callOf(options.url))
    this.#bystander = new Bystander(this.#calls, (sentence) => this.fault(sentence))
  }

  /** Runs a scenario, from the start of its cluster to its end. */
  static async play(scenario: Scenario, seed: number, say: (line: string) => void): Promise<Outcome> {
    const began = performance.now()
    const folder = mkdtempSync(join(tmpdir(), 'ringfence-faults-'))
    // For an end by a signal: in that case, nobody looks at it.
    const remove = () => rmSync(folder, REMOVAL)
    process.once('exit', remove)
    const delivered = new Delivered()
    const receiver = new Receiver((received) => delivered.take(received))
    let cluster: Cluster | undefined
    let streams: Streams | undefined
    const faults: string[] = []
    try {
      await receiver.up()
      cluster = await startCluster(scenario, folder)
      const names = cluster.members.map(({ options }) => options.name)
      say(`the cluster is up after ${seconds(began)}: ${names.join(', ')}`)
      const partitions = Number(scenario.env?.['RINGFENCE_PARTITIONS'] ?? PARTITIONS)
      const random = new Seeded(seed)
      const furniture = await furnish(cluster, receiver, random)
      streams = await Streams.open(cluster.nats.map(({ options }) => options.url))
      const stage = new Stage(cluster, streams, delivered, partitions, random, furniture, say)
      try {
        await stage.#play(scenario)
      } finally {
        faults.push(...stage.faults)
        stage.load.abandon()
        await stage.#bystander.stop()
      }
    } catch (error) {
      faults.push((error as Error).message)
    } finally {
      await streams?.close()
      await cluster?.kill()
      await receiver.down()
      process.off('exit', remove)
      if (faults.length === 0) remove()
      else say(`data and logs are in ${folder}`)
    }
    return { seconds: (performance.now() - began) / 1000, faults }
  }

  get gateways(): readonly Member[] {
    return this.cluster.gateways
  }

  get actors(): readonly Member[] {
    return this.cluster.actors
  }

  fault(sentence: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(sentence)
  }

  /** Prints a line. */
  say(line: string): void {
    this.#say(line)
  }

  /**
   * Causes the fault. Resolves once each device has an acknowledgement for something that it sent after the fault
   * began; with {@link kills}, after the kill.
   */
  async happens(what: string, act: () => unknown): Promise<void> {
    const { load } = this
    const before = { ...load.counts }
    const failedBefore = load.failedEverywhere.length
    load.longestAnswerMs = 0
    this.#since = performance.now()
    const [{ httpMs, streamMs }] = await Promise.all([load.recovered(() => this.#since), act()])
    const refused = load.counts.refused - before.refused
    const unanswered = load.counts.unanswered - before.unanswered
    const stored = load.counts.stored - before.stored
    const storedAgain = load.counts.storedAgain - before.storedAgain
    const everywhere = load.failedEverywhere.length - failedBefore
    const { longestAnswerMs } = load
    this.#longestAnswerMs = Math.max(this.#longestAnswerMs, longestAnswerMs)
    this.happenings.push({ what, httpMs, streamMs, longestAnswerMs, refused, unanswered })
    this.#say(
      `${what}: all acknowledged after ${(httpMs / 1000).toFixed(2)} s by HTTP, ${(streamMs / 1000).toFixed(2)} s over ` +
        `streams; longest answer ${(longestAnswerMs / 1000).toFixed(2)} s; ` +
        (refused + unanswered === 0
          ? 'nobody was refused'
          : `${refused} refused and ${unanswered} unanswered, ${everywhere} times by all gateways in turn`) +
        (stored === 0
          ? ''
          : `; ${stored} were stored without their trip, ${storedAgain} of them twice in a row`),
    )
  }

  /** Starts a process that has ended, and waits until it is ready. */
  async returns(member: Member, env: Readonly<Record<string, string>> = {}): Promise<void> {
    const began = performance.now()
    member.start(env)
    await member.ready((sentence) => this.#say(sentence))
    this.#say(`${member.options.name} is back, ready after ${seconds(began)}`)
  }

  /**
   * `kill -9` in the middle of much work, a moment after the process was stopped. Its last requests are processed by
   * others, and it never sees the answers. Such a moment would be rare by chance.
   */
  async kills(...members: readonly Member[]): Promise<void> {
    // Updates sent before the kill prove nothing about the time after it.
    this.#since = Infinity
    this.load.surge()
    await sleep(this.random.integer(1, LONGEST_COMMIT_MS))
    for (const member of members) member.signal('SIGSTOP')
    this.#since = performance.now()
    await sleep(ANSWERED_MS)
    await Promise.all(members.map((member) => member.end('SIGKILL')))
  }

  /** Shuts a process down and waits for its end. */
  async ends(member: Member, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const began = performance.now()
    const code = await member.end(signal)
    this.#say(`${member.options.name} has ended after ${seconds(began)}`)
    if (code !== 0) this.fault(`${member.options.name} ended with ${code} after ${signal}`)
  }

  /** Resolves when each partition has one owner and each host has some partitions, as the hosts report. */
  settled(): Promise<void> {
    return this.#until('the partitions have no owners, or are not shared out', async () => {
      const shares = await Promise.all(this.actors.map((member) => shareOf(member)))
      return Math.min(...shares) > 0 && shares.reduce((sum, share) => sum + share, 0) === this.partitions
    })
  }

  /** Resolves when the webhook delivers something. */
  delivers(): Promise<void> {
    const before = this.#delivered.requests
    return this.#until('no webhook is delivered', () => this.#delivered.requests > before)
  }

  /** Sends a request to a gateway with the secret key. */
  ask(path: string): Promise<HttpAnswer> {
    return this.#calls[0]!('GET', path)
  }

  /** Sends a request to one of the gateways with the secret key. */
  call(gateway: number, ...request: Parameters<Call>): Promise<HttpAnswer> {
    return this.#calls[gateway]!(...request)
  }

  async #until(otherwise: string, done: () => boolean | Promise<boolean>): Promise<void> {
    for (const from = performance.now(); !(await done()); await sleep(LOOK_AGAIN_MS))
      if (performance.now() - from > GIVE_UP_MS) throw new Error(`${otherwise} after ${seconds(from)}`)
  }

  async #play(scenario: Scenario): Promise<void> {
    const { load, cluster } = this
    load.start()
    const began = performance.now()
    await load.recovered(() => began)
    this.#bystander.start(load.movers.map(({ deviceId }) => deviceId))
    await sleep(LOAD_MS)
    await scenario.play(this)
    await sleep(LOAD_MS)
    await this.happens('all is well again', () => {})
    await Promise.all([load.stop(), this.#bystander.stop()])
    await Promise.all(cluster.members.map((member) => member.ready()))
    await this.#bystander.compare(GIVE_UP_MS)
    this.#tell(
      await compare({
        load,
        streams: this.streams,
        partitions: this.partitions,
        gateways: this.#calls.map((ask) => (path) => ask('GET', path)),
        delivered: this.#delivered,
        fault: (sentence) => this.fault(sentence),
      }),
      (await Promise.all(this.actors.map(repeatsOf))).reduce((sum, count) => sum + count, 0),
    )
    for (const name of await cluster.stop()) this.fault(`${name} did not end well`)
  }

  #tell(totals: Totals, repeats: number): void {
    const { devices, events, eventsPerSecond, frames, owners, redelivered } = totals
    const { counts } = this.load
    this.#say(
      `${counts.updates} updates of ${devices} devices acknowledged and there; ${events} events once each, read at ` +
        `${eventsPerSecond} messages a second; ${frames} frames of ${owners} owners of ${this.partitions} partitions`,
    )
    this.#say(
      `${counts.refused} updates refused, ${counts.unanswered} unanswered, all sent again, ${repeats} known as applied; longest ` +
        `answer ${(this.#longestAnswerMs / 1000).toFixed(1)} s; ${redelivered} events delivered again`,
    )
  }
}

async function startCluster({ cluster, env }: Scenario, folder: string): Promise<Cluster> {
  const members = { nats: 1, gateways: 2, actors: 2, deliveries: 1, ...cluster }
  await makeWorld()
  for (const [name, count] of [
    ['gateway', members.gateways],
    ['actors', members.actors],
  ] as const) {
    for (let i = 1; i <= count; i++) {
      const data = join(folder, `${name}-${i}`)
      mkdirSync(data)
      shareWorld(data)
      await addSample(data)
    }
  }
  return Cluster.start({
    folder,
    ...members,
    env: {
      RINGFENCE_KEYS: Object.values(KEYS).join(','),
      RINGFENCE_RATE_LIMITS: 'off',
      RINGFENCE_DASHBOARD: 'off',
      RINGFENCE_PARTITIONS: String(PARTITIONS),
      RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8',
      ...env,
    },
  })
}

/** What the movers move among. */
interface Furniture {
  readonly circles: ReadonlyMap<string, Circle>
  readonly cafe: Cafe
  readonly couriers: readonly Courier[]
}

/** Makes circles, the gate, dwell times, trips and a webhook, and turns everything on that knows the world. */
async function furnish(cluster: Cluster, receiver: Receiver, random: Seeded): Promise<Furniture> {
  const call = callOf(cluster.gateways[0]!.options.url)
  const put = async (method: string, path: string, body: object) => {
    const answer = await call(method, path, body)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  await put('PATCH', 'settings', {
    dwellEvents: true,
    dwellThreshold: PROJECT_DWELL,
    tripUpdateSeconds: 0,
    ...GUEST_SETTINGS,
  })
  const { latitude, longitude, radius } = GATE
  const gate = { type: 'circle', description: 'gate', coordinates: [longitude, latitude], radius }
  // The commuter leaves again before it could dwell.
  await put('PUT', 'geofences/gates/gate', gate)
  const circles = new Map<string, Circle>()
  for (const circle of drawCircles(random, CIRCLES)) {
    const { geofence } = await put('PUT', `geofences/near/${circle.externalId}`, circleBody(circle))
    circles.set(geofence._id, { ...circle, id: geofence._id })
  }
  await put('PUT', GOAL.path, GOAL.body)
  const couriers = Array.from(
    { length: COURIERS + COURIERS_BY_STREAM },
    (_, n) => new Courier(`courier-${n}`),
  )
  for (const { order } of couriers) await put('POST', 'trips', order)
  await put('POST', 'webhooks', { url: receiver.url, mode: 'multiple' })
  return { circles, cafe: await cafeOf(call), couriers }
}

/** A café that is the first candidate at its own point. */
async function cafeOf(call: Call): Promise<Cafe> {
  const search = 'search/places?near=-34.9061,-56.1934&radius=10000&limit=50&categories=cafe'
  const { places } = (await call('GET', search)).body
  for (const { _id, location } of places) {
    const [longitude, latitude] = location.coordinates
    const { context } = (await call('GET', `context?coordinates=${latitude},${longitude}`)).body
    if (context.place?._id === _id) return { id: _id, latitude, longitude }
  }
  throw new Error('the sample has no café')
}

/** Requests with the secret key. */
function callOf(url: string): Call {
  return async (method, path, body) => {
    const answer = await fetch(`${url}/v1/${path}`, {
      method,
      headers: { Authorization: KEYS.testSecret, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    return { status: answer.status, body: await answer.json(), headers: answer.headers }
  }
}

/** How many partitions a host has; 0 if it does not answer. */
async function shareOf({ options }: Member): Promise<number> {
  const text = await fetch(options.readyUrl).then(
    (answer) => answer.text(),
    () => '',
  )
  return Number(/(\d+) of \d+ partitions are here/.exec(text)?.[1] ?? 0)
}

/** How many updates since its start a host recognised as already applied. */
async function repeatsOf({ options }: Member): Promise<number> {
  const text = await (await fetch(`${options.url}/metrics`)).text()
  return Number(/^ringfence_repeated_updates_total (\d+)$/m.exec(text)?.[1] ?? 0)
}

function seconds(from: number): string {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`
}
