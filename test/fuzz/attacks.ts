/**
 * What clients do on sockets that no HTTP library would: broken and incomplete requests, floods, slow sending, other
 * protocols.
 *
 * The rules are the same for all. Every answer is HTTP/1.1 with an allowed status (and an error of the API if it is
 * JSON) and shows nothing of other scopes. Nothing hangs: a connection that gets no answer is closed by the server
 * within a bounded time, and the canary is served all the while.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Arbitrary } from 'fast-check'
import fc from '../kit/fastCheck.ts'
import { progress } from '../kit/waiting.ts'
import { render, type Rendered, type Target } from './exchange.ts'
import type { DrawnRequest } from './requests.ts'
import { Closed, Connection, type WireAnswer } from './wire.ts'
import { checkMarks, GIVE_UP_MS, Violation } from './world.ts'

/** One hostile client. */
export type Attack =
  /** A request that ends in the middle. */
  | { readonly kind: 'cut'; readonly request: DrawnRequest; readonly at: number; readonly end: End }
  /** The whole request, followed by the end of the sending side. */
  | { readonly kind: 'halfClosed'; readonly request: DrawnRequest }
  /** From the given position on, one byte at a time with pauses. */
  | {
      readonly kind: 'dribble'
      readonly request: DrawnRequest
      readonly at: number
      readonly pauseMs: number
    }
  /** Several requests in one write. */
  | { readonly kind: 'pipeline'; readonly requests: readonly DrawnRequest[] }
  /** Many connections that send the same bytes, or none. */
  | {
      readonly kind: 'flood'
      readonly connections: number
      readonly request: DrawnRequest | undefined
      readonly end: End
    }
  /** Raw bytes. */
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** A request whose answer the client does not read. */
  | { readonly kind: 'deaf'; readonly request: DrawnRequest }

/** What the client does next: signals that no more will come, resets the connection, or only waits. */
type End = 'fin' | 'reset' | 'wait'

/**
 * How long a connection may stay without a complete request before the server closes it: ten seconds, plus time for a
 * busy machine.
 */
const MAX_LINGER_MS = 45_000
/** uWebSockets.js answers these itself, as text. */
const STATUSES = new Set([
  200, 201, 202, 204, 304, 400, 401, 402, 403, 404, 405, 409, 413, 414, 415, 426, 429, 431, 451, 501, 503,
  505,
])
const MAX_WAITING = 300
/** How often a connection is checked that the server must still close. */
const LOOK_MS = 500

export class Attacks {
  readonly #target: Target
  /** Connections that the server must still close. */
  readonly #waiting = new Set<Promise<void>>()
  readonly #open = new Set<Connection>()
  #failure: Error | undefined
  count = 0

  constructor(target: Target) {
    this.#target = target
  }

  /**
   * Runs several attacks at once. Those that wait for the server's time-outs continue in the background.
   * @throws Violation, also one from the background
   */
  async play(raid: readonly Attack[]): Promise<void> {
    this.count += raid.length
    await Promise.all(raid.map((attack) => this.#one(attack)))
    if (this.#target.canaryError !== undefined) throw this.#target.canaryError
    if (this.#failure !== undefined) throw this.#failure
    if (this.#waiting.size > MAX_WAITING) await Promise.race(this.#waiting)
  }

  /**
   * Waits until the server has closed all connections that it must close.
   * @throws Violation
   */
  async finish(): Promise<void> {
    await Promise.all(this.#waiting)
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Closes all connections, without waiting for the server. */
  giveUp(): void {
    for (const connection of this.#open) connection.destroy()
  }

  async #one(attack: Attack): Promise<void> {
    try {
      await this.#perform(attack)
    } catch (error) {
      throw new Violation(`${(error as Error).message}\n  after ${describe(attack)}`, { cause: error })
    }
  }

  async #perform(attack: Attack): Promise<void> {
    switch (attack.kind) {
      case 'cut': {
        const rendered = render(attack.request, this.#target)
        const connection = await this.#connect()
        connection.write(rendered.bytes.subarray(0, attack.at % rendered.bytes.length))
        return this.#end(connection, attack.end, [rendered])
      }
      case 'halfClosed': {
        const rendered = render(attack.request, this.#target)
        const connection = await this.#connect()
        connection.write(rendered.bytes)
        return this.#end(connection, 'fin', [rendered])
      }
      case 'bytes': {
        const connection = await this.#connect()
        connection.write(attack.bytes)
        return this.#end(connection, 'wait', [])
      }
      case 'pipeline': {
        const rendered = attack.requests.map((request) => render(request, this.#target))
        const connection = await this.#connect()
        connection.write(Buffer.concat(rendered.map(({ bytes }) => bytes)))
        return this.#end(connection, 'wait', rendered)
      }
      case 'flood': {
        const rendered = attack.request && render(attack.request, this.#target)
        const connections = await Promise.all(
          Array.from({ length: attack.connections }, () => this.#connect()),
        )
        for (const connection of connections) if (rendered !== undefined) connection.write(rendered.bytes)
        await Promise.all(
          connections.map((one) => this.#end(one, attack.end, rendered === undefined ? [] : [rendered])),
        )
        return
      }
      case 'dribble':
        this.#inBackground(attack, this.#dribble(attack))
        return
      case 'deaf': {
        const rendered = render(attack.request, this.#target)
        const connection = await this.#connect()
        connection.socket.pause()
        connection.write(rendered.bytes)
        await sleep(50)
        connection.socket.resume()
        return this.#end(connection, 'wait', [rendered])
      }
    }
  }

  async #dribble({ request, at, pauseMs }: Extract<Attack, { kind: 'dribble' }>): Promise<void> {
    const rendered = render(request, this.#target)
    const { bytes } = rendered
    const connection = await this.#connect()
    const start = at % bytes.length
    connection.write(bytes.subarray(0, start))
    const deadline = performance.now() + MAX_LINGER_MS
    for (let i = start; i < bytes.length && !connection.closed && performance.now() < deadline; i++) {
      connection.write(bytes.subarray(i, i + 1))
      await connection.closes(pauseMs)
      if (connection.received.length > 0) break
    }
    await this.#closed(connection, [rendered], deadline - performance.now())
  }

  async #connect(): Promise<Connection> {
    const connection = await Connection.open(this.#target.port)
    this.#open.add(connection)
    connection.socket.once('close', () => this.#open.delete(connection))
    return connection
  }

  async #end(connection: Connection, how: End, sent: readonly Rendered[]): Promise<void> {
    if (how === 'reset') {
      connection.socket.resetAndDestroy()
      return
    }
    if (how === 'fin') connection.socket.end()
    this.#inBackground(undefined, this.#closed(connection, sent, MAX_LINGER_MS))
  }

  #inBackground(attack: Attack | undefined, ending: Promise<void>): void {
    const watched = ending
      .catch((error: Error) => {
        const after = attack === undefined ? '' : `\n  after ${describe(attack)}`
        this.#failure ??= new Violation(`${error.message}${after}`, { cause: error })
      })
      .finally(() => {
        this.#waiting.delete(watched)
        progress()
      })
    this.#waiting.add(watched)
  }

  /** Waits until the server closes the connection. It always does, if only because the client has stopped sending. */
  async #closed(connection: Connection, sent: readonly Rendered[], milliseconds: number): Promise<void> {
    // One of several requests sent together may have had no key.
    const scope = sent.find((one) => one.scope !== undefined)?.scope
    const heads = sent.map(({ isHead }) => isHead)
    const deadline = performance.now() + Math.max(milliseconds, GIVE_UP_MS)
    let isOver = false
    while (!isOver && performance.now() < deadline)
      isOver = (await connection.closes(LOOK_MS)) || connection.isEndless
    const text = connection.received.toString()
    connection.destroy()
    if (!isOver)
      throw new Violation(`not closed by the server; it has sent ${JSON.stringify(text.slice(0, 300))}`)
    checkMarks(
      text,
      scope,
      sent.some((one) => one.isOfProject),
    )
    try {
      for (let i = 0; connection.received.length > 0; i++)
        judge(await connection.answer(0, heads[i] === true))
    } catch (error) {
      // The answer broke off, as it does when a client has gone.
      if (!(error instanceof Closed)) throw error
    }
  }
}

function judge(answer: WireAnswer | undefined): void {
  if (answer === undefined) return
  const { status, text } = answer
  if (!STATUSES.has(status)) throw new Violation(`answered ${status}: ${text.slice(0, 1000)}`)
  const code = /^\{"meta":\{"code":(\d+)/.exec(text)?.[1]
  if (code !== undefined && Number(code) !== status)
    throw new Violation(`${status} with ${text.slice(0, 300)}`)
}

function describe(attack: Attack): string {
  const plain = (_: string, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('latin1').slice(0, 1000) : value
  return `the attack ${JSON.stringify(attack, plain).slice(0, 3000)}`
}

/** @param request used by attacks that send a complete request */
export function attacks(request: Arbitrary<DrawnRequest>): Arbitrary<Attack> {
  const end = fc.constantFrom<End>('fin', 'reset', 'reset', 'wait')
  const at = fc.nat(100_000)
  return fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('cut' as const), request, at, end }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('halfClosed' as const), request }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('dribble' as const),
        request,
        at,
        pauseMs: fc.constantFrom(50, 900, 3000, 9000),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('pipeline' as const),
        requests: fc.array(request, { minLength: 2, maxLength: 8 }).map(sameCaller),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('flood' as const),
        connections: fc.integer({ min: 2, max: 60 }),
        request: fc.option(request, { nil: undefined }),
        end,
      }),
    },
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('bytes' as const), bytes: brokenHttp }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('deaf' as const), request }) },
  )
}

/** Answers on one connection cannot be attributed to different callers. */
function sameCaller(requests: readonly DrawnRequest[]): DrawnRequest[] {
  return requests.map((request) => ({ ...request, caller: requests[0]!.caller }))
}

const BODY = '{"deviceId":"x","latitude":50,"longitude":10,"accuracy":5}'
const post = (lines: string, body: string) => `POST /v1/track HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n${body}`

/** Requests that are not HTTP, are not meant for this API, or contradict themselves. */
export const BROKEN: readonly string[] = [
  '\r\n\r\n',
  '\n\n',
  ' ',
  'GET\r\n\r\n',
  'GET /healthz\r\n',
  'GET /healthz\r\n\r\n',
  'GET /healthz HTTP/0.9\r\n\r\n',
  'GET /healthz HTTP/1.0\r\n\r\n',
  'GET /healthz HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n',
  'GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n',
  'GET /healthz HTTP/1.1\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n',
  'GET /healthz HTTP/1.1\nHost: x\n\n',
  'GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\rC: d\r\n\r\n',
  'GET  /healthz  HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET\t/healthz\tHTTP/1.1\r\nHost: x\r\n\r\n',
  'GET healthz HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET http://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET * HTTP/1.1\r\nHost: x\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n',
  'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n',
  'TRACE / HTTP/1.1\r\nHost: x\r\n\r\n',
  'get /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
  `${'G'.repeat(5000)} / HTTP/1.1\r\nHost: x\r\n\r\n`,
  `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
  `GET /healthz HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(200_000)}\r\n\r\n`,
  `GET /healthz HTTP/1.1\r\n${'a: b\r\n'.repeat(5000)}\r\n`,
  `GET /healthz HTTP/1.1\r\nHost: x\r\n${Array.from({ length: 300 }, (_, i) => `h${i}: v\r\n`).join('')}\r\n`,
  `GET /healthz HTTP/1.1\r\n${'a'.repeat(100_000)}`,
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
  '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03' + 'r'.repeat(300),
  '\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x01\x7f\0\0\x01\0\x50\0\x51GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
  'PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
  'SSH-2.0-OpenSSH_9.0\r\n',
  'EHLO x\r\n',
  '*1\r\n$4\r\nPING\r\n',
  'GET /v1/stream HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n\x81\x80\0\0\0\0',
  'GET /healthz HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAM\r\n\r\n',
  post('Content-Length: 5\r\nContent-Length: 60', BODY),
  post('Content-Length: -1', BODY),
  post('Content-Length: +58', BODY),
  post('Content-Length: 0x3a', BODY),
  post('Content-Length: 58, 58', BODY),
  post('Content-Length: 18446744073709551617', BODY),
  post('Content-Length: 99999999999999999999999', BODY),
  post('Content-Length:', BODY),
  post('Content-Length: 58\r\nTransfer-Encoding: chunked', `0\r\n\r\n${BODY}`),
  post('Transfer-Encoding: chunked', 'zz\r\nabc\r\n0\r\n\r\n'),
  post('Transfer-Encoding: chunked', 'ffffffffffffffff\r\nabc'),
  post('Transfer-Encoding: chunked', '-1\r\nabc\r\n0\r\n\r\n'),
  post('Transfer-Encoding: chunked', '3abc0\r\n\r\n'),
  post('Transfer-Encoding: chunked', '3;ext="\r\n"\r\nabc\r\n0\r\n\r\n'),
  post('Transfer-Encoding: chunked', '3\nabc\n0\n\n'),
  post('Transfer-Encoding: chunked', '5\r\nabc\r\n0\r\n\r\n'),
  post('Transfer-Encoding: chunked', '0\r\nTrailer: x\r\n\r\n'),
  post('Transfer-Encoding: chunked', `${'0'.repeat(5000)}3\r\nabc\r\n0\r\n\r\n`),
  post('Transfer-Encoding: chunked, chunked', '0\r\n\r\n'),
  post('Transfer-Encoding: gzip', BODY),
  post('Transfer-Encoding: identity', BODY),
  post('transfer-encoding : chunked', '0\r\n\r\n'),
  `GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
]

const latin1 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'latin1'))

const brokenHttp: Arbitrary<Uint8Array> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...BROKEN).map(latin1) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...BROKEN),
        fc.array(fc.tuple(fc.nat(2000), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      )
      .map(([text, flips]) => {
        const bytes = latin1(text)
        for (const [place, byte] of flips) bytes[place % bytes.length] = byte
        return bytes
      }),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 500 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...BROKEN), fc.constantFrom(...BROKEN))
      .map((pair) => latin1(pair.join(''))),
  },
)
