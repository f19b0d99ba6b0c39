/** Routes that are computed in another process: src/cluster/gateway/remoteRoutes.ts. */
import t from 'tap'
import Type from 'typebox'
import { route, type Call, type Reply, type Route } from '../../src/http/route.ts'
import { remoteRoutes, serveRoutes } from '../../src/cluster/gateway/remoteRoutes.ts'
import { badParam, ApiError } from '../../src/runtime/errors.ts'
import { FAIR, SimulatedCalls } from './kit.ts'
import { Random } from '../actor/world.ts'

t.test('a handler in another process gives the same answers as one in this process', async (t) => {
  const calls = new SimulatedCalls(new Random(1), FAIR)
  const one = {
    method: 'POST',
    auth: 'secret',
    tag: 'x',
    summary: 'x',
    answers: { 200: Type.Object({}) },
  } as const
  const routes = [
    route({
      ...one,
      path: '/v1/things/:id',
      params: Type.Object({ id: Type.String() }),
      handler: async ({ params, credentials, body }) => ({
        meta: { hasMore: true },
        body: { params, credentials, body },
      }),
    }),
    route({
      ...one,
      path: '/v1/refused',
      handler: () => {
        throw badParam('url', 'Invalid url.')
      },
    }),
    route({
      ...one,
      path: '/v1/busy',
      handler: async () => {
        throw new ApiError(429, 'Slow down.', { retryAfter: 7, type: 'second' })
      },
    }),
    route({
      ...one,
      path: '/v1/broken',
      handler: async () => {
        throw new TypeError('x is not a function')
      },
    }),
  ]
  const asking = remoteRoutes(routes, calls, 'things', 'Nobody is there.')
  const call = {
    params: { id: '1' },
    query: undefined,
    body: { a: [1, null] },
    credentials: { scope: 3, level: 'secret', keyId: 'k' },
    ip: '::1',
    receivedAt: 1,
    requestId: 'r',
  } as unknown as Call<undefined, undefined, undefined>
  const ask = async (asked: Route) => asked.handler(call, {} as Reply)
  const [things, refused, busy, broken] = asking as [Route, Route, Route, Route]
  await t.rejects(ask(things), { code: 503, message: 'Nobody is there.', retryAfter: 1 })

  const served = serveRoutes(routes.slice(0, 3), calls, 'things')
  t.strictSame(await ask(things), {
    meta: { hasMore: true },
    body: { params: { id: '1' }, credentials: call.credentials, body: { a: [1, null] } },
  })
  await t.rejects(ask(refused), { name: 'ApiError', code: 400, param: 'url', message: 'url: Invalid url.' })
  await t.rejects(ask(busy), { name: 'ApiError', code: 429, retryAfter: 7, type: 'second' })
  await t.rejects(ask(broken), /There is no POST \/v1\/broken here/)
  await served.stop()
  const again = serveRoutes(routes, calls, 'things')
  await t.rejects(ask(broken), { name: 'Error', message: 'x is not a function' })
  await again.stop()
})
