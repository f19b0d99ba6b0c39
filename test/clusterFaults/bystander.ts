import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpAnswer } from '../kit/server.ts'

const PAUSE_MS = 100
const GEOFENCES = 10

/** Sends a request to a gateway. */
export type Call = (method: string, path: string, body?: object) => Promise<HttpAnswer>

/**
 * Edits geofences that no device visits, and asks about devices, at one gateway after another. Each request must be
 * answered with 200 or explicitly refused. Every gateway must have each acknowledged edit (G10: and owners evaluate
 * by it).
 */
export class Bystander {
  /** By externalId: the last acknowledged version. */
  readonly #versions = new Map<string, number>()
  readonly #gateways: readonly Call[]
  readonly #fault: (sentence: string) => void
  readonly #stopped = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(gateways: readonly Call[], fault: (sentence: string) => void) {
    this.#gateways = gateways
    this.#fault = fault
  }

  /** @param deviceIds existing devices to ask about */
  start(deviceIds: readonly string[]): void {
    this.#running = this.#run(deviceIds)
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  /**
   * Checks that every gateway has the edits. A gateway that does not have them yet is asked again for up to
   * `giveUpMs`.
   */
  async compare(giveUpMs: number): Promise<void> {
    const until = performance.now() + giveUpMs
    for (const [i, call] of this.#gateways.entries()) {
      let behind = await this.#behind(call)
      for (; behind !== undefined && performance.now() < until; behind = await this.#behind(call))
        await sleep(PAUSE_MS)
      if (behind !== undefined) this.#fault(`G1 gateway ${i + 1}: ${behind}`)
    }
  }

  async #run(deviceIds: readonly string[]): Promise<void> {
    for (let n = 0; !this.#stopped.signal.aborted; n++) {
      const call = this.#gateways[n % this.#gateways.length]!
      const externalId = `far-${n % GEOFENCES}`
      const circle = { type: 'circle', description: String(n), coordinates: [90, 45], radius: 100 }
      if (await this.#isDone(call, 'PUT', `geofences/far/${externalId}`, circle))
        this.#versions.set(externalId, n)
      await this.#isDone(call, 'GET', `users/${deviceIds[n % deviceIds.length]}`)
      await sleep(PAUSE_MS)
    }
  }

  async #isDone(call: Call, method: string, path: string, body?: object): Promise<boolean> {
    let answer: HttpAnswer
    try {
      answer = await call(method, path, body)
    } catch (error) {
      if ((error as Error).name === 'TimeoutError') this.#fault(`G7 ${method} ${path} was not answered`)
      return false
    }
    if (answer.status !== 200 && answer.status !== 503)
      this.#fault(`${method} ${path} was answered ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.status === 200
  }

  async #behind(call: Call): Promise<string | undefined> {
    const { body } = await call('GET', 'geofences?tag=far&limit=1000')
    const found = new Map<string, number>()
    for (const { externalId, description } of body.geofences) found.set(externalId, Number(description))
    for (const [externalId, version] of this.#versions) {
      const has = found.get(externalId)
      if (has === undefined || has < version)
        return `${externalId} is at edit ${has}, but edit ${version} was acknowledged`
    }
    return undefined
  }
}
