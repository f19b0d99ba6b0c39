import { createRequire } from 'node:module'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Agent, buildConnector, Client } from 'undici'

/**
 * The HTTP client, loaded when it is first used.
 *
 * The obvious way imports `undici` as a whole. That compiles 110 modules, most of them for a browser's fetch, caches,
 * proxies and mocks, without a pause of the event loop: with the first request of a webhook, everybody else waited for
 * a tenth of a second. Here, only the modules of the client itself are loaded, some in each turn.
 */
export interface HttpClientLibrary {
  readonly Agent: typeof Agent
  readonly Client: typeof Client
  readonly buildConnector: typeof buildConnector
}

/**
 * Modules of the library in an order in which each one loads only a few others that have not been loaded before. One
 * that is left out is loaded by the next one that needs it.
 */
const PARTS = [
  'core/errors.js',
  'core/constants.js',
  'core/tree.js',
  'core/util.js',
  'core/request.js',
  'web/webidl/index.js',
  'web/infra/index.js',
  'web/fetch/data-url.js',
  'web/fetch/util.js',
  'web/fetch/formdata.js',
  'web/fetch/formdata-parser.js',
  'web/fetch/body.js',
  'core/connect.js',
  'dispatcher/client-h1.js',
  'dispatcher/client-h2.js',
  'dispatcher/client.js',
  'dispatcher/agent.js',
  'api/api-request.js',
]

const require = createRequire(import.meta.url)

/** Loads the client in turns with everything else. It costs little from the second call on. */
export async function httpClient(): Promise<HttpClientLibrary> {
  for (const part of PARTS) {
    await nextTurn()
    loadPart(part)
  }
  // The library's entry does the same.
  const dispatcher = loadPart('dispatcher/dispatcher.js') as { readonly prototype: object }
  Object.assign(dispatcher.prototype, { request: loadPart('api/api-request.js') })
  return {
    Agent: loadPart('dispatcher/agent.js') as typeof Agent,
    Client: loadPart('dispatcher/client.js') as typeof Client,
    buildConnector: loadPart('core/connect.js') as typeof buildConnector,
  }
}

function loadPart(part: string): unknown {
  return require(`undici/lib/${part}`)
}
