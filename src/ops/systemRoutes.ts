import { statfs } from 'node:fs/promises'
import { totalmem } from 'node:os'
import Type from 'typebox'
import { route, type Route } from '../http/route.ts'
import { isoDate } from '../model/isoDate.ts'
import { outcome, type ReadinessCheck } from './healthRoutes.ts'
import type { Metrics } from './metrics.ts'
import { checkOperator, type OperatorParts } from './operator.ts'

export interface SystemParts extends OperatorParts {
  readonly version: string
  readonly engine: string
  /** The path of the data folder. */
  readonly folder: string
  readonly checks: readonly ReadinessCheck[]
  readonly metrics: Metrics
}

const STARTED_AT = Date.now() - process.uptime() * 1000
const TAG = 'Operations'

const Bytes = Type.Integer({ description: 'Bytes.' })
const System = Type.Object({
  version: Type.String(),
  node: Type.String(),
  engine: Type.String(),
  startedAt: Type.String({ format: 'date-time' }),
  memory: Type.Object({ used: Bytes, total: Bytes }),
  disk: Type.Object({ free: Bytes, total: Bytes }, { description: 'The disk with the data folder.' }),
  checks: Type.Array(Type.Object({ name: Type.String(), ok: Type.Boolean(), detail: Type.String() })),
  metrics: Type.Record(Type.String(), Type.Number(), {
    description: 'The metrics of this process that have no labels, by name, as in GET /metrics.',
  }),
})

/** Figures of the whole process, for admins of the operator's project. Others may not see them (G8). */
export function systemRoutes(parts: SystemParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/system',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'Get the state of the server',
      description:
        'Returns the state of the process that answers. Only for the project that the option `operatorProject` names.',
      answers: { 200: Type.Object({ system: System }) },
      async handler({ credentials }) {
        checkOperator(credentials!, parts)
        const { version, engine, folder, checks, metrics } = parts
        const { bavail, blocks, bsize } = await statfs(folder)
        return {
          body: {
            system: {
              version,
              node: process.version,
              engine,
              startedAt: isoDate(STARTED_AT),
              memory: { used: process.memoryUsage.rss(), total: totalmem() },
              disk: { free: bavail * bsize, total: blocks * bsize },
              checks: checks.map((one) => ({ name: one.name, ...outcome(one) })),
              metrics: metrics.plain(),
            },
          },
        }
      },
    }),
  ]
}
