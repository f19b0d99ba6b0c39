import { setTimeout as sleep } from 'node:timers/promises'
import type { MovedFields } from './moveRecords.ts'

const TIMEOUT_MS = 60_000
const PAUSES_MS = [1000, 2000, 5000, 10_000]
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
    for (let attempt = 0; ; attempt++) {
      const answer = await this.#once(method, path, body).catch((error: unknown) => error as Error)
      if (!(answer instanceof Response)) {
        if (attempt < PAUSES_MS.length) {
          await sleep(PAUSES_MS[attempt])
          continue
        }
        throw new CallFailed(`${this.#url.origin} cannot be reached.`, undefined, undefined, answer)
      }
      const isPassing = answer.status === 429 || answer.status >= 500
      if (isPassing && attempt < PAUSES_MS.length) {
        const told = Number(answer.headers.get('retry-after')) * 1000
        await answer.body?.cancel()
        await sleep(told > 0 ? Math.min(told, LONGEST_PAUSE_MS) : PAUSES_MS[attempt])
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
