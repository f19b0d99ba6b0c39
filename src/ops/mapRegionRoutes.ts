import type { Readable } from 'node:stream'
import Type from 'typebox'
import { route, type Route } from '../http/route.ts'
import { DateTime, Name } from '../http/schemas.ts'
import { isoDate } from '../model/isoDate.ts'
import { ApiError, badParam, notFound } from '../runtime/errors.ts'
import { checkLive, checkOperator, type OperatorParts } from './operator.ts'

/** A map region, as operators see it. */
export interface ShownMapRegion {
  readonly name: string
  /** West, south, east, north in degrees. */
  readonly bounds: readonly [number, number, number, number]
  readonly attribution: string
  readonly products: readonly string[]
}

/** An import over HTTP. */
interface ShownImport {
  readonly id: string
  readonly name: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  readonly finishedAt?: number | undefined
  readonly status: string
  readonly bytes: number
  readonly stage?: string | undefined
  /** How much of the stage is done, from 0 to 1. */
  readonly share?: number | undefined
  readonly message?: string | undefined
  readonly notes: readonly string[]
}

/** Imports map regions; see MapRegionUploads. */
export interface MapRegionImporter {
  readonly all: readonly ShownImport[]
  get(id: string): ShownImport | undefined
  receive(name: string, file: Readable, expected: number | undefined): Promise<ShownImport>
  cancel(id: string): Promise<ShownImport | undefined>
}

export interface MapRegionRouteParts extends OperatorParts {
  readonly mapRegions: () => readonly ShownMapRegion[]
  /** Or a sentence that says why regions are not imported over HTTP. */
  readonly importer: MapRegionImporter | string
  /** Bytes of an extract. */
  readonly maxBytes: number
}

const TAG = 'Operations'
const ONLY = 'Only for the project that the option `operatorProject` names.'
const EXTRACT_TYPE = 'application/octet-stream'
/** As mapRegionName makes it. */
const NAME = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/
const IDS = Type.Object({ id: Name(64, 'The `_id` of the import.') })

const MapRegionSchema = Type.Object({
  name: Type.String(),
  bounds: Type.Array(Type.Number(), { description: 'West, south, east, north in degrees.' }),
  attribution: Type.String(),
  products: Type.Array(Type.String(), { description: '`routing`, `geocoding`, `maps`.' }),
})
const ImportSchema = Type.Object(
  {
    _id: Type.String(),
    name: Type.String({ description: 'The name of the region.' }),
    status: Type.Enum(['uploading', 'importing', 'completed', 'failed', 'canceled', 'interrupted'], {
      description:
        '`completed`: the region is in service. In all other cases, the regions from before stay in service. `interrupted`: the server ended in the meantime.',
    }),
    createdAt: DateTime,
    finishedAt: Type.Optional(DateTime),
    bytes: Type.Integer({ minimum: 0, description: 'Bytes of the extract that have arrived.' }),
    stage: Type.Optional(
      Type.String({
        description: 'During the import: the present stage, such as `building routing tiles`.',
      }),
    ),
    progress: Type.Optional(
      Type.Number({ minimum: 0, maximum: 1, description: 'The share of the stage that is done.' }),
    ),
    message: Type.Optional(Type.String({ description: 'Why the import did not complete.' })),
    notes: Type.Array(Type.String(), {
      description:
        'A sentence for each part of the extract that the region lacks, because the routing engine cannot read it.',
    }),
  },
  { title: 'MapRegionImport' },
)
const OneImport = Type.Object({ mapRegionImport: ImportSchema })

/** The map regions of the process, and their import over HTTP, for admins of the operator's project. */
export function mapRegionRoutes(parts: MapRegionRouteParts): Route[] {
  const { importer, maxBytes } = parts
  const mayImport = (): MapRegionImporter => {
    if (typeof importer === 'string') throw new ApiError(409, importer)
    return importer
  }
  return [
    route({
      method: 'GET',
      path: '/v1/map-regions',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'List the imported map regions',
      description: `${ONLY} Where regions overlap, the first one is used.`,
      answers: { 200: Type.Object({ mapRegions: Type.Array(MapRegionSchema) }) },
      handler({ credentials }) {
        checkOperator(credentials!, parts)
        return { body: { mapRegions: parts.mapRegions() } }
      },
    }),
    route({
      method: 'PUT',
      path: '/v1/map-regions/:name',
      auth: 'secret',
      role: 'admin',
      isEnteredFirst: true,
      tag: TAG,
      summary: 'Import a map region',
      description:
        `${ONLY} With the key of the live environment, or an account. The body is an extract of OpenStreetMap (\`.osm.pbf\`). The answer ` +
        'comes when the file is there; `GET /v1/map-regions/imports/{id}` has the progress of the import. A region of that name is replaced when the new one is ' +
        'complete; until then, and if the import fails, it stays in service. Only one import is in progress at a time. Embedded engine only: in the distributed ' +
        'one, each process has its own regions (`npm run region`).',
      headers: ['content-length'],
      params: Type.Object({
        name: Name(
          64,
          'The name of the region: lower-case letters, digits, `.`, `_` and `-`, with a letter or a digit at both ends.',
        ),
      }),
      upload: { contentTypes: [EXTRACT_TYPE], maxBytes, description: 'The extract, as it is.' },
      answers: {
        202: OneImport,
        409: Type.Object(
          {},
          {
            description:
              'Conflict: another import is in progress, or this server does not import map regions over HTTP.',
          },
        ),
      },
      async handler({ credentials, params, upload, headers }) {
        checkOperator(credentials!, parts)
        checkLive(credentials!)
        const { name } = params
        if (!NAME.test(name))
          throw badParam(
            'name',
            'Must be small letters, digits, ., _ and -, with a letter or a digit at both ends.',
          )
        const length = headers['content-length']
        const expected = length === undefined ? undefined : Number(length)
        const received = await mayImport().receive(name, upload!, expected)
        return { status: 202, body: { mapRegionImport: importAnswer(received) } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/map-regions/imports',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'List imports of map regions over HTTP, newest first',
      description: `${ONLY} The newest 20 are kept.`,
      answers: { 200: Type.Object({ mapRegionImports: Type.Array(ImportSchema) }) },
      handler({ credentials }) {
        checkOperator(credentials!, parts)
        const all = typeof importer === 'string' ? [] : importer.all
        return { body: { mapRegionImports: all.map(importAnswer) } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/map-regions/imports/:id',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'Get an import of a map region with its progress',
      description: ONLY,
      params: IDS,
      answers: { 200: OneImport },
      handler({ credentials, params }) {
        checkOperator(credentials!, parts)
        const found = typeof importer === 'string' ? undefined : importer.get(params.id)
        if (found === undefined) throw notFound('Import')
        return { body: { mapRegionImport: importAnswer(found) } }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/map-regions/imports/:id/cancel',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'Cancel the import of a map region',
      description: `${ONLY} The regions that were in service stay in service, and nothing is left of the import.`,
      params: IDS,
      answers: {
        200: OneImport,
        409: Type.Object({}, { description: 'Conflict: the import has ended already.' }),
      },
      async handler({ credentials, params }) {
        checkOperator(credentials!, parts)
        if (typeof importer === 'string' || importer.get(params.id) === undefined) throw notFound('Import')
        checkLive(credentials!)
        const canceled = await importer.cancel(params.id)
        if (canceled === undefined) throw notFound('Import')
        return { body: { mapRegionImport: importAnswer(canceled) } }
      },
    }),
  ]
}

function importAnswer(one: ShownImport) {
  const { id, name, status, createdAt, finishedAt, bytes, stage, share, message, notes } = one
  return {
    _id: id,
    name,
    status,
    createdAt: isoDate(createdAt),
    finishedAt: finishedAt === undefined ? undefined : isoDate(finishedAt),
    bytes,
    stage,
    progress: share,
    message,
    notes,
  }
}
