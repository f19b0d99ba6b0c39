/**
 * A fleet of devices against a real server that is killed again and again on one data folder.
 *
 * Each round consists of load from many connections, geofence edits, an end at a random moment, a start (which may be
 * killed, too), and a comparison of the server's state with what its clients had seen (ledger.ts).
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { KEYS, Server } from '../kit/server.ts'
import {
  circleBody,
  drawCircles,
  eventText,
  PROJECT_DWELL,
  type Circle,
  type Device,
  type Sent,
} from './fleet.ts'
import { Couriers } from './couriersLeft.ts'
import { label, Ledger } from './ledger.ts'
import type { Seeded } from './seeded.ts'
import { until } from '../kit/waiting.ts'

const DEVICES = 200
const CONNECTIONS = 32
const CIRCLES = 40
/** How a round ends. */
export type End =
  /** kill -9 at any moment. */
  | 'kill'
  /** kill -9 while snapshots are being written or the log is being trimmed. */
  | 'snapshot'
  /** kill -9 while a geofence is being edited. */
  | 'edit'
  /** SIGTERM. */
  | 'drain'

export interface Round {
  readonly end: End
  /**
   * Duration of the load before the end. For `snapshot` it counts from the beginning of the snapshots, for `edit`
   * from sending the edit.
   */
  readonly milliseconds: number
  /** Starts that are killed before the one that may continue, each with the milliseconds after which it is killed. */
  readonly startKills: readonly number[]
  /** Whether distant geofences are edited all the time, which ends every safe zone. */
  readonly farEdits: boolean
  /** Number of edits of circles that devices walk in. Each is made while no update is in flight. */
  readonly nearEdits: number
}

interface Answer {
  readonly status: number
  /** Undefined if the connection broke before the end of the body. */
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
  readonly body: any
}

export class CrashRun {
  readonly server: Server
  readonly ledger: Ledger
  readonly #random: Seeded
  readonly #data: string
  #farVersion = 0
  #couriers: Couriers | undefined
  #running = false
  #editing = false
  /** Called after each edit of a circle that devices walk in. */
  #edited = () => {}
  /** Connections that must not send for now wait for this. */
  #pause: Promise<void> | undefined
  #idle = 0
  #alive = 0

  /**
   * @param startKills see {@link Round}; here for the very first start, which makes the data folder
   * @param hasCouriers whether there are also devices on trips; they do not rest between rounds
   */
  static async start(random: Seeded, startKills: readonly number[], hasCouriers = false): Promise<CrashRun> {
    const data = mkdtempSync(join(tmpdir(), 'ringfence-crash-'))
    const env = { RINGFENCE_SEGMENT_BYTES: '65536', RINGFENCE_SNAPSHOT_BYTES: '65536' }
    const server = await Server.start({ data, env })
    await server.kill9()
    for (const name of readdirSync(data)) rmSync(join(data, name), { recursive: true })
    for (const milliseconds of startKills) await killedStart(server, milliseconds)
    await server.restart()
    const run = new CrashRun(server, data, random)
    const settings = { dwellEvents: true, dwellThreshold: PROJECT_DWELL, tripUpdateSeconds: 0 }
    await server.api('PATCH', '/v1/settings', settings)
    for (const circle of drawCircles(random, CIRCLES)) await run.#put({ ...circle, id: '' })
    if (hasCouriers) {
      run.#couriers = await Couriers.start(server, (sentence) => run.ledger.fault(sentence))
      run.ledger.others = new Set(run.#couriers.deviceIds)
    }
    return run
  }

  private constructor(server: Server, data: string, random: Seeded) {
    this.server = server
    this.#data = data
    this.#random = random
    const { storeId } = JSON.parse(readFileSync(join(data, 'store.json'), 'utf8'))
    this.ledger = new Ledger(server, storeId, DEVICES, random)
  }

  async dispose(): Promise<void> {
    this.#couriers?.load.abandon()
    await this.server.dispose()
    rmSync(this.#data, { recursive: true, force: true })
  }

  async round(round: Round): Promise<void> {
    const segments = this.#segments()
    await this.#load(round)
    const left = this.#segments()
    if (left.at(-1)! > segments.at(-1)!) this.ledger.counts.rotated++
    if (left[0]! > segments[0]!) this.ledger.counts.trimmed++
    for (const milliseconds of round.startKills) await killedStart(this.server, milliseconds)
    await this.server.restart()
    await this.ledger.check()
  }

  /**
   * Load and edits for as long as `work` takes. Afterwards nothing is in flight, and the server continues to run.
   * @param edited called after each edit, while no update is in flight; also between the two edits that remove a circle
   * and make another one, because a backup may begin there
   */
  async during(work: () => Promise<void>, edited: () => void): Promise<void> {
    this.#running = true
    this.#pause = undefined
    this.#idle = 0
    const load = [
      ...this.#connections((device, agent) => this.#sendOpen(device, agent), true),
      this.#editFar(),
    ]
    this.#editing = true
    this.#edited = edited
    const edits = (async () => {
      while (this.#editing) {
        await this.#alone(() => this.#editNear())
        await sleep(20)
      }
    })()
    try {
      await work()
    } finally {
      this.#editing = false
      await edits
      this.#edited = () => {}
      this.#running = false
      await Promise.all(load)
    }
  }

  /** Sends what each device had in flight, then checks everything again from the first event on. */
  async finish(): Promise<void> {
    this.#running = true
    await Promise.all(this.#connections(async (device, agent) => void (await this.#sendOpen(device, agent))))
    this.#running = false
    for (const device of this.ledger.devices) {
      if (device.inFlight !== undefined) this.ledger.fault(`${device.deviceId}: the resend got no answer`)
    }
    await this.#couriers?.answered()
    await this.#couriers?.finish()
    this.ledger.forgetChecks()
    await this.ledger.check()
  }

  /** Updates of devices on trips that were acknowledged. */
  get courierUpdates(): number {
    return this.#couriers?.load.counts.updates ?? 0
  }

  // Load

  async #load(round: Round): Promise<void> {
    this.#running = true
    this.#pause = undefined
    this.#idle = 0
    const load = [
      ...this.#connections((device, agent) => this.#sendOpen(device, agent), true),
      this.#listEvents(),
      ...(round.farEdits ? [this.#editFar()] : []),
    ]
    try {
      for (let i = 0; i < round.nearEdits; i++) {
        await sleep(this.#random.between(0, round.milliseconds / round.nearEdits))
        await this.#alone(() => this.#editNear())
      }
      await this.#end(round)
    } finally {
      this.#running = false
      await Promise.all(load)
    }
  }

  async #end({ end, milliseconds }: Round): Promise<void> {
    const { server } = this
    if (end === 'edit') {
      await this.#alone(async () => {
        const edit = this.#editNear()
        await sleep(milliseconds)
        await server.kill9()
        await edit
        // It is not known yet whether the edit was made, so the effect of another update could not be predicted.
        this.#running = false
      })
      return
    }
    if (end === 'snapshot') await this.#snapshotBegins()
    await sleep(milliseconds)
    if (end === 'drain') await server.stop()
    else await server.kill9()
  }

  async #snapshotBegins(): Promise<void> {
    const folder = join(this.#data, 'snapshots')
    const before = new Set(readdirSync(folder))
    await until(() => readdirSync(folder).some((name) => !before.has(name)))
  }

  /** A promise for each connection. Every device sends one update, or updates without end while the load runs. */
  #connections(
    turn: (device: Device, agent: Agent) => Promise<boolean | void>,
    load = false,
  ): Promise<void>[] {
    this.#alive = CONNECTIONS
    return Array.from({ length: CONNECTIONS }, async (_, number) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const own = this.ledger.devices.filter((_device, i) => i % CONNECTIONS === number)
      try {
        for (const device of own) if ((await turn(device, agent)) === false) return
        if (!load) return
        while (this.#running) {
          if (this.#pause !== undefined) {
            this.#idle++
            await this.#pause
            this.#idle--
            continue
          }
          if (!(await this.#sendNext(this.#random.pick(own), agent))) return
        }
      } finally {
        this.#alive--
        agent.destroy()
      }
    })
  }

  /** Runs `work` while no update is in flight. */
  async #alone(work: () => Promise<void>): Promise<void> {
    let resume = () => {}
    this.#pause = new Promise((resolve) => (resume = resolve))
    while (this.#idle < this.#alive) await sleep(1)
    try {
      if (this.#alive === 0) this.ledger.fault('the server answered no more although nobody had ended it')
      else await work()
    } finally {
      this.#pause = undefined
      resume()
    }
  }

  /**
   * Sends what an earlier round left over: repetitions, and the update in flight. Returns whether the connection
   * still works.
   */
  async #sendOpen(device: Device, agent: Agent): Promise<boolean> {
    for (let old = device.resends.shift(); old !== undefined; old = device.resends.shift()) {
      if (!(await this.#resend(device, old, agent))) return false
    }
    return device.inFlight === undefined || this.#deliver(device, device.inFlight, agent)
  }

  async #sendNext(device: Device, agent: Agent): Promise<boolean> {
    const old = this.#random.chance(0.03) ? device.oldUpdate(this.#random) : undefined
    if (old !== undefined) return this.#resend(device, old, agent)
    return this.#deliver(device, device.next(this.#random, this.ledger.circles), agent)
  }

  async #deliver(device: Device, sent: Sent, agent: Agent): Promise<boolean> {
    const answer = await this.#post(sent, agent)
    if (answer?.status !== 200) {
      this.ledger.counts.lost++
      return this.#broken(answer)
    }
    this.ledger.counts.updates++
    device.applied()
    // The answer is an acknowledgement even if its body is incomplete.
    if (answer.body === undefined) return false
    this.ledger.compare(`G3 answer to ${label(sent)}: events`, answer.body.events.map(eventText), sent.events)
    for (const { _id } of answer.body.events) {
      if (this.ledger.answered.has(_id))
        this.ledger.fault(`G2 ${label(sent)}: event ${_id} was answered before`)
      this.ledger.answered.add(_id)
    }
    this.ledger.compareUser(`answer to ${label(sent)}`, answer.body.user, sent)
    return true
  }

  /** Repeats an update that was applied before. It must be acknowledged and have no effect. */
  async #resend(device: Device, sent: Sent, agent: Agent): Promise<boolean> {
    const answer = await this.#post(sent, agent)
    if (answer?.status !== 200) return this.#broken(answer)
    this.ledger.counts.resends++
    if (answer.body === undefined) return false
    this.ledger.compare(`G9 resend of ${label(sent)}: events`, answer.body.events.map(eventText), [])
    this.ledger.compareUser(`G9 resend of ${label(sent)}`, answer.body.user, device.last!)
    return true
  }

  /**
   * Checks that an answer without an acknowledgement is either missing or the explicit refusal of a server that is
   * shutting down.
   */
  #broken(answer: Answer | undefined): false {
    if (answer !== undefined && answer.status !== 503) {
      this.ledger.fault(`an update was answered ${answer.status} ${JSON.stringify(answer.body)}`)
    }
    return false
  }

  /** Undefined if no status arrived. */
  #post(sent: Sent, agent: Agent): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      const headers = { authorization: KEYS.testPublishable, 'content-type': 'application/json' }
      const call = request(`${this.server.url}/v1/track`, { method: 'POST', agent, headers }, (response) => {
        const status = response.statusCode!
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => (text += part))
        response.on('error', () => {})
        response.on('close', () => {
          resolve({ status, body: response.complete ? JSON.parse(text) : undefined })
        })
      })
      call.on('error', () => resolve(undefined))
      call.end(JSON.stringify(sent.body))
    })
  }

  // Edits and readers during the load

  /** Undefined if no answer arrived. */
  async #control(method: string, path: string, body?: unknown): Promise<Answer | undefined> {
    const answer = await this.server.api(method, path, body).catch(() => undefined)
    if (answer !== undefined && answer.status !== 200 && answer.status !== 503) {
      this.ledger.fault(`${method} ${path} was answered ${answer.status} ${JSON.stringify(answer.body)}`)
    }
    return answer?.status === 200 ? answer : undefined
  }

  /** Changes, removes or makes one of the circles that devices walk in. */
  async #editNear(): Promise<void> {
    const random = this.#random
    const circle = random.pick([...this.ledger.circles.values()])
    const kind = random.integer(0, 3)
    if (kind === 0) await this.#put({ ...circle, enabled: !circle.enabled })
    else if (kind === 1) await this.#put({ ...circle, radius: random.integer(60, 400) })
    else if (kind === 2)
      await this.#put({ ...circle, id: '', externalId: `circle-${random.integer(0, 1e9)}` })
    else if (await this.#delete(circle)) await this.#put({ ...circle, id: '' })
  }

  async #put(circle: Circle): Promise<void> {
    this.ledger.unsure.add(circle.externalId)
    this.ledger.places.set(circleBody(circle).coordinates.join(), [circle.x, circle.y])
    const answer = await this.#control('PUT', `/v1/geofences/near/${circle.externalId}`, circleBody(circle))
    if (answer === undefined) return
    const id: string = answer.body.geofence._id
    if (circle.id !== '' && circle.id !== id)
      this.ledger.fault(`${circle.externalId} changed its _id by an edit`)
    this.ledger.circles.set(id, { ...circle, id })
    this.ledger.unsure.delete(circle.externalId)
    this.ledger.counts.edits++
    this.#edited()
  }

  async #delete({ externalId, id }: Circle): Promise<boolean> {
    this.ledger.unsure.add(externalId)
    if ((await this.#control('DELETE', `/v1/geofences/near/${externalId}`)) === undefined) return false
    this.ledger.circles.delete(id)
    this.ledger.unsure.delete(externalId)
    this.#edited()
    return true
  }

  async #editFar(): Promise<void> {
    while (this.#running) {
      const version = ++this.#farVersion
      const name = `far-${version % 10}`
      const body = { type: 'circle', description: String(version), coordinates: [90, 45], radius: 100 }
      if ((await this.#control('PUT', `/v1/geofences/far/${name}`, body)) === undefined) return
      this.ledger.farVersions.set(name, version)
      await sleep(20)
    }
  }

  async #listEvents(): Promise<void> {
    while (this.#running) {
      const since = new Date(Date.now() - 300).toISOString()
      const answer = await this.#control('GET', `/v1/events?limit=200&updatedAfter=${since}`)
      if (answer === undefined) return
      for (const { _id } of answer.body.events) this.ledger.listed.add(_id)
      await sleep(50)
    }
  }

  #segments(): string[] {
    const names = readdirSync(join(this.#data, 'log')).filter((name) => name.endsWith('.seg'))
    return names.toSorted()
  }
}

/** Starts the server and kills it after at most this many milliseconds. */
async function killedStart(server: Server, milliseconds: number): Promise<void> {
  const started = server.restart().catch(() => {})
  await sleep(milliseconds)
  await server.kill9()
  await started
}
