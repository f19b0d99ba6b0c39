/** What the tests of the interface share: a server, its document, and short ways to write frequent requests. */
import type { Test } from 'tap'
import type { ApiContract, Json, Operation } from '../kit/apiContract.ts'
import { KEYS, startServer, type HttpAnswer, type Server, type ServerOptions } from '../kit/server.ts'

export type { Json, Operation }

/** A server and its document, with which {@link Server.api} compares every answer. */
export class Api {
  readonly server: Server
  readonly #contract: ApiContract

  /** @throws Error if the server serves no document */
  constructor(server: Server) {
    if (server.contract === undefined) throw new Error('the server has no OpenAPI document')
    this.server = server
    this.#contract = server.contract
  }

  get operations(): readonly Operation[] {
    return this.#contract.operations
  }

  /** The operations that need no session of a person; the others are tested in test/accounts. */
  get withoutPeople(): Operation[] {
    return this.operations.filter((operation) => !isForPeople(operation))
  }

  /** Those that need one. */
  get forPeople(): Operation[] {
    return this.operations.filter(isForPeople)
  }

  /** {@link Server.api} */
  call = (...request: Parameters<Server['api']>): Promise<HttpAnswer> => this.server.api(...request)

  /**
   * The same server for a person who has signed in: requests have the session instead of a key.
   * @param cookie of the session
   */
  withSession(cookie: string): Api {
    const session = { cookie, origin: this.server.url, 'x-ringfence-environment': 'test' }
    const api = new Api(this.server)
    api.call = (method, path, body, _, headers) =>
      this.call(method, path, body, null, { ...session, ...headers })
    return api
  }

  /** POST /v1/track with the test publishable key. Throws unless the answer is 200; resolves to events and user. */
  async track(
    update: Json,
    key: string = KEYS.testPublishable,
    headers: Record<string, string> = {},
  ): Promise<Json> {
    return this.#good('POST', '/v1/track', update, key, headers)
  }

  /** PUT of a circle by its pair. Throws unless the answer is 200; resolves to the geofence. */
  async circle(
    pair: string,
    [longitude, latitude]: readonly [number, number],
    radius: number,
    more: Json = {},
    key: string = KEYS.testSecret,
  ): Promise<Json> {
    const body = { description: pair, type: 'circle', coordinates: [longitude, latitude], radius, ...more }
    return (await this.#good('PUT', `/v1/geofences/${pair}`, body, key)).geofence
  }

  /** PATCH of the test environment's settings. Throws unless the answer is 200. */
  async settings(change: Json): Promise<Json> {
    return (await this.#good('PATCH', '/v1/settings', change, KEYS.testSecret)).settings
  }

  /** A request that must succeed. Resolves to the body. */
  async #good(method: string, path: string, body: Json, key: string, headers = {}): Promise<Json> {
    const answer = await this.call(method, path, body, key, headers)
    if (answer.status !== 200) throw new Error(`${method} ${path} → ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  /** {@link ApiContract.check} */
  check(...answer: Parameters<ApiContract['check']>): void {
    this.#contract.check(...answer)
  }

  /** {@link ApiContract.operationOf} */
  operationOf(method: string, path: string): Operation | undefined {
    return this.#contract.operationOf(method, path)
  }

  /** {@link ApiContract.resolve} */
  resolve(schema: Json): Json {
    return this.#contract.resolve(schema)
  }
}

function isForPeople({ definition }: Operation): boolean {
  return definition.tags.includes('People')
}

/** The latitude that many metres further north, accurate to a thousandth near 50° N. */
export function north(latitude: number, meters: number): number {
  return latitude + meters / 111_229
}

/** `entered shop/1 3`, `dwelled …`: type, pair and confidence of events, in order. */
export function briefly(events: readonly Json[]): string[] {
  return events.map(
    ({ type, geofence, confidence }) =>
      `${type.slice('user.'.length).split('_')[0]} ${geofence.tag}/${geofence.externalId} ${confidence}`,
  )
}

/** Starts a server that is stopped when the test ends. */
export async function startApi(t: Test, options?: ServerOptions): Promise<Api> {
  return new Api(await startServer(t, options))
}

/** Epoch milliseconds in the interface's format. */
export const iso = (time: number) => new Date(time).toISOString()

/** A separate place and device for each test, far from all others of this file. */
export function createOwn() {
  let places = 0
  let devices = 0
  return {
    place: (): [number, number] => [places++ - 150, 50],
    device: () => `device-${++devices}`,
  }
}

/** The location of an update with an accuracy of 5 metres, the given number of metres north of the place. */
export const at = ([longitude, latitude]: readonly [number, number], metersNorth = 0) => ({
  latitude: north(latitude, metersNorth),
  longitude,
  accuracy: 5,
})
