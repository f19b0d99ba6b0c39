const TIMEOUT_MS = 30_000
/** The most bytes of an answer. No model should read more at once. */
const MOST_BYTES = 256 * 1024

/** The answer of the API, or why there is none. */
export interface ApiText {
  readonly isError: boolean
  readonly text: string
}

/** Calls one server. Each call uses the key of the client that asks. */
export class AssistantApi {
  readonly #url: URL

  constructor(url: URL) {
    this.#url = url
  }

  /** @throws Error if the server cannot be reached or has no document */
  async document(): Promise<unknown> {
    const answer = await this.#fetch('GET', '/v1/openapi.json', {})
    if (!answer.ok) throw new Error(`${this.#url.origin}/v1/openapi.json was answered with ${answer.status}.`)
    return answer.json()
  }

  /** Calls an operation. It never throws, because an assistant can read what went wrong and ask in another way. */
  async call(
    key: string,
    { method, path, body }: { readonly method: string; readonly path: string; readonly body?: unknown },
  ): Promise<ApiText> {
    try {
      const answer = await this.#fetch(method, path, { authorization: key }, body)
      const text = await boundedText(answer)
      if (text === undefined)
        return failure(
          `The answer is longer than ${MOST_BYTES / 1024} KiB. Ask for less, for example with a smaller limit.`,
        )
      return answer.ok ? { isError: false, text } : failure(refusal(answer.status, text))
    } catch (error) {
      return failure((error as Error).message)
    }
  }

  async #fetch(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: unknown,
  ): Promise<Response> {
    const init: RequestInit = {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }
    if (body !== undefined) init.body = JSON.stringify(body)
    return fetch(new URL(path, this.#url), init).catch((cause: Error) => {
      const why = cause.name === 'TimeoutError' ? 'did not answer in time' : 'cannot be reached'
      throw new Error(`The server at ${this.#url.origin} ${why}.`, { cause })
    })
  }
}

function failure(text: string): ApiText {
  return { isError: true, text }
}

/** The text of an answer. Undefined if it is too long, in which case the rest is not read. */
async function boundedText(answer: Response): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of answer.body ?? []) {
    bytes += piece.length
    if (bytes > MOST_BYTES) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** The sentence of the API's error. Most of them begin with the parameter. */
function refusal(status: number, text: string): string {
  try {
    const { meta } = JSON.parse(text) as { meta?: { message?: string; param?: string } }
    if (meta?.message !== undefined) {
      const { message, param } = meta
      return `${status}: ${param === undefined || message.startsWith(`${param}:`) ? '' : `${param}: `}${message}`
    }
  } catch {
    // The answer does not come from the API, but from something in front of it.
  }
  return `The server answered with ${status}.`
}
