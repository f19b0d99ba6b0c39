/**
 * The traffic of the soak besides its updates: queries of apps and dashboards, changes by operators, and invalid
 * requests. An open loop: requests are due at a constant rate, whatever the server does.
 */
import { Agent, request } from 'node:http'
import { cityPosition as placeOf, seededRandom, type City } from '../src/simulation/streets.ts'
import { BENCH_KEYS } from './load/servers.ts'

/** One request of the mix. */
interface MixedRequest {
  readonly method: string
  readonly path: string
  readonly key: string
  readonly body?: unknown
  /** Statuses that count as a correct answer. */
  readonly good: readonly number[]
}

export interface MixedResult {
  /** Answers by kind. */
  readonly answered: Readonly<Record<string, number>>
  /** The first few that were wrong or missing. */
  readonly wrong: readonly string[]
  /** Requests that were due while too many were waiting, because the server or this process was too slow. */
  readonly skipped: number
  readonly latencyMs: { readonly p50: number; readonly p99: number }
}

const TICK_MS = 20
const MAX_WAITING = 200
const MAX_TOLD = 10
const TIMEOUT_MS = 30_000
/** Size of each pool: enough that most requests find something, and few enough that the state does not grow forever. */
const DEVICES = 2000
const GEOFENCES = 500

const { testPublishable, testSecret } = BENCH_KEYS

/** Kinds of requests with their shares. */
const KINDS = {
  replay: 10,
  context: 20,
  searchGeofences: 15,
  searchUsers: 4,
  putGeofence: 8,
  deleteGeofence: 4,
  users: 3,
  userById: 10,
  events: 6,
  deleteUser: 4,
  conversion: 6,
  badRequest: 10,
} as const

type Kind = keyof typeof KINDS

export class MixedTraffic {
  readonly #port: number
  readonly #city: City
  readonly #random: () => number
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32, timeout: TIMEOUT_MS })
  readonly #kinds: readonly Kind[]
  #timer: NodeJS.Timeout | undefined
  #waiting = 0
  #answered: Record<string, number> = {}
  #wrong: string[] = []
  #skipped = 0
  #latencies: number[] = []

  constructor(port: number, city: City, seed: number) {
    this.#port = port
    this.#city = city
    this.#random = seededRandom(seed)
    this.#kinds = Object.entries(KINDS).flatMap(([kind, share]) =>
      Array.from({ length: share }, () => kind as Kind),
    )
  }

  start(perSecond: number): void {
    const began = performance.now()
    let sent = 0
    this.#timer = setInterval(() => {
      const due = ((performance.now() - began) / 1000) * perSecond
      for (; sent < due; sent++) {
        if (this.#waiting >= MAX_WAITING) this.#skipped++
        else this.#send()
      }
    }, TICK_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    while (this.#waiting > 0) await new Promise((resolve) => setTimeout(resolve, TICK_MS))
    this.#agent.destroy()
  }

  /** The results since the last call. */
  take(): MixedResult {
    const sorted = this.#latencies.toSorted((a, b) => a - b)
    const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0
    const result = {
      answered: this.#answered,
      wrong: this.#wrong,
      skipped: this.#skipped,
      latencyMs: { p50: at(0.5), p99: at(0.99) },
    }
    this.#answered = {}
    this.#wrong = []
    this.#skipped = 0
    this.#latencies = []
    return result
  }

  #send(): void {
    const kind = this.#kinds[Math.floor(this.#random() * this.#kinds.length)]!
    const drawn = this.#draw(kind)
    const began = performance.now()
    this.#waiting++
    let isOver = false
    const over = (problem: string | undefined) => {
      if (isOver) return
      isOver = true
      this.#waiting--
      this.#latencies.push(performance.now() - began)
      this.#answered[kind] = (this.#answered[kind] ?? 0) + 1
      if (problem !== undefined && this.#wrong.length < MAX_TOLD)
        this.#wrong.push(`${drawn.method} ${drawn.path}: ${problem}`)
    }
    this.#request(drawn, over)
  }

  #request(drawn: MixedRequest, over: (problem: string | undefined) => void): void {
    const { method, path, key, body, good } = drawn
    const headers = { authorization: key, 'content-type': 'application/json' }
    const out = request(
      { host: '127.0.0.1', port: this.#port, agent: this.#agent, method, path, headers },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (piece: string) => {
          if (text.length < 500) text += piece
        })
        answer.on('end', () =>
          over(good.includes(answer.statusCode!) ? undefined : `${answer.statusCode} ${text}`),
        )
        answer.on('error', (error) => over(error.message))
      },
    )
    out.on('timeout', () => out.destroy(new Error('no answer')))
    out.on('error', (error: NodeJS.ErrnoException) => {
      // The server closes idle connections, possibly while a request is on its way, and clients send it again.
      if (out.reusedSocket && error.code === 'ECONNRESET') this.#request(drawn, over)
      else over(error.message)
    })
    out.end(body === undefined ? undefined : JSON.stringify(body))
  }

  #draw(kind: Kind): MixedRequest {
    const device = `soak-${this.#below(DEVICES)}`
    const publishable = { key: testPublishable, good: [200] }
    const secret = { key: testSecret, good: [200] }
    const geofence = `/v1/geofences/soak/${this.#below(GEOFENCES)}`
    switch (kind) {
      case 'replay': {
        const began = Date.now() - 60_000
        const replays = Array.from({ length: 10 }, (_, i) => ({
          ...this.#update(device),
          replayed: true,
          updatedAtMs: began + i * 5000,
        }))
        return { method: 'POST', path: '/v1/track/replay', body: { replays }, ...publishable }
      }
      case 'context':
        return { method: 'GET', path: `/v1/context?coordinates=${this.#near()}`, ...publishable }
      case 'searchGeofences':
        return {
          method: 'GET',
          path: `/v1/search/geofences?near=${this.#near()}&radius=1000&limit=20`,
          ...publishable,
        }
      case 'searchUsers':
        return { method: 'GET', path: `/v1/search/users?near=${this.#near()}&radius=500&limit=10`, ...secret }
      case 'putGeofence':
        return { method: 'PUT', path: geofence, body: this.#geofence(), ...secret }
      case 'deleteGeofence':
        return { method: 'DELETE', path: geofence, ...secret, good: [200, 404] }
      case 'users':
        return { method: 'GET', path: '/v1/users?limit=50', ...secret }
      case 'userById':
        return { method: 'GET', path: `/v1/users/${device}`, ...secret, good: [200, 404] }
      case 'events':
        return { method: 'GET', path: `/v1/events?limit=100&deviceId=${device}`, ...secret }
      case 'deleteUser':
        return { method: 'DELETE', path: `/v1/users/${device}`, ...secret, good: [200, 404] }
      case 'conversion':
        return {
          method: 'POST',
          path: '/v1/events',
          body: { name: 'bought', deviceId: device, metadata: { price: this.#below(100) } },
          ...publishable,
          good: [200, 404],
        }
      case 'badRequest':
        return this.#bad(device)
    }
  }

  #bad(device: string): MixedRequest {
    const bad = { key: testPublishable, good: [400, 401, 403, 404, 405] }
    const update = this.#update(device)
    switch (this.#below(6)) {
      case 0:
        return { method: 'POST', path: '/v1/track', body: { ...update, latitude: 91 }, ...bad }
      case 1:
        return { method: 'POST', path: '/v1/track', body: { ...update, metadata: { a: {} } }, ...bad }
      case 2:
        return {
          method: 'POST',
          path: '/v1/track',
          body: update,
          ...bad,
          key: `prj_test_pk_${'f'.repeat(40)}`,
        }
      case 3:
        return { method: 'GET', path: '/v1/users', ...bad }
      case 4:
        return { method: 'GET', path: `/v1/nothing/${this.#below(1e6)}`, ...bad }
      default:
        return { method: 'DELETE', path: '/v1/track', ...bad }
    }
  }

  #update(deviceId: string) {
    return { deviceId, ...this.#place(), accuracy: 5 + this.#below(30), foreground: true }
  }

  #geofence() {
    const { latitude, longitude } = this.#place()
    return {
      description: 'Soak',
      type: 'circle',
      coordinates: [longitude, latitude],
      radius: 50 + this.#below(300),
    }
  }

  #near(): string {
    const { latitude, longitude } = this.#place()
    return `${latitude.toFixed(6)},${longitude.toFixed(6)}`
  }

  #place() {
    const { sizeMeters } = this.#city
    return placeOf(this.#city, this.#random() * sizeMeters, this.#random() * sizeMeters)
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }
}
