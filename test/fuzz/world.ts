/**
 * The server that is fuzzed, and what must always be true of it.
 *
 * There are six scopes: project 1, test and live, whose keys the fuzzer uses; project 2, whose test environment
 * serves a canary all the time and whose live environment nobody uses; and project 3, whose keys are replaced all the
 * time. Every text that a scope stores may contain the scope's mark. Project 1 has people, too.
 *
 * 1. No answer contains the mark of a scope other than its caller's (G8).
 * 2. The unused scope never changes, although every request may name its ids, pairs and devices (G8).
 * 3. The canary is an ordinary client. Its answers match exactly what its device did, whatever else happens.
 * 4. Without requests, nothing is in flight, held or waiting, and memory is bounded.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseKeys } from '../../src/registry/projects/keys.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { systemClock as clock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { Api, type Json } from '../e2e/contract.ts'
import { freePort } from '../kit/freePort.ts'
import { KEYS, Server } from '../kit/server.ts'
import { progress } from '../kit/waiting.ts'
import { makeWorld, shareWorld } from '../kit/world.ts'
import { PASSWORD } from './aims.ts'
import { collectGarbage, inspectedAt } from '../kit/collectGarbage.ts'
import type { Target } from './exchange.ts'
import { Known, type ScopeName } from './known.ts'
import { furnish, populate, type ScopeKey } from './populate.ts'
import { RunningImports, WebServer } from './surroundings.ts'

/** The words that only callers of a scope may see. */
export const MARKS: Readonly<Record<ScopeName, string>> = {
  'one-test': 'mark0d3f',
  'one-live': 'mark1b7a',
  'two-test': 'mark2c51',
  'two-live': 'mark3e98',
  'three-test': 'mark4a06',
  'three-live': 'mark5d2c',
}

const SECOND = {
  testPublishable: `prj_test_pk_${'5'.repeat(40)}`,
  livePublishable: `prj_live_pk_${'6'.repeat(40)}`,
  testSecret: `prj_test_sk_${'7'.repeat(40)}`,
  liveSecret: `prj_live_sk_${'8'.repeat(40)}`,
}

const THIRD = {
  testPublishable: `prj_test_pk_${'9'.repeat(40)}`,
  livePublishable: `prj_live_pk_${'a'.repeat(40)}`,
  testSecret: `prj_test_sk_${'b'.repeat(40)}`,
  liveSecret: `prj_live_sk_${'c'.repeat(40)}`,
}

/** The secret keys of all scopes, with their marks. */
const scopes: readonly ScopeKey[] = [
  { scope: 'one-test', mark: MARKS['one-test'], secret: KEYS.testSecret },
  { scope: 'one-live', mark: MARKS['one-live'], secret: KEYS.liveSecret },
  { scope: 'two-test', mark: MARKS['two-test'], secret: SECOND.testSecret },
  { scope: 'two-live', mark: MARKS['two-live'], secret: SECOND.liveSecret },
  { scope: 'three-test', mark: MARKS['three-test'], secret: THIRD.testSecret },
  { scope: 'three-live', mark: MARKS['three-live'], secret: THIRD.liveSecret },
]

/** The server may fetch from this machine and send to it, and who signs in does so in a network of their own. */
const ENVIRONMENT = {
  RINGFENCE_TRUSTED_PROXIES: '127.0.0.1',
  RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.1',
  RINGFENCE_SYNC_PRIVATE_ADDRESSES: '127.0.0.1',
}
/** The admin whose session requests use. */
const KEEPER = 'keeper@example.com'

const MIB = 1024 * 1024
/**
 * The memory limit of a server that has been fuzzed for an hour. A fresh one with the data of IP addresses and its
 * threads uses half of it. Garbage does not count: V8 keeps as much of it as the machine has room for.
 */
const MAX_RESIDENT_BYTES = 1024 * MIB
const CANARY_PAUSE_MS = 100
/** A client that has waited this long hangs. The limit is high because a dozen busy processes may share two cores. */
export const GIVE_UP_MS = 60_000
/** Looks at a server that does not come to rest, without any change for the better. */
const MOST_LOOKS = 400
/** Batches of requests between two times that one of each kind is made. */
const FURNISH_EVERY = 5
const UNTOUCHED_LISTS = [
  '/v1/geofences',
  '/v1/users',
  '/v1/events',
  '/v1/beacons',
  '/v1/webhooks',
  '/v1/hooks',
  '/v1/settings',
]

/** Something happened that must never happen. */
export class Violation extends Error {
  override name = 'Violation'
}

export class World implements Target {
  readonly server: Server
  readonly api: Api
  canaryError: Error | undefined
  canaryAnswers = 0
  canarySlowestMs = 0
  residentBytes = 0
  readonly #known: Known
  readonly #folder: string
  readonly #untouched: string
  readonly #web: WebServer
  readonly #inspector: number
  readonly #imports: RunningImports
  #keeper = 'none'
  #tended = 0
  #stopping = false
  #canary: Promise<void> = Promise.resolve()

  private constructor(
    api: Api,
    folder: string,
    known: Known,
    untouched: string,
    web: WebServer,
    inspector: number,
  ) {
    this.server = api.server
    this.api = api
    this.#folder = folder
    this.#known = known
    this.#untouched = untouched
    this.#web = web
    this.#inspector = inspector
    this.#imports = new RunningImports(api, known)
  }

  /** Starts a server with three projects, people, the sample region, and data of every kind that a request could name. */
  static async create(env: Readonly<Record<string, string>> = {}): Promise<World> {
    const folder = mkdtempSync(join(tmpdir(), 'ringfence-fuzz-'))
    const web = await WebServer.start()
    let server: Server | undefined
    try {
      const invitation = await prepare(folder)
      const inspector = await freePort()
      server = await Server.start({
        data: folder,
        env: { ...ENVIRONMENT, ...inspectedAt(inspector), ...env },
        sample: true,
      })
      const api = new Api(server)
      const known = new Known()
      known.add('thirdkey', 'three-test', THIRD.testSecret)
      known.add('thirdkey', 'three-live', THIRD.liveSecret)
      await populate(api, scopes, known)
      await api.circle('canary/canary', [10, 50], 300, {}, SECOND.testSecret)
      const world = new World(api, folder, known, await untouchedState(api), web, inspector)
      await world.#enter(`/v1/invitations/${invitation}`, { password: PASSWORD })
      for (const live of [false, true]) await furnish(world, live)
      world.#canary = world.#runCanary()
      return world
    } catch (error) {
      await server?.dispose()
      web.close()
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  get port(): number {
    return this.server.port
  }

  remember(body: Json, headers: Headers, scope: ScopeName | undefined): void {
    this.#known.learn(body, headers, scope)
  }

  id(kind: string, draw: number, scope: ScopeName | undefined): string {
    switch (kind) {
      case 'keeper':
        return this.#keeper
      case 'source':
        return this.#web.url(draw)
      case 'secretkey':
        return draw % 2 === 0 ? KEYS.testSecret : KEYS.liveSecret
      default:
        return this.#known.pick(kind, draw, scope)
    }
  }

  /** Between two batches: makes again what requests may have ended and others need. */
  async replenish(): Promise<void> {
    await this.#imports.replenish()
    if (++this.#tended % FURNISH_EVERY === 0)
      for (const live of [false, true]) await furnish(this, live, this.#tended)
    const { status } = await this.api.call('GET', '/v1/sessions/current', undefined, null, this.cookie)
    if (status === 401) await this.#enter('/v1/sessions', { email: KEEPER, password: PASSWORD })
  }

  /** The headers of the admin's requests. */
  get cookie(): Record<string, string> {
    return {
      cookie: `ringfence_session=${this.#keeper}`,
      'x-ringfence-environment': 'test',
      origin: this.server.url,
    }
  }

  /** Signs the admin in whose session the requests use. No request names that account or session. */
  async #enter(path: string, how: Json): Promise<void> {
    const { status, body, headers } = await this.api.call('POST', path, how, null)
    const token = /^ringfence_session=([^;]+)/.exec(headers.get('set-cookie') ?? '')?.[1]
    if (token === undefined) throw new Violation(`POST ${path} → ${status} ${JSON.stringify(body)}`)
    this.#keeper = token
    this.#known.hide(body.account._id)
    this.#known.hide(body.session._id)
  }

  /**
   * Checks what must be true between two rounds, when there are no requests.
   * @param connections the maximum number; absent: any number
   * @throws Violation
   */
  async examine(connections = Infinity): Promise<void> {
    if (this.canaryError !== undefined) throw this.canaryError
    this.#imports.close()
    await collectGarbage(this.#inspector)
    await this.#rested(connections)
    if (this.residentBytes > MAX_RESIDENT_BYTES)
      throw new Violation(`the server takes ${Math.round(this.residentBytes / MIB)} MiB`)
    const untouched = await untouchedState(this.api)
    if (untouched !== this.#untouched)
      throw new Violation(`the scope that nobody touches was\n${this.#untouched}\nand is\n${untouched}`)
    const complaint = /^.*(?:request failed|"level":"(?:error|fatal)").*$/m.exec(this.server.output)
    if (complaint !== null) throw new Violation(`the server wrote ${complaint[0]}`)
  }

  /**
   * Waits until nothing is in flight, held or waiting: as long as there is less and less of it, because a starved machine takes
   * long.
   */
  async #rested(connections: number): Promise<void> {
    let least = Infinity
    for (let looks = 0; ; looks++) {
      const metrics = await this.#metrics()
      this.residentBytes = metrics.resident_memory_bytes!
      const left =
        Math.max(0, connections === Infinity ? 0 : metrics.http_connections! - connections) +
        // Counts this request and perhaps the canary's.
        Math.max(0, metrics.http_in_flight! - 2) +
        metrics.http_held_bytes! +
        metrics.mailbox_bytes!
      if (left === 0) return
      if (left < least) {
        least = left
        looks = 0
        progress()
      }
      if (looks > MOST_LOOKS)
        throw new Violation(`the server does not come to rest: ${JSON.stringify(metrics)}`)
      await sleep(50)
    }
  }

  /** Kills the process, starts it on the stored data, and lets the canary continue. */
  async restart(): Promise<void> {
    await this.#stopCanary()
    await this.server.kill9()
    await this.server.restart()
    this.#stopping = false
    this.#canary = this.#runCanary()
    await sleep(3 * CANARY_PAUSE_MS)
    await this.examine()
  }

  async dispose(): Promise<void> {
    await this.#stopCanary()
    this.#imports.close()
    await this.server.dispose()
    this.#web.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #stopCanary(): Promise<void> {
    this.#stopping = true
    await this.#canary
  }

  /** Walks into and out of a geofence. Each answer must report exactly that. */
  async #runCanary(): Promise<void> {
    try {
      // After a restart the stored position of the device is unknown. This first step puts it outside.
      await this.#step(50.1)
      for (let inside = true; !this.#stopping; inside = !inside) {
        const began = performance.now()
        const { events, user } = await this.#step(inside ? 50 : 50.1)
        const told = events.map((event: Json) => `${event.type} ${event.geofence.externalId}`).join()
        const due = `user.${inside ? 'entered' : 'exited'}_geofence canary`
        if (told !== due) throw new Violation(`the canary was told ${told}, not ${due}`)
        if (user.geofences.length !== (inside ? 1 : 0))
          throw new Violation(`the canary is in ${JSON.stringify(user)}`)
        this.canaryAnswers++
        this.canarySlowestMs = Math.max(this.canarySlowestMs, performance.now() - began)
        await sleep(CANARY_PAUSE_MS)
      }
    } catch (error) {
      this.canaryError = new Violation(`the canary: ${(error as Error).message}`, { cause: error })
    }
  }

  async #step(latitude: number): Promise<Json> {
    const update = { deviceId: 'canary', latitude, longitude: 10, accuracy: 5 }
    const late = sleep(GIVE_UP_MS, undefined, { ref: false }).then(() => {
      throw new Violation(`no answer within ${GIVE_UP_MS} ms`)
    })
    return Promise.race([this.api.track(update, SECOND.testPublishable), late])
  }

  async #metrics(): Promise<Record<string, number>> {
    const { body } = await this.server.api('GET', '/metrics', undefined, null)
    const lines = (body as string).matchAll(/^ringfence_(\w+) (\S+)$/gm)
    return Object.fromEntries([...lines].map(([, name, value]) => [name, Number(value)]))
  }
}

/**
 * @param scope of the caller; undefined for a caller without a valid key
 * @param isOfProject whether the text may show both environments of the caller's project
 * @throws Violation if the text contains the mark of another scope
 */
export function checkMarks(text: string, scope: ScopeName | undefined, isOfProject = false): void {
  const project = isOfProject ? scope?.split('-')[0] : undefined
  for (const [owner, mark] of Object.entries(MARKS))
    if (owner !== scope && owner.split('-')[0] !== project && text.includes(mark))
      throw new Violation(`the answer to a caller of ${scope ?? 'nothing'} carries the mark of ${owner}`)
}

/** Fills a data folder before its first start. @returns the token of the invitation of the admin */
async function prepare(folder: string): Promise<string> {
  await makeWorld()
  shareWorld(folder)
  const firstKeys = parseKeys(Object.values(KEYS).join(','))
  const registry = openRegistry({ folder, clock, createIndex: createGeofenceIndex, firstKeys })
  try {
    registry.keys.createProject('second', SECOND)
    registry.keys.createProject('third', THIRD)
    const { edits, accounts } = registry.people
    return (await edits.edit(() => accounts.create(1, KEEPER, 'Keeper', 'admin'))).token
  } finally {
    registry.close()
  }
}

/** Everything that the lists show of the unused scope. Lists that the server does not have are left out. */
async function untouchedState(api: Api): Promise<string> {
  const parts: string[] = []
  for (const path of UNTOUCHED_LISTS) {
    if (api.operationOf('GET', path) === undefined) continue
    const { status, body } = await api.call('GET', path, undefined, SECOND.liveSecret)
    if (status !== 200) throw new Violation(`GET ${path} of the untouched scope → ${status}`)
    parts.push(JSON.stringify(body))
  }
  return parts.join('\n')
}
