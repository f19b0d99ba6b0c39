/**
 * The server that is fuzzed, and what must always be true of it.
 *
 * There are four scopes: project 1, test and live, whose keys the fuzzer uses; project 2, whose test environment
 * serves a canary all the time and whose live environment nobody uses. Every text that a scope stores may contain the
 * scope's mark.
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
import { KEYS, Server } from '../kit/server.ts'
import type { Target } from './exchange.ts'

/** A scope's name in the marks: project and environment. */
export type ScopeName = 'one-test' | 'one-live' | 'two-test' | 'two-live'

/** The words that only callers of a scope may see. */
export const MARKS: Readonly<Record<ScopeName, string>> = {
  'one-test': 'mark0d3f',
  'one-live': 'mark1b7a',
  'two-test': 'mark2c51',
  'two-live': 'mark3e98',
}

const SECOND = {
  testPublishable: `prj_test_pk_${'5'.repeat(40)}`,
  livePublishable: `prj_live_pk_${'6'.repeat(40)}`,
  testSecret: `prj_test_sk_${'7'.repeat(40)}`,
  liveSecret: `prj_live_sk_${'8'.repeat(40)}`,
}

const MIB = 1024 * 1024
/** The memory limit of a server that has been fuzzed for an hour. A fresh server uses a tenth of it. */
const MAX_RESIDENT_BYTES = 1024 * MIB
const CANARY_PAUSE_MS = 100
/** A client that has waited this long hangs. The limit is high because a dozen busy processes may share two cores. */
export const GIVE_UP_MS = 60_000
/** How many ids per kind and scope are kept to be used again. */
const REMEMBERED_IDS = 40
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
  readonly #ids: KnownIds
  readonly #folder: string
  readonly #untouched: string
  #stopping = false
  #canary: Promise<void> = Promise.resolve()

  private constructor(server: Server, api: Api, folder: string, ids: KnownIds, untouched: string) {
    this.server = server
    this.api = api
    this.#folder = folder
    this.#ids = ids
    this.#untouched = untouched
  }

  /** Starts a server with two projects and data of every kind that a request could name. */
  static async create(env: Readonly<Record<string, string>> = {}): Promise<World> {
    const folder = mkdtempSync(join(tmpdir(), 'ringfence-fuzz-'))
    try {
      const firstKeys = parseKeys(Object.values(KEYS).join(','))
      const registry = openRegistry({ folder, clock, createIndex: createGeofenceIndex, firstKeys })
      registry.keys.createProject('second', SECOND)
      registry.close()
      const server = await Server.start({ data: folder, env })
      const api = new Api(server)
      const ids = new KnownIds()
      await populate(api, ids)
      const world = new World(server, api, folder, ids, await untouchedState(api))
      world.#canary = world.#runCanary()
      return world
    } catch (error) {
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  get port(): number {
    return this.server.port
  }

  remember(body: Json, scope: ScopeName | undefined): void {
    if (scope !== undefined) this.#ids.collect(body, scope)
  }

  id(kind: string, draw: number, scope: ScopeName | undefined): string {
    return this.#ids.pick(kind, draw, scope)
  }

  /**
   * Checks what must be true between two rounds, when there are no requests.
   * @param connections the maximum number; absent: any number
   * @throws Violation
   */
  async examine(connections = Infinity): Promise<void> {
    if (this.canaryError !== undefined) throw this.canaryError
    for (let i = 0; ; i++) {
      const metrics = await this.#metrics()
      // Counts this request and perhaps the canary's.
      const rest =
        metrics.http_connections! <= connections &&
        metrics.http_in_flight! <= 2 &&
        metrics.http_held_bytes === 0 &&
        metrics.mailbox_bytes === 0
      this.residentBytes = metrics.resident_memory_bytes!
      if (rest) break
      if (i > 400) throw new Violation(`the server does not come to rest: ${JSON.stringify(metrics)}`)
      await sleep(50)
    }
    if (this.residentBytes > MAX_RESIDENT_BYTES)
      throw new Violation(`the server takes ${Math.round(this.residentBytes / MIB)} MiB`)
    const untouched = await untouchedState(this.api)
    if (untouched !== this.#untouched)
      throw new Violation(`the scope that nobody touches was\n${this.#untouched}\nand is\n${untouched}`)
    const complaint = /^.*(?:request failed|"level":"(?:error|fatal)").*$/m.exec(this.server.output)
    if (complaint !== null) throw new Violation(`the server wrote ${complaint[0]}`)
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
    await this.server.dispose()
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

/** The key of a caller of project 1, and its scope. */
export function keyOf(kind: 'publishable' | 'secret', live: boolean): { key: string; scope: ScopeName } {
  const key =
    kind === 'secret'
      ? live
        ? KEYS.liveSecret
        : KEYS.testSecret
      : live
        ? KEYS.livePublishable
        : KEYS.testPublishable
  return { key, scope: live ? 'one-live' : 'one-test' }
}

/**
 * @param scope of the caller; undefined for a caller without a valid key
 * @throws Violation if the text contains the mark of another scope
 */
export function checkMarks(text: string, scope: ScopeName | undefined): void {
  for (const [owner, mark] of Object.entries(MARKS))
    if (owner !== scope && text.includes(mark))
      throw new Violation(`the answer to a caller of ${scope ?? 'nothing'} carries the mark of ${owner}`)
}

/** Creates the same pairs, devices and users in all scopes, and the canary's geofence only in its own. */
async function populate(api: Api, ids: KnownIds): Promise<void> {
  const secrets = [KEYS.testSecret, KEYS.liveSecret, SECOND.testSecret, SECOND.liveSecret]
  const marks = Object.entries(MARKS) as [ScopeName, string][]
  for (const [i, key] of secrets.entries()) {
    const [scope, mark] = marks[i]!
    const more = { description: mark, metadata: { mark } }
    for (let n = 0; n < 6; n++) {
      const pair = `${n < 3 ? 'shop' : mark}/x-${n}`
      const at = [10 + n * 0.003, 50 + (key === SECOND.testSecret ? 1 : 0)] as const
      ids.collect({ geofence: await api.circle(pair, at, 200, more, key) }, scope)
    }
    for (let n = 0; n < 4; n++) {
      const update = {
        ...more,
        deviceId: `device-${n}`,
        userId: `user-${n}`,
        latitude: 50,
        longitude: 10,
        accuracy: 5,
      }
      ids.collect(await api.track(update, key), scope)
    }
  }
  await api.circle('canary/canary', [10, 50], 300, {}, SECOND.testSecret)
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

/** Ids from answers, by kind and scope. The oldest are dropped. */
class KnownIds {
  readonly #lists = new Map<string, string[]>()

  /** @param body an answer; `user` and `users` contain users, and so on */
  collect(body: Json, scope: ScopeName, kind = '', depth = 0): void {
    if (typeof body !== 'object' || body === null || depth > 3) return
    if (Array.isArray(body)) {
      for (const item of body.slice(0, 5)) this.collect(item, scope, kind, depth + 1)
      return
    }
    if (typeof body._id === 'string') this.#add(kind, scope, body._id)
    for (const [key, member] of Object.entries(body))
      this.collect(member, scope, key.replace(/s$/, ''), depth + 1)
  }

  pick(kind: string, draw: number, scope: ScopeName | undefined): string {
    const any = [...this.#lists.entries()]
      .filter(([key]) => key.startsWith(`${kind} `))
      .flatMap(([, ids]) => ids)
    const own = this.#lists.get(`${kind} ${scope}`) ?? any
    const ids = draw % 5 === 0 ? any : own
    return ids[Math.floor(draw / 5) % ids.length] ?? 'none'
  }

  #add(kind: string, scope: ScopeName, id: string): void {
    const key = `${kind} ${scope}`
    const ids = this.#lists.get(key) ?? []
    this.#lists.set(key, ids)
    if (ids.includes(id)) return
    ids.push(id)
    if (ids.length > REMEMBERED_IDS) ids.shift()
  }
}
