/**
 * A fleet of devices against a real server that is killed again and again on one data folder.
 *
 * Each round: load from many connections, geofence edits, an end at a drawn moment, a start (perhaps killed too), and
 * then the comparison of what the server says with what its clients had seen. What is wrong is collected as sentences
 * in {@link CrashRun.faults}: the numbers of the guarantees (architecture.md, section 2) begin them.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { storeSalt, type StoreSalt } from '../../src/events/ids.ts'
import { KEYS, Server } from '../kit/server.ts'
import { circleBody, Device, drawCircles, eventText, PROJECT_DWELL, type Circle, type Sent } from './fleet.ts'
import type { Seeded } from './seeded.ts'

const DEVICES = 200
const CONNECTIONS = 32
const CIRCLES = 40
/** More than this many sentences say nothing new. */
const MAX_FAULTS = 20
/** Housekeeping looks every 5 s whether a snapshot is due; the rest is for a slow machine. */
const SNAPSHOT_WAIT_MS = 60_000
const PAGE = 1000

/** What ends a round. */
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
  /** Of load before the end; for `snapshot` after its begin, for `edit` after it was sent. */
  readonly milliseconds: number
  /** Milliseconds after the spawn of starts that are killed before the one that may live. */
  readonly startKills: readonly number[]
  /** Whether far geofences are edited all the time, which ends every safe zone. */
  readonly farEdits: boolean
  /** Edits of circles that devices walk in, each while no update is under way. */
  readonly nearEdits: number
}

interface Answer {
  readonly status: number
  /** Undefined where the connection broke before its end. */
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
  readonly body: any
}

export class CrashRun {
  readonly faults: string[] = []
  /** What the rounds have touched. */
  readonly counts = {
    updates: 0,
    lost: 0,
    lostButApplied: 0,
    resends: 0,
    events: 0,
    edits: 0,
    rotated: 0,
    trimmed: 0,
  }
  readonly server: Server
  readonly #random: Seeded
  readonly #data: string
  readonly #salt: StoreSalt
  readonly #devices: Device[]
  /** The circles as far as edits were acknowledged, by `_id`. */
  #circles = new Map<string, Circle>()
  /** Names of circles whose edit got no answer. */
  #unsure = new Set<string>()
  /** Ids of events that an answer to an update carried, and of those that a list showed. */
  readonly #answered = new Set<string>()
  readonly #listed = new Set<string>()
  /** Of the far geofences: the last version that was acknowledged. */
  readonly #farVersions = new Map<string, number>()
  #farVersion = 0
  /** Server time before which all events have been checked. */
  #checkedUntil = 0
  #running = false
  /** Connections that may not send meanwhile wait for this. */
  #pause: Promise<void> | undefined
  #idle = 0
  #alive = 0

  static async start(random: Seeded): Promise<CrashRun> {
    const data = mkdtempSync(join(tmpdir(), 'ringfence-crash-'))
    const env = { RINGFENCE_SEGMENT_BYTES: '65536', RINGFENCE_SNAPSHOT_BYTES: '65536' }
    const server = await Server.start({ data, env })
    const run = new CrashRun(server, data, random)
    await server.api('PATCH', '/v1/settings', { dwellEvents: true, dwellThreshold: PROJECT_DWELL })
    for (const circle of drawCircles(random, CIRCLES)) await run.#put({ ...circle, id: '' })
    return run
  }

  private constructor(server: Server, data: string, random: Seeded) {
    this.server = server
    this.#data = data
    this.#random = random
    this.#salt = storeSalt(JSON.parse(readFileSync(join(data, 'store.json'), 'utf8')).storeId)
    this.#devices = Array.from({ length: DEVICES }, (_, i) => new Device(`device-${i}`, random))
  }

  async dispose(): Promise<void> {
    await this.server.dispose()
    rmSync(this.#data, { recursive: true, force: true })
  }

  async round(round: Round): Promise<void> {
    const segments = this.#segments()
    await this.#load(round)
    const left = this.#segments()
    if (left.at(-1)! > segments.at(-1)!) this.counts.rotated++
    if (left[0]! > segments[0]!) this.counts.trimmed++
    for (const milliseconds of round.startKills) await this.#killedStart(milliseconds)
    await this.server.restart()
    await this.#check()
  }

  /** Everything once more, from the first event on, after each device has sent what was in flight. */
  async finish(): Promise<void> {
    this.#running = true
    await Promise.all(this.#connections(async (device, agent) => void (await this.#sendOpen(device, agent))))
    this.#running = false
    this.#checkedUntil = 0
    for (const device of this.#devices) {
      if (device.inFlight !== undefined) this.#fault(`${device.deviceId}: the resend got no answer`)
      device.checked = 0
    }
    await this.#check()
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
        // Whether the edit was made is not known yet, and so not what another update would come to.
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
    const deadline = Date.now() + SNAPSHOT_WAIT_MS
    while (readdirSync(folder).every((name) => before.has(name))) {
      if (Date.now() > deadline) return this.#fault('no snapshot was begun')
      await sleep(2)
    }
  }

  /** Starts the server and kills it without waiting for more than so many milliseconds. */
  async #killedStart(milliseconds: number): Promise<void> {
    const started = this.server.restart().catch(() => {})
    await sleep(milliseconds)
    await this.server.kill9()
    await started
  }

  /** A promise for each connection: every device's turn once, and if wanted on and on while the load runs. */
  #connections(
    turn: (device: Device, agent: Agent) => Promise<boolean | void>,
    load = false,
  ): Promise<void>[] {
    this.#alive = CONNECTIONS
    return Array.from({ length: CONNECTIONS }, async (_, number) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const own = this.#devices.filter((_device, i) => i % CONNECTIONS === number)
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

  /** Runs `work` while no update is under way. */
  async #alone(work: () => Promise<void>): Promise<void> {
    let resume = () => {}
    this.#pause = new Promise((resolve) => (resume = resolve))
    while (this.#idle < this.#alive) await sleep(1)
    try {
      if (this.#alive === 0) this.#fault('the server answered no more although nobody had ended it')
      else await work()
    } finally {
      this.#pause = undefined
      resume()
    }
  }

  /** What an earlier round left: repetitions, and the update in flight. Answers whether the connection lives. */
  async #sendOpen(device: Device, agent: Agent): Promise<boolean> {
    for (let old = device.resends.shift(); old !== undefined; old = device.resends.shift()) {
      if (!(await this.#resend(device, old, agent))) return false
    }
    return device.inFlight === undefined || this.#deliver(device, device.inFlight, agent)
  }

  async #sendNext(device: Device, agent: Agent): Promise<boolean> {
    const old = this.#random.chance(0.03) ? device.oldUpdate(this.#random) : undefined
    if (old !== undefined) return this.#resend(device, old, agent)
    return this.#deliver(device, device.next(this.#random, this.#circles), agent)
  }

  async #deliver(device: Device, sent: Sent, agent: Agent): Promise<boolean> {
    const answer = await this.#post(sent, agent)
    if (answer?.status !== 200) {
      this.counts.lost++
      return this.#broken(answer)
    }
    this.counts.updates++
    device.applied()
    // Without its body, which broke off, it still is an acknowledgement.
    if (answer.body === undefined) return false
    this.#compare(`G3 answer to ${label(sent)}: events`, answer.body.events.map(eventText), sent.events)
    for (const { _id } of answer.body.events) {
      if (this.#answered.has(_id)) this.#fault(`G2 ${label(sent)}: event ${_id} was answered before`)
      this.#answered.add(_id)
    }
    this.#compareUser(`answer to ${label(sent)}`, answer.body.user, sent)
    return true
  }

  /** An update that was applied before: acknowledged, without effect. */
  async #resend(device: Device, sent: Sent, agent: Agent): Promise<boolean> {
    const answer = await this.#post(sent, agent)
    if (answer?.status !== 200) return this.#broken(answer)
    this.counts.resends++
    if (answer.body === undefined) return false
    this.#compare(`G9 resend of ${label(sent)}: events`, answer.body.events.map(eventText), [])
    this.#compareUser(`G9 resend of ${label(sent)}`, answer.body.user, device.last!)
    return true
  }

  /** An answer that is no acknowledgement: none, or the open refusal of a server that drains. */
  #broken(answer: Answer | undefined): false {
    if (answer !== undefined && answer.status !== 503) {
      this.#fault(`an update was answered ${answer.status} ${JSON.stringify(answer.body)}`)
    }
    return false
  }

  /** Undefined where no status came back. */
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

  // Edits and readers beside the load

  /** Undefined where no answer came. */
  async #control(method: string, path: string, body?: unknown): Promise<Answer | undefined> {
    const answer = await this.server.api(method, path, body).catch(() => undefined)
    if (answer !== undefined && answer.status !== 200 && answer.status !== 503) {
      this.#fault(`${method} ${path} was answered ${answer.status} ${JSON.stringify(answer.body)}`)
    }
    return answer?.status === 200 ? answer : undefined
  }

  /** Changes, removes or makes one of the circles that devices walk in. */
  async #editNear(): Promise<void> {
    const random = this.#random
    const circle = random.pick([...this.#circles.values()])
    const kind = random.integer(0, 3)
    if (kind === 0) await this.#put({ ...circle, enabled: !circle.enabled })
    else if (kind === 1) await this.#put({ ...circle, radius: random.integer(60, 400) })
    else if (kind === 2)
      await this.#put({ ...circle, id: '', externalId: `circle-${random.integer(0, 1e9)}` })
    else if (await this.#delete(circle)) await this.#put({ ...circle, id: '' })
  }

  async #put(circle: Circle): Promise<void> {
    this.#unsure.add(circle.externalId)
    const answer = await this.#control('PUT', `/v1/geofences/near/${circle.externalId}`, circleBody(circle))
    if (answer === undefined) return
    const id: string = answer.body.geofence._id
    if (circle.id !== '' && circle.id !== id) this.#fault(`${circle.externalId} changed its _id by an edit`)
    this.#circles.set(id, { ...circle, id })
    this.#unsure.delete(circle.externalId)
    this.counts.edits++
  }

  async #delete({ externalId, id }: Circle): Promise<boolean> {
    this.#unsure.add(externalId)
    if ((await this.#control('DELETE', `/v1/geofences/near/${externalId}`)) === undefined) return false
    this.#circles.delete(id)
    this.#unsure.delete(externalId)
    return true
  }

  async #editFar(): Promise<void> {
    while (this.#running) {
      const version = ++this.#farVersion
      const name = `far-${version % 10}`
      const body = { type: 'circle', description: String(version), coordinates: [90, 45], radius: 100 }
      if ((await this.#control('PUT', `/v1/geofences/far/${name}`, body)) === undefined) return
      this.#farVersions.set(name, version)
      await sleep(20)
    }
  }

  async #listEvents(): Promise<void> {
    while (this.#running) {
      const since = new Date(Date.now() - 300).toISOString()
      const answer = await this.#control('GET', `/v1/events?limit=200&updatedAfter=${since}`)
      if (answer === undefined) return
      for (const { _id } of answer.body.events) this.#listed.add(_id)
      await sleep(50)
    }
  }

  // What must be true when nothing is under way

  async #check(): Promise<void> {
    const now = Date.now()
    await this.#checkGeofences()
    await this.#checkUsers()
    await this.#checkEvents()
    this.#checkedUntil = now
    for (const device of this.#devices) {
      const old = this.#random.chance(0.3) ? device.oldUpdate(this.#random) : undefined
      if (old !== undefined) device.resends.push(old)
    }
  }

  /** An edit that was answered is there; one that was not is there whole or not at all, and from now on known. */
  async #checkGeofences(): Promise<void> {
    const { body } = await this.server.api('GET', '/v1/geofences?limit=1000')
    const found = new Map<string, Circle>()
    for (const geofence of body.geofences) {
      const {
        _id: id,
        tag,
        externalId,
        description,
        geometryRadius: radius,
        enabled,
        dwellThreshold,
      } = geofence
      if (tag === 'far') {
        const known = this.#farVersions.get(externalId)
        if (known !== undefined && Number(description) < known) {
          this.#fault(`${externalId} is at edit ${description}, but edit ${known} was acknowledged`)
        }
      } else if (tag === 'near') {
        const [x, y] = this.#placeOf(externalId, geofence.geometryCenter.coordinates)
        found.set(id, { externalId, id, x, y, radius, dwellThreshold: dwellThreshold ?? undefined, enabled })
      }
    }
    const sure = (circles: ReadonlyMap<string, Circle>) =>
      [...circles.values()]
        .filter(({ externalId }) => !this.#unsure.has(externalId))
        .map((circle) => JSON.stringify(circle, Object.keys(circle).toSorted()))
        .toSorted()
    this.#compare('geofences', sure(found), sure(this.#circles))
    this.#circles = found
    this.#unsure.clear()
  }

  /** Metres, from the degrees that were sent. */
  #placeOf(externalId: string, coordinates: readonly number[]): [number, number] {
    for (const { x, y } of this.#circles.values()) {
      if (
        circleBody({ externalId, x, y, radius: 1, dwellThreshold: 1, enabled: true }).coordinates.join() ===
        coordinates.join()
      )
        return [x, y]
    }
    this.#fault(`${externalId} is at ${coordinates.join()}, where no circle was`)
    return [0, 0]
  }

  /** G1, and G9 for what was in flight: the state is that of the last acknowledged update or of the one after it. */
  async #checkUsers(): Promise<void> {
    const { body } = await this.server.api('GET', `/v1/users?limit=${PAGE}`)
    const users = new Map<string, unknown>()
    for (const user of body.users) {
      if (users.has(user.deviceId)) this.#fault(`${user.deviceId} has two records`)
      users.set(user.deviceId, user)
    }
    for (const device of this.#devices) {
      // oxlint-disable-next-line typescript/no-explicit-any -- an answer
      const user = users.get(device.deviceId) as any
      const { last, inFlight } = device
      if (inFlight !== undefined && user?.updatedAt === inFlight.body.updatedAt) {
        this.counts.lostButApplied++
        device.applied()
        device.resends.push(inFlight)
      }
      const expected = device.last
      if (expected === undefined) {
        if (user !== undefined) this.#fault(`${device.deviceId} is there, but was never sent`)
      } else if (user === undefined) {
        this.#fault(`G1 ${device.deviceId} is gone; acknowledged was ${last && label(last)}`)
      } else this.#compareUser('G1', user, expected)
    }
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- an answer
  #compareUser(what: string, user: any, { body, visits }: Sent): void {
    // A geofence that was disabled or deleted since is hidden at once.
    const shown = visits.map(({ id }) => id).filter((id) => this.#circles.get(id)?.enabled)
    this.#compare(
      `${what}: user ${body.deviceId}`,
      // oxlint-disable-next-line typescript/no-explicit-any -- an answer
      [user.updatedAt, ...user.location.coordinates, ...user.geofences.map((g: any) => g._id)].map(String),
      [body.updatedAt, body.longitude, body.latitude, ...shown].map(String),
    )
  }

  /** G2, G3, G5: the log has the events of all applied updates, in their order, and no others. */
  async #checkEvents(): Promise<void> {
    const isWhole = this.#checkedUntil === 0
    // oxlint-disable-next-line typescript/no-explicit-any -- records of the API
    const byDevice = new Map<string, any[]>()
    const ids = new Set<string>()
    for await (const event of this.#eventsSince(this.#checkedUntil)) {
      if (ids.has(event._id)) continue
      ids.add(event._id)
      const list = byDevice.get(event.user.deviceId)
      if (list === undefined) byDevice.set(event.user.deviceId, [event])
      else list.push(event)
    }
    if (isWhole) {
      this.counts.events = ids.size
      for (const id of this.#answered)
        if (!ids.has(id)) this.#fault(`G2 event ${id} was answered, but is gone`)
      for (const id of this.#listed) if (!ids.has(id)) this.#fault(`G5 event ${id} was listed, but is gone`)
    }
    for (const device of this.#devices) {
      const events = byDevice.get(device.deviceId) ?? []
      byDevice.delete(device.deviceId)
      events.sort((a, b) => this.#placeInLog(a._id) - this.#placeInLog(b._id))
      this.#compare(
        `G2, G3 events of ${device.deviceId} from its number ${device.checked} on`,
        events.map(eventText),
        device.events.slice(device.checked),
      )
      device.checked = device.events.length
    }
    for (const name of byDevice.keys()) this.#fault(`events of ${name}, which nobody sent`)
  }

  /** Pages back from the newest; some come twice, because events may share the millisecond at which a page ends. */
  // oxlint-disable-next-line typescript/no-explicit-any -- records of the API
  async *#eventsSince(time: number): AsyncGenerator<any> {
    let before = ''
    for (;;) {
      const since = time === 0 ? '' : `&updatedAfter=${new Date(time).toISOString()}`
      const { body } = await this.server.api('GET', `/v1/events?limit=${PAGE}${since}${before}`)
      yield* body.events
      if (!body.meta.hasMore) return
      const oldest = new Date(Date.parse(body.events.at(-1).createdAt) + 1).toISOString()
      if (before === `&createdBefore=${oldest}`) throw new Error(`more than ${PAGE} events share ${oldest}`)
      before = `&createdBefore=${oldest}`
    }
  }

  /** Rises within a partition: the commit's sequence and the index in it, read back out of the id. */
  #placeInLog(id: string): number {
    const high = (Number.parseInt(id.slice(8, 16), 16) ^ this.#salt.high) >>> 0
    const low = (Number.parseInt(id.slice(16), 16) ^ this.#salt.low) >>> 0
    const sequence = (high & 0x3fffff) * 16 + (low >>> 28)
    return sequence * 2 ** 20 + (low & 0xfffff)
  }

  #segments(): string[] {
    const names = readdirSync(join(this.#data, 'log')).filter((name) => name.endsWith('.seg'))
    return names.toSorted()
  }

  #compare(what: string, found: readonly string[], expected: readonly string[]): void {
    const length = Math.max(found.length, expected.length)
    for (let i = 0; i < length; i++) {
      if (found[i] === expected[i]) continue
      this.#fault(
        `${what}: item ${i} of ${found.length} is ${found[i]}, expected ${expected[i]} of ${expected.length}`,
      )
      return
    }
  }

  #fault(sentence: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(sentence)
  }
}

function label({ body }: Sent): string {
  return `${body.deviceId} at ${body.updatedAt}`
}
