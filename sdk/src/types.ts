import type { components, operations, paths } from './api.ts'

/** Types of the calls, derived from the paths of the OpenAPI document. */

type Schemas = components['schemas']

export type User = Schemas['User']
export type Event = Schemas['Event']
export type Geofence = Schemas['Geofence']
export type GeofenceDefinition = Schemas['GeofenceDefinition']
export type Beacon = Schemas['Beacon']
export type BeaconDefinition = Schemas['BeaconDefinition']
export type Settings = Schemas['Settings']

/** A location update. */
export type Update = operations['postV1Track']['requestBody']['content']['application/json']

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The paths that support the method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never
}[keyof paths]

type OperationOf<P extends keyof paths, M extends Method> = M extends keyof paths[P]
  ? NonNullable<paths[P][M]>
  : never

type ParamsOf<O> = O extends { parameters: { path: infer T } } ? { readonly params: T } : unknown

type QueryOf<O> = O extends { parameters: { query: infer T } }
  ? { readonly query: T }
  : O extends { parameters: { query?: infer T } }
    ? { readonly query?: T }
    : unknown

type Content<T> = T extends { 'application/json': infer Json }
  ? Json
  : T extends { 'text/csv': string }
    ? string | Blob
    : never

type BodyOf<O> = O extends { requestBody: { content: infer T } }
  ? { readonly body: Content<T> }
  : O extends { requestBody?: { content: infer T } }
    ? { readonly body?: Content<T> }
    : unknown

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

/** What a call takes besides its path: the `params` of the path, `query` and `body`. */
export type OptionsOf<P extends keyof paths, M extends Method> = ParamsOf<OperationOf<P, M>> &
  QueryOf<OperationOf<P, M>> &
  BodyOf<OperationOf<P, M>> &
  CallOptions

/** The options, which may be omitted if none of them is required. */
export type Arguments<P extends keyof paths, M extends Method> =
  CallOptions extends OptionsOf<P, M> ? [options?: OptionsOf<P, M>] : [options: OptionsOf<P, M>]

type AnswerContent<O> = O extends { responses: { 200: { content: infer T } } }
  ? T
  : O extends { responses: { 202: { content: infer T } } }
    ? T
    : never

/** What a call resolves to: the JSON of its answer, or its text. */
export type AnswerOf<P extends keyof paths, M extends Method> =
  AnswerContent<OperationOf<P, M>> extends { 'application/json': infer Json } ? Json : string
