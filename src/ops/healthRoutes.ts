import Type from 'typebox'
import { route, type Route } from '../api/route.ts'
import type { Metrics } from './metrics.ts'

/** One thing that must hold before requests may come. */
export interface ReadinessCheck {
  readonly name: string
  /** Must be quick: every probe calls it. */
  check(): { readonly ok: boolean; readonly detail: string }
}

const CheckResult = Type.Object({ name: Type.String(), ok: Type.Boolean(), detail: Type.String() })

/**
 * GET /healthz, /readyz and /metrics. They ask for no key, because probes and scrapers have none, and say nothing of
 * any project's data.
 */
export function healthRoutes(checks: readonly ReadinessCheck[], metrics: Metrics): Route[] {
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
      tag: 'Operations',
      answers: { 200: Type.Object({}, { contentType: 'text/plain' }) },
      async handler() {
        return { text: { contentType: metrics.registry.contentType, content: await metrics.text() } }
      },
    }),
  ]
}

/** A check that throws has failed: a probe is answered whatever happens. */
function outcome(one: ReadinessCheck): { ok: boolean; detail: string } {
  try {
    return one.check()
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : String(error) }
  }
}
