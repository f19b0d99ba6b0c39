/**
 * The routing endpoints with tiles, without the rest of a server: HTTP in front, Valhalla in a child process behind
 * it.
 */
import type { Test } from 'tap'
import { createServer } from '../../src/http/server.ts'
import { AnswerCache } from '../../src/geo/routing/cache.ts'
import { CachedEngine } from '../../src/geo/routing/engine.ts'
import { routingRoutes } from '../../src/geo/routing/routingRoutes.ts'
import { ValhallaProcess } from '../../src/geo/routing/valhallaProcess.ts'
import { systemClock as clock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'

export interface Served {
  /** @param query by name; a value of undefined leaves the parameter out */
  get(
    path: string,
    query: Readonly<Record<string, unknown>>,
    headers?: Record<string, string>,
  ): Promise<ServedAnswer>
  post(path: string, body: unknown): Promise<ServedAnswer>
}

export interface ServedAnswer {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  readonly body: any
}

export async function serveRoutes(t: Test, tiles: string): Promise<Served> {
  const logger = createLogger('fatal')
  const valhalla = new ValhallaProcess({
    tiles,
    name: 'test',
    threads: 1,
    timeoutMs: 300_000,
    memoryBytes: 2e9,
    maxWaiting: 1000,
    logger,
    ended() {},
  })
  const engine = new CachedEngine({
    valhalla,
    cache: new AnswerCache(0, clock),
    attribution: '© OpenStreetMap contributors',
    key: 'test',
    maxAgeMs: Infinity,
    observer: { asked() {} },
  })
  const server = createServer({
    routes: routingRoutes({ containing: () => engine }),
    authenticate: () => ({ scope: 1, level: 'publishable', keyId: 'test' }),
    trustedProxies: [],
    clock,
    logger,
  })
  const base = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
  t.teardown(async () => {
    await server.close()
    await valhalla.stop()
  })
  const call = async (path: string, init: RequestInit): Promise<ServedAnswer> => {
    const answer = await fetch(base + path, { ...init, headers: { authorization: 'key', ...init.headers } })
    const { status, headers } = answer
    const text = await answer.text()
    return { status, headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  return {
    get(path, query, headers = {}) {
      const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
      const text = new URLSearchParams(
        pairs.map(([name, value]): [string, string] => [name, String(value)]),
      ).toString()
      return call(`/v1/route/${path}?${text}`, { headers })
    },
    post: (path, body) =>
      call(`/v1/route/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  }
}
