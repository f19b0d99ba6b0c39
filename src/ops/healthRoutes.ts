import { createHash, timingSafeEqual } from 'node:crypto'
import Type from 'typebox'
import { route, type Route } from '../http/route.ts'
import { ApiError } from '../runtime/errors.ts'
import type { Metrics } from './metrics.ts'

/** One condition for accepting requests. */
export interface ReadinessCheck {
  readonly name: string
  /** Must be quick, because every probe calls it. */
  check(): { readonly ok: boolean; readonly detail: string }
}

const CheckResult = Type.Object({ name: Type.String(), ok: Type.Boolean(), detail: Type.String() })

/**
 * GET /healthz, /readyz and /metrics. They need no key, because probes and scrapers have none, and contain no
 * project's data and no internal addresses, ports or files.
 * @param metricsToken required for /metrics; `''`: anybody may read it
 */
export function healthRoutes(
  checks: readonly ReadinessCheck[],
  metrics: Metrics,
  metricsToken: string,
): Route[] {
  return [
    route({
      method: 'GET',
      path: '/healthz',
      auth: 'none',
      summary: 'The process is alive',
      tag: 'Operations',
      answers: { 200: Type.Object({ status: Type.Literal('ok') }) },
      handler: () => ({ body: { status: 'ok' } }),
    }),
    route({
      method: 'GET',
      path: '/readyz',
      auth: 'none',
      summary: 'The process accepts requests',
      description: 'The response is 503 with the same members while a check fails.',
      tag: 'Operations',
      answers: { 200: Type.Object({ checks: Type.Array(CheckResult) }) },
      handler() {
        const results = checks.map((one) => ({ name: one.name, ...outcome(one) }))
        const failed = results.filter((result) => !result.ok).map((result) => result.name)
        if (failed.length === 0) return { body: { checks: results } }
        return {
          status: 503,
          meta: { message: `Not ready: ${failed.join(', ')}.` },
          body: { checks: results },
        }
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      auth: 'none',
      summary: 'Metrics in the Prometheus text format',
      description:
        'With the option `metricsToken`, needs the header `Authorization: Bearer <token>`. API keys do not count.',
      tag: 'Operations',
      headers: ['authorization'],
      answers: { 200: Type.Object({}, { contents: { 'text/plain': Type.String() } }) },
      async handler({ headers }) {
        if (metricsToken !== '' && !isToken(headers.authorization, metricsToken))
          throw new ApiError(
            401,
            'Unauthorized. Send the token of the option metricsToken in the Authorization header.',
          )
        return { text: await metrics.text() }
      },
    }),
  ]
}

/** Compares in a time that does not depend on how much of the token is right. */
function isToken(authorization: string | undefined, token: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(authorization ?? ''), hash(`Bearer ${token}`))
}

/** The outcome of a check. A check that throws has failed, so that a probe always gets an answer. */
export function outcome(one: ReadinessCheck): { ok: boolean; detail: string } {
  try {
    return one.check()
  } catch {
    return { ok: false, detail: 'the check failed' }
  }
}
