import { lookup as systemLookup } from 'node:dns'
import ipaddr from 'ipaddr.js'
import type { Agent, buildConnector, Client } from 'undici'
import { watchBody } from './bodyWatch.ts'
import { httpClient } from './httpClient.ts'
import { matchesIp, parseIpRanges, type IpRanges } from '../model/ipRanges.ts'

/**
 * Requests to addresses that users name: they must not reach anything that only this machine or its network can
 * reach.
 *
 * The obvious way checks the address and then lets the client resolve the name, and in between the name may change
 * (DNS rebinding). Here, the check is inside the connection: the name is resolved once, every address that it has
 * must be a public one, and the socket is connected to those very addresses.
 *
 * Invariants
 * - OUTGOING-1: No connection is made to an address outside the public internet unless the operator allows it.
 * - OUTGOING-2: Redirects are not followed: they are treated like any other answer.
 * - OUTGOING-3: A request ends within its time limit whatever the other side does, and a bounded number of bytes of
 *   an answer is read.
 */

/** The time limit of connecting, which is longer than any successful connection takes. */
const CONNECT_MS = 10_000
/** Idle connections are kept this long. */
const KEEP_ALIVE_MS = 10_000
const MAX_HEADER_BYTES = 16 * 1024
/** If an answer is longer than this, its connection is closed. */
const READ_BYTES = 64 * 1024

/** An address outside the public internet. The error does not say which, because the name may only be known inside. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
  /** Whether the user wrote a name. Then nothing may differ from a name that does not exist, which would tell that it does. */
  readonly isOfName: boolean

  constructor(isOfName: boolean) {
    super('The address is not on the public internet')
    this.isOfName = isOfName
  }
}

/** The other side took too long. */
export class RequestTimedOut extends Error {
  override readonly name = 'RequestTimedOut'

  constructor(milliseconds: number) {
    super(`no answer within ${milliseconds / 1000} s`)
  }
}

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** The time limit from the look-up to the answer's last byte, in milliseconds. */
  readonly timeoutMs: number
  /** How much of the answer's body to keep. */
  readonly keepBytes: number
  readonly signal?: AbortSignal
}

/** An answer whose body is read as it comes. */
export interface OutgoingStream {
  readonly status: number
  /** The headers by name in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The body. Reading it throws if the connection ends before the body does. It must be read or destroyed. */
  readonly body: AsyncIterable<Buffer> & { destroy(): void }
  /** How many bytes have arrived after the headers, including those beyond the announced length. */
  readonly arrivedBytes: () => number
  /** Why the network ended the connection. Undefined if it is open, or the server ended it properly. */
  readonly networkError: () => Error | undefined
}

export interface OutgoingAnswer {
  readonly status: number
  /** The headers by name in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The first bytes of the body. There are fewer than requested if the other side stopped in the middle. */
  readonly body: Buffer
}

/** All addresses of a host, in the form of `dns.lookup`. */
export type Lookup = (
  host: string,
  options: { readonly all: true },
  callback: (error: Error | null, addresses: { address: string; family: number }[]) => void,
) => void

/** What makes the connections, once it is loaded. */
interface HttpClient {
  readonly agent: Agent
  /** A client with one connection, which is made by `connecting`. */
  clientOf(
    origin: string,
    connecting: (connect: buildConnector.connector, ...call: Parameters<buildConnector.connector>) => void,
  ): Client
}

export class Outgoing {
  readonly #allowed: IpRanges
  readonly #lookup: Lookup
  #client: Promise<HttpClient> | undefined
  /** The clients of answers that are being read, one for each. */
  readonly #streams = new Set<Client>()

  /**
   * Checks every address.
   * @param allowed addresses and CIDR ranges that may be reached although they are not public
   */
  constructor(allowed: readonly string[], lookup: Lookup = systemLookup) {
    this.#allowed = allowed.length === 0 ? [] : parseIpRanges(allowed.join(','))
    this.#lookup = lookup
  }

  /** The client is loaded with the first request: loading it takes a tenth of a start, and most servers never request anything. */
  #http(): Promise<HttpClient> {
    return (this.#client ??= this.#load())
  }

  async #load(): Promise<HttpClient> {
    const { Agent, buildConnector, Client } = await httpClient()
    const connect = buildConnector({
      timeout: CONNECT_MS,
      lookup: (host, options, done) => {
        this.#lookup(host, { all: true }, (error, addresses) => {
          const refused = addresses?.find(({ address }) => !this.#admits(address))
          if (error !== null) done(error, [])
          else if (refused !== undefined) done(new AddressRefused(true), [])
          else if (options.all === true) done(null, addresses)
          else done(null, addresses[0]!.address, addresses[0]!.family)
        })
      },
    } as buildConnector.BuildOptions)
    const agentOptions = {
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // The whole request has a limit. These limits would only hide which side was slow.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (options: buildConnector.Options, callback: buildConnector.Callback) => {
        // An address is not looked up, so it is checked here.
        const refusal = this.refusal(options.hostname)
        if (refusal !== undefined) return callback(refusal, null)
        connect(options, callback)
      },
    }
    return {
      agent: new Agent(agentOptions),
      clientOf: (origin, connecting) =>
        new Client(origin, {
          ...agentOptions,
          connect: (options, callback) => connecting(agentOptions.connect, options, callback),
        }),
    }
  }

  /**
   * Why a host that is an address is not connected to. Undefined for names, which are checked once they are resolved.
   */
  refusal(host: string): AddressRefused | undefined {
    const address = host.replace(/^\[|\]$/g, '')
    return !ipaddr.isValid(address) || this.#admits(address) ? undefined : new AddressRefused(false)
  }

  /**
   * The addresses of a host, for connections that are made elsewhere. They must be used instead of the name, which may
   * have other addresses by then.
   * @throws {AddressRefused} or the error of the look-up
   */
  addressesOf(host: string): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      const literal = host.replace(/^\[|\]$/g, '')
      const refusal = this.refusal(host)
      if (refusal !== undefined) return reject(refusal)
      if (ipaddr.isValid(literal)) return resolve([literal])
      this.#lookup(host, { all: true }, (error, found) => {
        if (error !== null) return reject(error)
        const addresses = found.map(({ address }) => address)
        if (addresses.every((address) => this.#admits(address))) resolve(addresses)
        else reject(new AddressRefused(true))
      })
    })
  }

  /**
   * Makes one request.
   * @throws {AddressRefused} {@link RequestTimedOut}, or the error that prevents or ends the connection
   */
  async request(url: string, request: OutgoingRequest): Promise<OutgoingAnswer> {
    const { origin, pathname, search } = new URL(url)
    const { method, headers, body, timeoutMs, keepBytes } = request
    const ended = new AbortController()
    const timer = setTimeout(() => ended.abort(new RequestTimedOut(timeoutMs)), timeoutMs)
    const giveUp = () => ended.abort(request.signal!.reason)
    request.signal?.addEventListener('abort', giveUp)
    if (request.signal?.aborted) giveUp()
    try {
      const { signal } = ended
      const path = pathname + search
      const { agent } = await this.#http()
      const answer = await agent.request({
        origin,
        path,
        method,
        headers,
        body: body ?? null,
        signal,
      })
      return {
        status: answer.statusCode,
        headers: answer.headers,
        body: await beginningOf(answer.body, keepBytes),
      }
    } finally {
      clearTimeout(timer)
      request.signal?.removeEventListener('abort', giveUp)
    }
  }

  /**
   * Requests something that may be long. The caller limits how much it reads, and for how long.
   * @throws {AddressRefused} or the error that prevents the connection
   */
  async stream(
    url: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<OutgoingStream> {
    const { origin, pathname, search } = new URL(url)
    const path = pathname + search
    let arrivedBytes = () => 0
    let networkError: Error | undefined
    const { clientOf } = await this.#http()
    // It has its own connection, because bytes beyond the announced length must not be taken for another answer.
    const client = clientOf(origin, (connect, options, callback) =>
      connect(options, (...result) => {
        // If a connection failed, only the error is passed. There is no second argument then, although the type says so.
        if (result[0] === null) {
          const [, socket] = result
          arrivedBytes = watchBody(socket)
          // The client may describe the length differently. Its own errors, with which it ends the socket, have no system
          // call.
          socket.once('error', (error) => {
            if ('syscall' in error) networkError = error
          })
        }
        callback(...result)
      }),
    )
    this.#streams.add(client)
    const end = (): void => {
      this.#streams.delete(client)
      void client.destroy()
    }
    const {
      statusCode,
      headers: answered,
      body,
    } = await client
      .request({
        path,
        method: 'GET',
        headers,
        signal,
        reset: true,
      })
      .catch((error: unknown) => {
        end()
        throw error
      })
    // A caller that destroys a body before its end is not interested in the resulting error.
    body.on('error', () => {})
    body.once('close', end)
    return {
      status: statusCode,
      headers: answered,
      body,
      arrivedBytes: () => arrivedBytes(),
      networkError: () => networkError,
    }
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    const opened = await this.#client
    await Promise.all([...(opened ? [opened.agent] : []), ...this.#streams].map((one) => one.destroy()))
  }

  #admits(address: string): boolean {
    return isPublic(address) || matchesIp(this.#allowed, address)
  }
}

/**
 * In some clouds, this address answers on every machine: it belongs to Azure's agent, and looks like any other
 * address.
 */
const METADATA = '168.63.129.16'
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::')

/**
 * Whether an address belongs to the public internet: to none of the special ranges, and not another address in
 * disguise.
 */
function isPublic(text: string): boolean {
  const address = ipaddr.parse(text)
  if (address.range() !== 'unicast') return false
  return address instanceof ipaddr.IPv6 ? address.match(GLOBAL_UNICAST, 3) : text !== METADATA
}

/**
 * Reasons by error code. Unknown names and internal names are not distinguished, because the answer would reveal which
 * ones exist.
 */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  ETIMEDOUT: 'no connection came about in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection came about in time',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the host cannot be reached',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too long',
}
const NO_ADDRESS = 'there is no such host, or it is not on the public internet'

/**
 * Why a request failed, for the user who named its address. It contains no addresses, ports or anything else of the
 * error's own message that reveals this machine's network.
 */
export function publicReason(error: unknown): string {
  if (error instanceof RequestTimedOut) return error.message
  if (error instanceof AddressRefused) return NO_ADDRESS
  // If several addresses failed, the first one gives the reason.
  const { code = '' } = (error instanceof AggregateError ? (error.errors[0] ?? error) : error) as {
    code?: string
  }
  if (/^E(?:NOTFOUND|AI_)|^ENODATA$|^ESERVFAIL$/.test(code)) return NO_ADDRESS
  const reason = REASONS[code]
  if (reason !== undefined) return reason
  if (/CERT|SSL|TLS|SIGNATURE|ISSUER/.test(code)) return `TLS failed (${code})`
  if ((error as Error).name === 'HTTPParserError') return 'the answer is no HTTP'
  return 'the request failed'
}

/**
 * Reads a body to its end, so that the connection can be reused, or to a limit. If it is interrupted, its beginning is
 * kept.
 */
async function beginningOf(body: AsyncIterable<Buffer>, keepBytes: number): Promise<Buffer> {
  const kept: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of body) {
      if (bytes < keepBytes) kept.push(chunk.subarray(0, keepBytes - bytes))
      bytes += chunk.length
      if (bytes > READ_BYTES) break
    }
  } catch {
    // The status is known already.
  }
  return Buffer.concat(kept)
}
