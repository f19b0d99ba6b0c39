/**
 * Records real requests and answers of a running server as the examples of the reference. Whatever differs from run to run is
 * replaced by something stable: ids by others, in the order in which they appear; times of the server by the minute of the
 * request in which they fell; and keys by others of the same kind.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { command } from '../../test/cli/command.ts'
import { KEYS, type Server } from '../../test/kit/server.ts'
import { SlowUpload } from './slowUpload.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- bodies of every shape
type Json = any

/** A request. Without `key`, it has the secret key of the test environment. */
export interface ExampleRequest {
  /** `session`: the cookie of the latest sign-in instead of a key. */
  readonly key?: 'publishable' | 'secret' | 'none' | 'session'
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly body?: Json
  /** A body that is not JSON. */
  readonly upload?: { readonly contentType: string; readonly content: string }
}

export interface Example extends ExampleRequest {
  readonly summary: string
  /** The whole answer, if it is JSON. */
  readonly answer?: Json
  /** The whole answer, if it is not JSON. */
  readonly text?: { readonly contentType: string; readonly content: string }
}

/** The content of docs/examples.json. */
export interface Examples {
  /** By operation, named as in the route table: `GET /v1/users/:id`. The first example is the main one. */
  readonly operations: Readonly<Record<string, readonly Example[]>>
  /** The answers to refused requests, by status. */
  readonly errors: Readonly<Record<string, Json>>
}

/** The first minute of the recording, as the examples show it. It is in the past, so that servers accept it as the time of an update. */
const STORY_START = Date.UTC(2025, 4, 2, 9, 0, 0)
const MINUTE = 60_000
/** Longer than a server takes to start. */
const START_MS = 10 * MINUTE
const DATE = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z\b/g
const OBJECT_ID = /(?<=\b|_)[0-9a-f]{24}\b/g
const KEY = /\b(prj_(?:test|live)_(?:pk|sk)_)[0-9a-f]{40}\b/g

export class Recording {
  readonly #server: Server
  readonly #operations: Record<string, Example[]> = {}
  readonly #errors: Record<string, Json> = {}
  /** Server times at which requests were sent, milliseconds. */
  readonly #sentAt: number[] = []
  readonly #aliases = new Map<string, string>()
  /** The present keys, some of which are rotated. */
  readonly #keys: Record<string, string> = { publishable: KEYS.testPublishable, secret: KEYS.testSecret }
  /** The cookie of the latest sign-in. */
  #cookie = ''

  constructor(server: Server) {
    this.#server = server
  }

  /**
   * Makes a request and keeps it and its answer as an example of the operation.
   * @param operation as in the route table, `GET /v1/users/:id`
   * @returns the answer, with real ids
   * @throws Error unless the answer is a success
   */
  show = async (operation: string, summary: string, request: ExampleRequest = {}): Promise<Json> => {
    const { status, body, headers } = await this.#call(operation, request)
    if (status >= 300) throw new Error(`${operation} (${summary}) → ${status}: ${JSON.stringify(body)}`)
    const contentType = headers.get('content-type')!.split(';')[0]!
    const answer = typeof body === 'string' ? { text: { contentType, content: body } } : { answer: body }
    ;(this.#operations[operation] ??= []).push({ summary, ...request, ...answer })
    return body
  }

  /** Makes a request until its answer is as it should be, and keeps none of them. */
  async until(operation: string, request: ExampleRequest, isThere: (answer: Json) => boolean): Promise<void> {
    while (!isThere((await this.#call(operation, request)).body)) await sleep(50)
  }

  /**
   * Like {@link show}, for an answer that does not end: keeps its beginning.
   * @param blocks how many blocks to keep, which blank lines separate
   */
  follow = async (
    operation: string,
    summary: string,
    query: NonNullable<ExampleRequest['query']>,
    blocks: number,
  ): Promise<void> => {
    await sleep(2)
    this.#sentAt.push(Date.now())
    const [, path] = operation.split(' ')
    const answer = await fetch(
      `${this.#server.url}${path}?${new URLSearchParams(query as Record<string, string>)}`,
      { headers: { authorization: this.#keys.secret! }, signal: AbortSignal.timeout(10_000) },
    )
    let content = ''
    for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {
      content += text
      if (content.split('\n\n').length > blocks) break
    }
    const text = { contentType: 'text/event-stream', content }
    ;(this.#operations[operation] ??= []).push({ summary, query, text })
  }

  /**
   * Makes a request that the server refuses, and keeps its answer as the example of that status.
   * @param attempts how often to make it until then
   */
  refused = async (
    expected: number,
    operation: string,
    request: ExampleRequest,
    attempts = 1,
  ): Promise<void> => {
    let { status, body } = await this.#call(operation, request)
    for (let i = 1; i < attempts && status !== expected; i++)
      ({ status, body } = await this.#call(operation, request))
    if (status !== expected)
      throw new Error(`${operation} → ${status}, not ${expected}: ${JSON.stringify(body)}`)
    this.#errors[status] = body
  }

  /** Sends an extract with the secret key of the live environment, and keeps no example of it. */
  async sendExtract(path: string, content: Uint8Array): Promise<Json> {
    const type = { 'content-type': 'application/octet-stream' }
    return (await this.#server.api('PUT', path, content, KEYS.liveSecret, type)).body
  }

  /** Begins an import whose file does not end, and keeps no example of it. */
  slowImport = async (kind: string): Promise<{ readonly id: string; end(): Promise<void> }> => {
    const header =
      kind === 'geofences'
        ? 'description,type,tag,externalId,coordinates,radius'
        : 'description,type,coordinates,enabled'
    const upload = new SlowUpload(
      `${this.#server.url}/v1/imports/${kind}`,
      this.#keys.secret!,
      `${header}\n${'Slow\n'.repeat(100)}`,
    )
    const newest = async () => (await this.#server.api('GET', `/v1/imports/${kind}?limit=1`)).body.imports[0]
    return { id: await upload.begun(newest), end: () => upload.end() }
  }

  /** Runs a command of the operator; returns what it prints. */
  async operator(...line: string[]): Promise<string> {
    const { output } = await command([...line, '--data', this.#server.data])
    return output
  }

  /** Puts the key of that kind in place of the one used so far. */
  useKey(kind: 'publishable' | 'secret', key: string): void {
    this.#keys[kind] = key
  }

  /** Replaces a text that only this recording has by another one. */
  alias(text: string, shown: string): void {
    this.#aliases.set(text, shown)
  }

  /** The time of the next request in the examples. */
  now(): number {
    return STORY_START + this.#sentAt.length * MINUTE
  }

  /** Everything that was recorded, made stable. */
  examples(): Examples {
    const ids = new Map<string, string>()
    const idOf = (id: string) => {
      let stable = ids.get(id)
      if (stable === undefined) ids.set(id, (stable = pseudoHex(`id ${ids.size}`, 24)))
      return stable
    }
    let text = JSON.stringify({ operations: this.#operations, errors: this.#errors })
    // The port is another one each time.
    text = text.replaceAll(this.#server.url, 'http://127.0.0.1:8080')
    for (const [real, shown] of this.#aliases) text = text.replaceAll(real, shown)
    for (const [key, prefix] of text.matchAll(KEY)) {
      const stable = prefix! + pseudoHex(prefix!, 40)
      text = text.replaceAll(key, stable).replaceAll(lastFour(key), lastFour(stable))
    }
    text = text.replaceAll(OBJECT_ID, idOf).replaceAll(DATE, (date) => this.#stableDate(date))
    return JSON.parse(text) as Examples
  }

  /** A time of the recording, or of the server's start before it, becomes the minute of its request; other times stay. */
  #stableDate(date: string): string {
    const time = Date.parse(date)
    if (time < this.#sentAt[0]! - START_MS || time > Date.now()) return date
    const next = this.#sentAt.findIndex((sent) => sent > time)
    const step = next === -1 ? this.#sentAt.length - 1 : next - 1
    return new Date(STORY_START + step * MINUTE).toISOString()
  }

  async #call(operation: string, { key = 'secret', params, query, body, upload }: ExampleRequest) {
    const [method, template] = operation.split(' ') as [string, string]
    const path = template.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params![name]!))
    const search = query === undefined ? '' : `?${new URLSearchParams(query as Record<string, string>)}`
    // So that the request is later than all times of the answer before it, and each time belongs to one request.
    await sleep(2)
    this.#sentAt.push(Date.now())
    const answer = await this.#server.api(
      method,
      path + search,
      upload?.content ?? body,
      this.#keys[key] ?? null,
      {
        ...(upload !== undefined && { 'content-type': upload.contentType }),
        ...(key === 'session' && {
          cookie: this.#cookie,
          origin: this.#server.url,
          'x-ringfence-environment': 'test',
        }),
      },
    )
    const cookie = answer.headers.get('set-cookie')
    if (cookie !== null) this.#cookie = cookie.slice(0, cookie.indexOf(';'))
    return answer
  }
}

function lastFour(key: string): string {
  return `"lastFour":"${key.slice(-4)}"`
}

function pseudoHex(seed: string, digits: number): string {
  return createHash('sha256').update(seed).digest('hex').slice(0, digits)
}
