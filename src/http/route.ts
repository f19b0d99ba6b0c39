import type { Readable } from 'node:stream'
import type { Static, TObject, TSchema } from 'typebox'
import type { Role } from '../model/role.ts'
import type { Credentials } from './credentials.ts'
import type { AcceptsSegments } from './router.ts'
import type { Site } from './site.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * Who may call: anybody, holders of any key, or holders of a secret key. People also need the route's role. Some
 * routes are for people only: everybody who has signed in, or those with an account.
 */
export type AuthLevel = 'none' | 'publishable' | 'secret' | 'session' | 'account'

/** A token bucket that holds one second's worth of requests. */
export interface RateLimit {
  readonly perSecond: number
  /** The bucket's owner: a key, the requester's address, or a device, whose actor keeps it. */
  readonly by: 'key' | 'address' | 'device'
  /** The limit for requests with a secret key, if they have another one; undefined means none. */
  readonly secret?: RateLimit | undefined
}

type ParsedOf<T extends TSchema | undefined> = T extends TSchema ? Static<T> : undefined

/** One authenticated, validated request, as a handler sees it. */
export interface Call<
  P extends TObject | undefined,
  Q extends TObject | undefined,
  B extends TSchema | undefined,
> {
  readonly params: ParsedOf<P>
  readonly query: ParsedOf<Q>
  readonly body: ParsedOf<B>
  /**
   * The body as it arrives, on routes with {@link Route.upload}; undefined on all others. Reading it throws an
   * ApiError if the body exceeds its limit, the client disconnects or the server shuts down. Do not catch it: it is
   * the answer. The unread rest is dropped when the handler answers.
   */
  readonly upload: Readable | undefined
  /** Undefined only on routes of auth level `none`. */
  readonly credentials: Credentials | undefined
  /** How the requester reaches the server; undefined except on routes with {@link Route.forPages}. */
  readonly site: Site | undefined
  /** The requester's address: the peer's, or that in X-Forwarded-For if the peer is a trusted proxy. */
  readonly ip: string
  /** Epoch milliseconds when the request had arrived completely; with an `upload`, its head. */
  readonly receivedAt: number
  readonly requestId: string
  /** Whether the request carries an SDK's version, in a header or its body. */
  readonly fromSdk: boolean
  /** The headers of {@link Route.headers} that were sent. */
  readonly headers: Readonly<Record<string, string>>
}

/** A handler's answer: members besides `meta`, and members of `meta` besides `code`. */
export interface Answer {
  /** The status; 200 if absent. */
  readonly status?: number
  readonly meta?: Readonly<Record<string, unknown>>
  readonly body?: Readonly<Record<string, unknown>>
  /**
   * Instead of `body`: the finished JSON text of the members besides `meta`, without braces: `"user":{…},"events":[]`.
   */
  readonly json?: string
  /** Instead of `json`: the same text as {@link packUtf8} returns it. It is written without being encoded again. */
  readonly packedJson?: string
  /**
   * Instead of `json`: the same text in pieces, which together may have megabytes. They are written in turns with
   * other requests. They may be made while they are read, and are read twice.
   */
  readonly pieces?: Iterable<string>
  /** Called once nothing of the answer is needed any more, also if nobody receives it. */
  readonly sent?: () => void
  /** Instead of every other content: a text that is not the API's JSON. */
  readonly text?: { readonly contentType: string; readonly content: string }
  /**
   * Instead of every other content: a file, or bytes that need to be valid only until `send` returns. With an `etag` (no
   * quotes), a client that has this version is answered 304.
   */
  readonly bytes?: { readonly contentType: string; readonly content: Uint8Array; readonly etag?: string }
  /** Instead of every other content: pieces that are made while they are sent. */
  readonly stream?: AnswerStream
  /** Further headers by name. Their values must not come from a request. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * An answer in pieces of some kilobytes, which are requested as the client reads them, so that it may have any size.
 */
export interface AnswerStream {
  readonly contentType: string
  /** The name under which browsers save the answer. It has letters, digits, `.`, `_` and `-`. */
  readonly fileName?: string
  /**
   * The pieces. Nothing is held before the first piece is requested: HEAD requests none, nor does a client that has
   * disconnected by then. If the client disconnects later, `return()` is called. An error before the first piece is
   * answered like any other. A later one is logged and cuts the connection, so that nobody takes a part for the whole.
   */
  readonly chunks: AsyncIterable<string | Uint8Array>
  /**
   * Approximately how many bytes are held now for the pieces that follow. While a piece waits for its reader, they count as
   * unread, too.
   */
  readonly heldBytes?: () => number
  /**
   * A text without meaning for the reader, if the next piece may take long. It is sent after a piece that a slow
   * reader did not read at once.
   */
  readonly filler?: string
}

/** A body that is not collected but passed on as it arrives. */
export interface UploadRule {
  /** The accepted media types, in lower case and without parameters. Any other is answered 415. */
  readonly contentTypes: readonly string[]
  /** A longer body is answered 413. */
  readonly maxBytes: number
  /** The contents of the body, for the reference. */
  readonly description?: string
}

/**
 * What one endpoint looks like, whoever answers it: routing, authentication, limits, validation, static types and the
 * OpenAPI document come from it.
 */
export interface RouteShape<
  P extends TObject | undefined = TObject | undefined,
  Q extends TObject | undefined = TObject | undefined,
  B extends TSchema | undefined = TSchema | undefined,
> {
  readonly method: Method
  /**
   * The path: `/v1/geofences/:tag/:externalId`. A parameter fills one segment, except for an ending:
   * `/v1/tiles/:y.mvt`.
   */
  readonly path: string
  /**
   * Chooses the paths that belong to the route if another route of the method has some of them: `/x/:id/users` takes
   * those with an id, and `/x/:tag/:externalId` the others.
   */
  readonly accepts?: AcceptsSegments
  /**
   * Whether clients write the path's only parameter as it is, without escapes. It may contain slashes, and a percent
   * sign that begins no escape stands for itself.
   */
  readonly isUnescaped?: boolean
  readonly auth: AuthLevel
  /**
   * The publishable key may also come as the query parameter `publishableKey`, because pictures and the like are asked
   * for by URL alone. A secret key may not: URLs are logged and passed on.
   */
  readonly keyInQuery?: true
  /** Whether its requests do not count towards the project's quota. */
  readonly isFree?: true
  /** The role that a person needs to call it. If absent, it is `read` for GET, and `admin` for every other method. */
  readonly role?: Role
  /**
   * Whether it deletes something that is not in the registry. Such a deletion is entered in the audit before it is
   * done, so that none is without its entry.
   */
  readonly isEnteredFirst?: true
  /** If this is false, a session that was opened with a key may not call it, although the key itself may. */
  readonly keySession?: false
  /**
   * Whether it handles the cookie of sessions or makes links to pages. It then gets {@link Call.site}, and a page of
   * another origin may not call it.
   */
  readonly forPages?: true
  /** The limit from the table in limits.ts. */
  readonly limit?: RateLimit
  /** The title of the OpenAPI operation. */
  readonly summary: string
  readonly description?: string
  /** The group of the operation in the reference. */
  readonly tag: string
  readonly params?: P
  /** Texts are converted to the types of the schema; a property with a `default` gets it if it is absent. */
  readonly query?: Q
  /**
   * Names, in lower case, of the request headers that the handler reads. Those that begin with `x-forwarded-` are only
   * passed on if a trusted proxy sent them.
   */
  readonly headers?: readonly string[]
  /**
   * An empty body stands for `{}`, null for absent (where the schema does not admit null at its top level). Fields
   * that the schema does not know are left alone; a `default` is documentation only.
   */
  readonly body?: B
  /** The longest body in bytes, if a legitimate body may be longer than those of other routes. */
  readonly maxBodyBytes?: number
  /** Instead of `body`: the handler runs as soon as the head of the request has arrived, and reads `call.upload`. */
  readonly upload?: UploadRule
  /** Members of `meta` besides `code` in a successful answer. */
  readonly meta?: TObject
  /**
   * The schema of the members besides `meta` for each status; or, as `contents`, the schema of each content type that
   * the answer may have instead.
   */
  readonly answers: Readonly<Record<number, TObject>>
}

/** An endpoint with its handler. Write it with {@link route}, so that the handler's types follow the schemas. */
export interface Route<
  P extends TObject | undefined = TObject | undefined,
  Q extends TObject | undefined = TObject | undefined,
  B extends TSchema | undefined = TSchema | undefined,
> extends RouteShape<P, Q, B> {
  /**
   * A faster way for the usual body. It gets the bytes of a JSON body first, which are only valid during the call. It
   * either does exactly what `body` and `handler` would do, or returns undefined without an effect to leave it to
   * them.
   */
  handleBytes?(bytes: Buffer, call: Call<P, Q, undefined>, reply: Reply): Answer | typeof LATER | undefined
  /**
   * Answers at once, through a promise, or, if a promise per request costs too much, returns {@link LATER} and
   * answers through `reply`. Errors that it throws are answered: an ApiError as it says, anything else as 500.
   */
  handler(call: Call<P, Q, B>, reply: Reply): Answer | Promise<Answer> | typeof LATER
}

/** Returned by a handler that answers through its {@link Reply} later. */
export const LATER: unique symbol = Symbol('later')

/** The reply to one request. Sending after the client has disconnected is harmless. */
export interface Reply {
  send(answer: Answer): void
  fail(error: Error): void
  /** The client has disconnected: nothing that is sent arrives. */
  readonly aborted: boolean
}

/** Defines a route; the handler's types are inferred from the schemas. */
export function route<
  P extends TObject | undefined = undefined,
  Q extends TObject | undefined = undefined,
  B extends TSchema | undefined = undefined,
>(definition: Route<P, Q, B>): Route {
  return definition as unknown as Route
}

/**
 * An endpoint that every process can describe, but only a process with certain parts can answer. The others pass its
 * requests on. Write it with {@link routeFor}.
 */
export interface RouteFor<Parts> {
  readonly shape: RouteShape
  readonly handlerOf: (parts: Parts) => Route['handler']
}

/** Defines routes whose handlers get those parts, too. The other types are inferred as in {@link route}. */
export function routeFor<Parts>() {
  return <
    P extends TObject | undefined = undefined,
    Q extends TObject | undefined = undefined,
    B extends TSchema | undefined = undefined,
  >({
    handler,
    ...shape
  }: RouteShape<P, Q, B> & {
    handler(call: Call<P, Q, B>, parts: Parts): Answer | Promise<Answer>
  }): RouteFor<Parts> => ({
    shape: shape as unknown as RouteShape,
    handlerOf: (parts) => (call) => handler(call as Call<P, Q, B>, parts),
  })
}

/** The routes, answered with these parts. */
export function answeredWith<Parts>(routes: readonly RouteFor<Parts>[], parts: Parts): Route[] {
  return routes.map(({ shape, handlerOf }) => ({ ...shape, handler: handlerOf(parts) }))
}
