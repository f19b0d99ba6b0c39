import type { paths } from './api.ts'
import { call, type Call } from './http.ts'
import type { Identity } from './identity.ts'
import { Servers } from './servers.ts'
import { RingfenceStream, type StreamOptions } from './stream/stream.ts'
import type { WebSocketConstructor } from './stream/socket.ts'
import type {
  AnswerOf,
  Arguments,
  CallOptions,
  Geofence,
  GeofenceDefinition,
  Method,
  PathOf,
  Update,
} from './types.ts'

export type RingfenceOptions = RingfenceServers & (RingfenceKey | RingfenceSession)

interface RingfenceServers {
  /**
   * The address of the server, e.g. `https://ringfence.example.com`, or the addresses of several gateways of one
   * cluster: when one fails, calls and streams go to the next.
   */
  readonly url: string | readonly string[]
  /** The constructor of sockets, for Node 20, which has none of its own: that of the package `ws`. */
  readonly WebSocket?: WebSocketConstructor
}

interface RingfenceKey {
  /** The key `prj_…`: a publishable one in apps and browsers, a secret one on servers only. */
  readonly key: string
}

/**
 * The options for pages that the server itself serves: whoever signs in by `POST /v1/sessions` is known by a cookie.
 */
interface RingfenceSession {
  /** The environment that calls and streams are about. */
  readonly session: 'test' | 'live'
}

/**
 * A client of one environment of a project.
 *
 * Every call takes a `signal`, resolves to the answer's JSON, and rejects with a `RingfenceError` where the server
 * refuses it. GET, PUT and DELETE are sent again where that may help; POST and PATCH are not, except an update that
 * carries its `stream` and `sequence`.
 */
export class Ringfence {
  readonly #urls: string | readonly string[]
  /** The servers of calls; each stream has its own. */
  readonly #servers: Servers
  readonly #identity: Identity
  readonly #WebSocket: WebSocketConstructor | undefined

  constructor(options: RingfenceOptions) {
    const { url, WebSocket } = options
    this.#urls = url
    this.#servers = new Servers(url)
    this.#identity = 'key' in options ? { key: options.key } : { environment: options.session }
    this.#WebSocket = WebSocket
  }

  /** The address that calls go to. */
  get url(): string {
    return this.#servers.url
  }

  get<P extends PathOf<'get'>>(path: P, ...[options]: Arguments<P, 'get'>): Promise<AnswerOf<P, 'get'>> {
    return this.#call('get', path, options)
  }

  post<P extends PathOf<'post'>>(path: P, ...[options]: Arguments<P, 'post'>): Promise<AnswerOf<P, 'post'>> {
    return this.#call('post', path, options)
  }

  put<P extends PathOf<'put'>>(path: P, ...[options]: Arguments<P, 'put'>): Promise<AnswerOf<P, 'put'>> {
    return this.#call('put', path, options)
  }

  patch<P extends PathOf<'patch'>>(
    path: P,
    ...[options]: Arguments<P, 'patch'>
  ): Promise<AnswerOf<P, 'patch'>> {
    return this.#call('patch', path, options)
  }

  delete<P extends PathOf<'delete'>>(
    path: P,
    ...[options]: Arguments<P, 'delete'>
  ): Promise<AnswerOf<P, 'delete'>> {
    return this.#call('delete', path, options)
  }

  /** Sends one update; resolves to the user and the events that it caused, once they are durable. */
  track(update: Update, options?: CallOptions): Promise<AnswerOf<'/v1/track', 'post'>> {
    return this.post('/v1/track', { ...options, body: update })
  }

  /** Makes the geofence of that pair, or changes it. */
  async putGeofence(
    tag: string,
    externalId: string,
    definition: GeofenceDefinition,
    options?: CallOptions,
  ): Promise<Geofence> {
    const { geofence } = await this.put('/v1/geofences/{tag}/{externalId}', {
      ...options,
      params: { tag, externalId },
      body: definition,
    })
    return geofence
  }

  /** Opens a connection for many updates, events and positions; it connects again by itself until it is closed. */
  stream(options?: StreamOptions): RingfenceStream {
    return new RingfenceStream(
      { url: this.#urls, identity: this.#identity, WebSocket: this.#WebSocket },
      options,
    )
  }

  async #call<P extends keyof paths, M extends Method>(
    method: M,
    path: P,
    options: Omit<Call, 'method' | 'path'> | undefined,
  ): Promise<AnswerOf<P, M>> {
    const answer = await call(this.#servers, this.#identity, {
      ...options,
      method: method.toUpperCase(),
      path,
    })
    return answer as AnswerOf<P, M>
  }
}
