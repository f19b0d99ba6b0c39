import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from '../../cluster/cluster.ts'
import type { Member } from '../../cluster/member.ts'
import { Receiver } from '../delivery/webhookKit.ts'
import { circleBody, drawCircles, PROJECT_DWELL, type Circle } from '../fault/fleet.ts'
import { Seeded } from '../fault/seeded.ts'
import { KEYS, type HttpAnswer } from '../kit/server.ts'
import { compare, type Totals } from './comparison.ts'
import { Load } from './load.ts'
import { Commuter, GATE, nameIn, Wanderer, type EventRecord } from './movers.ts'
import type { Scenario } from './scenario.ts'
import { Streams } from './streams.ts'

/** Fewer than the default of 64, so that each has its share of the load. */
const PARTITIONS = 16
const CIRCLES = 10
const BY_STREAM = 24
const COMMUTERS = 8
const LEAST_BY_HTTP = 32
/** Of load before anything happens, and after all is well again. */
const LOAD_MS = 1500
/** More than this many sentences say nothing new. */
const MAX_FAULTS = 20
const ANSWER_MS = 20_000

/** What came of a scenario. */
export interface Outcome {
  readonly seconds: number
  /** What was broken, in sentences that begin with the number of the guarantee; none where all is well. */
  readonly faults: readonly string[]
}

/** A cluster with load, and what a scenario does to it; see scenario.ts. */
export class Stage {
  readonly random: Seeded
  readonly partitions: number
  readonly cluster: Cluster
  readonly load: Load
  readonly faults: string[] = []
  readonly #say: (line: string) => void
  readonly #receiver: Receiver

  private constructor(
    cluster: Cluster,
    receiver: Receiver,
    partitions: number,
    random: Seeded,
    circles: ReadonlyMap<string, Circle>,
    say: (line: string) => void,
  ) {
    this.cluster = cluster
    this.partitions = partitions
    this.random = random
    this.#receiver = receiver
    this.#say = say
    const wanderer = (prefix: string, n: number) =>
      new Wanderer(nameIn(`${prefix}${n}`, n % partitions, partitions), random, circles)
    const count = Math.max(LEAST_BY_HTTP, partitions)
    this.load = new Load(
      cluster.gateways.map(({ options }) => options.url),
      {
        byHttp: [
          ...Array.from({ length: count }, (_, n) => wanderer('walker', n)),
          ...Array.from({ length: COMMUTERS }, (_, n) => new Commuter(`commuter-${n}`)),
        ],
        byStream: Array.from({ length: BY_STREAM }, (_, n) => wanderer('van', n)),
      },
      (sentence) => this.fault(sentence),
    )
  }

  /** Plays a scenario from the start of its cluster to its end. */
  static async play(scenario: Scenario, seed: number, say: (line: string) => void): Promise<Outcome> {
    const began = performance.now()
    const seconds = () => (performance.now() - began) / 1000
    const folder = mkdtempSync(join(tmpdir(), 'ringfence-faults-'))
    const receiver = new Receiver()
    let cluster: Cluster | undefined
    const faults: string[] = []
    try {
      await receiver.up()
      cluster = await startCluster(scenario, folder)
      say(`the cluster is up after ${seconds().toFixed(1)} s: ${namesOf(cluster.members)}`)
      const partitions = Number(scenario.env?.['RINGFENCE_PARTITIONS'] ?? PARTITIONS)
      const random = new Seeded(seed)
      const circles = await furnish(cluster, receiver, random)
      const stage = new Stage(cluster, receiver, partitions, random, circles, say)
      try {
        await stage.#play(scenario)
      } finally {
        faults.push(...stage.faults)
      }
    } catch (error) {
      faults.push((error as Error).message)
    } finally {
      await cluster?.kill()
      await receiver.down()
      if (faults.length === 0) rmSync(folder, { recursive: true })
      else say(`data and logs are in ${folder}`)
    }
    return { seconds: seconds(), faults }
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

  /** Tells whoever reads the run. */
  say(line: string): void {
    this.#say(line)
  }

  /** Lets it happen; goes on once each device was acknowledged something that it sent after it had begun. */
  async happens(what: string, act: () => unknown): Promise<number> {
    const { counts } = this.load
    const before = { ...counts }
    const [ms] = await Promise.all([this.load.recovered(), act()])
    const since = (['refused', 'unanswered', 'failedEverywhere'] as const).map(
      (name) => counts[name] - before[name],
    )
    this.#say(
      `${what}: all devices are acknowledged after ${(ms / 1000).toFixed(2)} s; ` +
        `${since[0]} refused, ${since[1]} unanswered, ${since[2]} of them by all gateways in turn`,
    )
    return ms
  }

  /** Starts one that has ended, and waits until it is ready. */
  async returns(member: Member, env: Readonly<Record<string, string>> = {}): Promise<void> {
    const began = performance.now()
    member.start(env)
    await member.ready()
    this.#say(
      `${member.options.name} is back, ready after ${((performance.now() - began) / 1000).toFixed(1)} s`,
    )
  }

  async #play(scenario: Scenario): Promise<void> {
    const { load, cluster } = this
    load.start()
    await load.recovered()
    await sleep(LOAD_MS)
    await scenario.play(this)
    await sleep(LOAD_MS)
    await load.recovered()
    await load.stop()
    await Promise.all(cluster.members.map((member) => member.ready()))
    const streams = await Streams.open(cluster.nats.map(({ options }) => options.url))
    try {
      this.#tell(
        await compare({
          load,
          streams,
          partitions: this.partitions,
          gateways: cluster.gateways.map(
            ({ options }) =>
              (path) =>
                call(options.url, 'GET', path),
          ),
          delivered: () =>
            this.#receiver.got.flatMap(({ json }) => json.events.map(({ _id }: EventRecord) => _id)),
          fault: (sentence) => this.fault(sentence),
        }),
      )
    } finally {
      await streams.close()
    }
    for (const name of await cluster.stop()) this.fault(`${name} did not end well`)
  }

  #tell({ devices, events, frames, owners, redelivered }: Totals): void {
    const { counts, longestAnswerMs } = this.load
    this.#say(
      `${counts.updates} updates of ${devices} devices acknowledged and there; ${events} events once each; ` +
        `${frames} frames of ${owners} owners of ${this.partitions} partitions`,
    )
    this.#say(
      `${counts.refused} updates refused, ${counts.unanswered} unanswered, all sent again; longest answer ` +
        `${(longestAnswerMs / 1000).toFixed(1)} s; ${redelivered} events delivered again`,
    )
  }
}

function startCluster({ cluster, env }: Scenario, folder: string): Promise<Cluster> {
  return Cluster.start({
    folder,
    nats: 1,
    gateways: 2,
    actors: 2,
    deliveries: 1,
    ...cluster,
    env: {
      RINGFENCE_KEYS: Object.values(KEYS).join(','),
      RINGFENCE_RATE_LIMITS: 'off',
      RINGFENCE_PARTITIONS: String(PARTITIONS),
      RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8',
      ...env,
    },
  })
}

/** Circles, the gate, dwells and a webhook. */
async function furnish(
  cluster: Cluster,
  receiver: Receiver,
  random: Seeded,
): Promise<ReadonlyMap<string, Circle>> {
  const { url } = cluster.gateways[0]!.options
  const put = async (method: string, path: string, body: object) => {
    const answer = await call(url, method, path, body)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  await put('PATCH', 'settings', { dwellEvents: true, dwellThreshold: PROJECT_DWELL })
  const { latitude, longitude, radius } = GATE
  const gate = { type: 'circle', description: 'gate', coordinates: [longitude, latitude], radius }
  // A commuter comes and goes faster than it could dwell.
  await put('PUT', 'geofences/gates/gate', gate)
  const circles = new Map<string, Circle>()
  for (const circle of drawCircles(random, CIRCLES)) {
    const { geofence } = await put('PUT', `geofences/near/${circle.externalId}`, circleBody(circle))
    circles.set(geofence._id, { ...circle, id: geofence._id })
  }
  await put('POST', 'webhooks', { url: receiver.url, mode: 'multiple' })
  return circles
}

/** One request. */
async function call(url: string, method: string, path: string, body?: object): Promise<HttpAnswer> {
  const answer = await fetch(`${url}/v1/${path}`, {
    method,
    headers: { Authorization: KEYS.testSecret, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWER_MS),
  })
  return { status: answer.status, body: await answer.json(), headers: answer.headers }
}

function namesOf(members: readonly Member[]): string {
  return members.map(({ options }) => options.name).join(', ')
}
