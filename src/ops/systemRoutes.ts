import { statfs } from 'node:fs/promises'
import { totalmem } from 'node:os'
import Type from 'typebox'
import type { Credentials } from '../http/credentials.ts'
import { route, type Route } from '../http/route.ts'
import { isoDate } from '../model/isoDate.ts'
import { projectOf } from '../model/scope.ts'
import { ApiError } from '../runtime/errors.ts'
import { outcome, type ReadinessCheck } from './healthRoutes.ts'
import type { Metrics } from './metrics.ts'

/** A map region, as operators see it. */
export interface ShownMapRegion {
  readonly name: string
  /** West, south, east and north in degrees. */
  readonly bounds: readonly [number, number, number, number]
  readonly attribution: string
  readonly products: readonly string[]
}

export interface SystemParts {
  /** The project whose admins may see the figures of the whole process; 0 means the first one. */
  readonly operatorProject: number
  /** The id of the first project. */
  readonly firstProject: () => number | undefined
  readonly version: string
  readonly engine: string
  /** The path of the data folder. */
  readonly folder: string
  readonly checks: readonly ReadinessCheck[]
  readonly metrics: Metrics
  readonly mapRegions: () => readonly ShownMapRegion[]
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
  disk: Type.Object({ free: Bytes, total: Bytes }, { description: 'Where the data folder is.' }),
  checks: Type.Array(Type.Object({ name: Type.String(), ok: Type.Boolean(), detail: Type.String() })),
  metrics: Type.Record(Type.String(), Type.Number(), {
    description: 'The metrics of this process that have no labels, by name, as in GET /metrics.',
  }),
})
const MapRegionSchema = Type.Object({
  name: Type.String(),
  bounds: Type.Array(Type.Number(), { description: 'West, south, east, north in degrees.' }),
  attribution: Type.String(),
  products: Type.Array(Type.String(), { description: '`routing`, `geocoding`, `maps`.' }),
})

/** Figures of the whole process, for admins of the operator's project. Others may not see them (G8). */
export function systemRoutes(parts: SystemParts): Route[] {
  const check = ({ scope }: Credentials) => {
    const { operatorProject, firstProject } = parts
    const operator = operatorProject === 0 ? firstProject() : operatorProject
    if (projectOf(scope) !== operator)
      throw new ApiError(403, 'Forbidden. This is for the project that the option operatorProject names.')
  }
  return [
    route({
      method: 'GET',
      path: '/v1/system',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'Get the state of the server',
      description:
        'Of the process that answers. Only for the project that the option `operatorProject` names.',
      answers: { 200: Type.Object({ system: System }) },
      async handler({ credentials }) {
        check(credentials!)
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
              metrics: await metrics.plain(),
            },
          },
        }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/map-regions',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'List the imported map regions',
      description:
        'Only for the project that the option `operatorProject` names. `npm run region` imports them.',
      answers: { 200: Type.Object({ mapRegions: Type.Array(MapRegionSchema) }) },
      handler({ credentials }) {
        check(credentials!)
        return { body: { mapRegions: parts.mapRegions() } }
      },
    }),
  ]
}
