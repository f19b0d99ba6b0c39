import { setTimeout as sleep } from 'node:timers/promises'
import { Backoff } from '../runtime/retry.ts'
import type { MovedFields } from './moveRecords.ts'

const TIMEOUT_MS = 60_000
/** How often a call is repeated, with these pauses before. */
const MOST_REPEATS = 4
const PAUSES = { firstMs: 1250, lastMs: 10_000 }
/** The longest pause that a server may ask for. */
const LONGEST_PAUSE_MS = 60_000

/** A server did not do what it was asked for. The message says which server, and never contains the key. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed'
  readonly status: number | undefined
  readonly param: string | undefined

  constructor(message: string, status?: number, param?: string, cause?: unknown) {
    super(message, { cause })
    this.status = status
    this.param = param
  }
}

/** Makes calls for one project, and repeats them if its server is busy. */
export class MoveCalls {
  readonly #url: URL
  readonly #key: string

  constructor(url: URL, key: string) {
    this.#url = url
    this.#key = key
  }

  /**
   * Makes a call.
   * @throws {CallFailed}
   */
  async call(method: 'GET' | 'PUT' | 'PATCH', path: string, body?: MovedFields): Promise<MovedFields> {
    const backoff = new Backoff(PAUSES)
    for (let repeats = 0; ; repeats++) {
      const answer = await this.#once(method, path, body).catch((error: unknown) => error as Error)
      if (!(answer instanceof Response)) {
        if (repeats < MOST_REPEATS) {
          await backoff.pause()
          continue
        }
        throw new CallFailed(`${this.#url.origin} cannot be reached.`, undefined, undefined, answer)
      }
      const isPassing = answer.status === 429 || answer.status >= 500
      if (isPassing && repeats < MOST_REPEATS) {
        const told = Number(answer.headers.get('retry-after')) * 1000
        await answer.body?.cancel()
        const pauseMs = backoff.next()
        await sleep(told > 0 ? Math.min(told, LONGEST_PAUSE_MS) : pauseMs)
        continue
      }
      const answered = (await answer.json().catch(() => ({}))) as MovedFields
      if (answer.ok) return answered
      const { message, param } = (answered.meta ?? {}) as { message?: string; param?: string }
      const reason = message ?? `${this.#url.origin} answered with ${answer.status}.`
      throw new CallFailed(reason, answer.status, param)
    }
  }

  #once(method: string, path: string, body?: MovedFields): Promise<Response> {
    return fetch(new URL(path, this.#url), {
      method,
      headers: { authorization: this.#key, 'content-type': 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }
}
