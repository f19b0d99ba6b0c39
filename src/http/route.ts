import type { Readable } from 'node:stream'
import type { Static, TObject, TSchema } from 'typebox'
import type { Credentials } from './credentials.ts'
import type { AcceptsSegments } from './router.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Who may call: anybody, holders of any key, holders of a secret key. */
export type AuthLevel = 'none' | 'publishable' | 'secret'

/** A token bucket that holds one second's worth of requests. */
export interface RateLimit {
  readonly perSecond: number
  /** Whose bucket: a key's, a requester's address's, or a device's, which the device's actor keeps. */
  readonly by: 'key' | 'address' | 'device'
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
   * The body as it arrives, on routes with {@link Route.upload}; undefined on all others. Reading it throws an ApiError
   * when the body exceeds its limit, the client goes or the server shuts down: let it pass, it is the answer. What is
   * not read when the handler answers is dropped.
   */
  readonly upload: Readable | undefined
  /** Undefined only on routes of auth level `none`. */
  readonly credentials: Credentials | undefined
  /** The requester's address: the peer's, or X-Forwarded-For where the peer is a trusted proxy. */
  readonly ip: string
  /** Epoch milliseconds when the request had arrived whole; where there is an `upload`, its head. */
  readonly receivedAt: number
  readonly requestId: string
  /** The request carries an SDK's version, in a header or its body. */
  readonly fromSdk: boolean
  /** Of {@link Route.headers}, those that were sent. */
  readonly headers: Readonly<Record<string, string>>
}

/** What a handler answers: members beside `meta`, and members of `meta` beside `code`. */
export interface Answer {
  /** Default 200. */
  readonly status?: number
  readonly meta?: Readonly<Record<string, unknown>>
  readonly body?: Readonly<Record<string, unknown>>
  /** In place of `body`: finished JSON text of the members beside `meta`, no braces: `"user":{…},"events":[]`. */
  readonly json?: string
  /** In place of `json`: the same in pieces, which together may be megabytes: they are written in turns with other requests. */
  readonly pieces?: readonly string[]
  /** In place of all: a text that is not the API's JSON. */
  readonly text?: { readonly contentType: string; readonly content: string }
  /** In place of all: a file, or bytes that need to be valid only until `send` returns. With an `etag` (no quotes), a client that has this version is answered 304. */
  readonly bytes?: { readonly contentType: string; readonly content: Uint8Array; readonly etag?: string }
  /** In place of all: an answer that is made while it is sent. */
  readonly stream?: AnswerStream
  /** Further headers, by name. Their values must not come from a request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer in pieces of some kilobytes, asked for as the client takes them, so that it may be of any size. */
export interface AnswerStream {
  readonly contentType: string
  /** Offered for saving under this name: letters, digits, `.`, `_` and `-`. */
  readonly fileName?: string
  /**
   * Holds nothing before its first piece is asked for: HEAD asks for none, nor does who has hung up by then. Let go of
   * (`return()`) when the client goes later. An error before the first piece is answered like any other; after
   * it, it is logged and cuts the connection, so that nobody takes a part for the whole.
   */
  readonly chunks: AsyncIterable<string | Uint8Array>
  /**
   * Where the next piece may be a long time in coming: a text that means nothing to the reader. It is sent behind a
   * piece that a slow reader did not take at once.
   */
  readonly filler?: string
}

/** A body that is not collected but handed over as it arrives. */
export interface UploadRule {
  /** Media types, in lower case and without parameters; any other is answered 415. */
  readonly contentTypes: readonly string[]
  /** A longer body is answered 413. */
  readonly maxBytes: number
  /** For the reference: what the body holds. */
  readonly description?: string
}

/**
 * The definition of one endpoint: from it come routing, authentication, limits, validation, static types and the
 * OpenAPI document. Write it through {@link route} so that the handler's types follow the schemas.
 */
export interface Route<
  P extends TObject | undefined = TObject | undefined,
  Q extends TObject | undefined = TObject | undefined,
  B extends TSchema | undefined = TSchema | undefined,
> {
  readonly method: Method
  /** `/v1/geofences/:tag/:externalId`; a parameter fills one segment. */
  readonly path: string
  /** Where another route of the method has some of the paths: `/x/:id/users` those with an id, `/x/:tag/:externalId` the others. */
  readonly accepts?: AcceptsSegments
  readonly auth: AuthLevel
  /** Given by the table in limits.ts. */
  readonly limit?: RateLimit
  /** Heads the OpenAPI operation. */
  readonly summary: string
  readonly description?: string
  /** Groups operations in the reference. */
  readonly tag: string
  readonly params?: P
  /** Texts are turned into what the schema wants; a property with a `default` gets it when left out. */
  readonly query?: Q
  /** Names, in lower case, of the request's headers that the handler reads. */
  readonly headers?: readonly string[]
  /**
   * An empty body stands for `{}`, null for absent (where the schema does not admit null at its top level). Fields
   * that the schema does not know are left alone; a `default` is documentation only.
   */
  readonly body?: B
  /** Where a legitimate body may be longer than the server takes elsewhere. */
  readonly maxBodyBytes?: number
  /** In place of `body`: the handler runs as soon as the head of the request is in, and reads `call.upload`. */
  readonly upload?: UploadRule
  /** Members of `meta` beside `code` in a successful answer. */
  readonly meta?: TObject
  /**
   * By status: the schema of the members beside `meta`; or, as `contents`, the schema of each content type that the answer may have instead.
   */
  readonly answers: Readonly<Record<number, TObject>>
  /**
   * A faster way for the usual body: gets the bytes of what is said to be JSON (valid during the call only) before anything
   * else does, and does exactly what `body` and `handler` would; or nothing, answering undefined, to leave it to them.
   */
  handleBytes?(bytes: Buffer, call: Call<P, Q, undefined>, reply: Reply): Answer | typeof LATER | undefined
  /**
   * Answers at once, through a promise, or, where a promise per request costs too much, returns {@link LATER} and
   * answers through `reply`. What it throws is answered: ApiError as it says, anything else as 500.
   */
  handler(call: Call<P, Q, B>, reply: Reply): Answer | Promise<Answer> | typeof LATER
}

/** Returned by a handler that answers through its {@link Reply} later on. */
export const LATER: unique symbol = Symbol('later')

/** The other end of one request. Sending after the client has gone is harmless. */
export interface Reply {
  send(answer: Answer): void
  fail(error: Error): void
  /** The client has hung up: what is sent goes nowhere. */
  readonly aborted: boolean
}

/** Defines a route with its handler's types inferred from the schemas. */
export function route<
  P extends TObject | undefined = undefined,
  Q extends TObject | undefined = undefined,
  B extends TSchema | undefined = undefined,
>(definition: Route<P, Q, B>): Route {
  return definition as unknown as Route
}
