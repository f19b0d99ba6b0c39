import Type from 'typebox'
import { createdQuery, distinctPage, PageAnswers, PageQuery } from '../../http/listQuery.ts'
import type { Route } from '../../http/route.ts'
import { route } from '../../http/route.ts'
import { DateTime, Name, Page } from '../../http/schemas.ts'
import { isoDate } from '../../model/isoDate.ts'
import { isLive } from '../../model/scope.ts'
import { notFound } from '../../runtime/errors.ts'
import type { Beacons } from '../beacons/beaconEntity.ts'
import type { AreaFinder } from '../geofences/areaFinder.ts'
import type { Geofences } from '../geofences/geofences.ts'
import type { ImportRecord, RefusedRow } from './importHistory.ts'
import { MAX_ERRORS } from './importHistory.ts'
import type { ImportKind } from './importKinds.ts'
import { beaconImports, geofenceImports } from './importKinds.ts'
import { csvLine } from '../../http/csvLine.ts'
import { CSV } from './csvFormat.ts'
import { GEO_JSON } from './geoJsonFormat.ts'
import { importFile, type ImportRegistry } from './importRun.ts'

const TAG = 'Import and export'
const GEO_JSON_TYPE = 'application/geo+json'
const FEATURE_TEXT =
  ' A GeoJSON file (Content-Type `application/geo+json`) is a FeatureCollection, as an export or another program writes it. Its features are imported like rows: the fields are the ' +
  'properties of each feature. If it has no `externalId`, its `id` is used, and without a `description`, its property `name`. The geometry is a Polygon of one ring, a MultiPolygon of one polygon, or a Point with the ' +
  'property `radius`.'
const MAX_FILE_BYTES = 256 * 1024 * 1024

const Count = (description: string) => Type.Integer({ minimum: 0, description })

const RefusedRowSchema = Type.Object(
  {
    line: Type.Integer({ description: 'The line of the file where the row begins, counted from 1.' }),
    row: Type.Integer({ description: 'The row below the header, counted from 1.' }),
    column: Type.Optional(Type.String({ description: 'Absent if the error concerns the whole row.' })),
    message: Type.String(),
    value: Type.Optional(Type.String({ description: "The cell's first 100 characters." })),
  },
  { title: 'RefusedRow' },
)

const ImportSchema = Type.Object(
  {
    _id: Type.String(),
    kind: Type.Enum(['geofences', 'beacons']),
    live: Type.Boolean(),
    createdAt: DateTime,
    finishedAt: Type.Optional(DateTime),
    fileName: Type.Optional(Type.String()),
    dryRun: Type.Optional(Type.Boolean({ description: 'True if the file was only checked.' })),
    status: Type.Enum(['running', 'completed', 'interrupted', 'canceled'], {
      description: 'completed: every row was read, and created, updated or refused.',
    }),
    interruption: Type.Optional(
      Type.Object(
        { line: Type.Optional(Type.Integer()), message: Type.String() },
        {
          description:
            'Where and why the import stopped before the end of the file; the rows before were imported.',
        },
      ),
    ),
    rows: Count('Rows read: created, updated and refused ones.'),
    created: Count(''),
    updated: Count('Rows whose tag and externalId already existed, possibly from an earlier row.'),
    refused: Count(''),
    createdWithoutPair: Count('Created beacons that have no tag and externalId.'),
    note: Type.Optional(Type.String({ description: 'A warning to read before you import the file again.' })),
    errors: Type.Optional(
      Type.Array(RefusedRowSchema, {
        description: `The first ${MAX_ERRORS} refused rows. Only in the response about a single import, after it has ended.`,
      }),
    ),
    moreErrors: Type.Optional(Count('Refused rows beyond those in errors.')),
  },
  { title: 'Import' },
)
const OneImport = Type.Object({ import: ImportSchema })

/** The dependencies of the imports' routes. */
interface ImportRouteParts extends ImportRegistry {
  readonly geofences: Geofences
  readonly beacons: Beacons
}

/** Import of CSV files, and the history of imports, for each kind of record (secret keys). */
export function importRoutes(registry: ImportRouteParts, finder: AreaFinder): Route[] {
  return [geofenceImports(registry.geofences, finder), beaconImports(registry.beacons)].flatMap((kind) =>
    routesOf(registry, kind),
  )
}

function routesOf(registry: ImportRegistry, kind: ImportKind): Route[] {
  const { imports } = registry
  const { name, columns } = kind
  const hasFeatures = name === 'geofences'
  return [
    route({
      method: 'POST',
      path: `/v1/imports/${name}`,
      auth: 'secret',
      role: 'write',
      tag: TAG,
      summary: hasFeatures ? `Import ${name} from a CSV or GeoJSON file` : `Import ${name} from a CSV file`,
      description:
        'The first row names the columns. Each row creates a record, or replaces the definition of the one with its tag ' +
        'and externalId; a row that breaks a rule is refused, and the others are imported. If the header is invalid, ' +
        'the file is refused (400). The response comes when the import is finished; until then, the newest entry of the history tells how many rows are done. If the upload breaks off, the rows before that point stay imported.' +
        (hasFeatures ? FEATURE_TEXT : ''),
      headers: ['content-type'],
      query: Type.Object({
        fileName: Type.Optional(Name(256, 'The name of the file, for the history.')),
        dryRun: Type.Optional(
          Type.Boolean({
            description:
              'Only checks the file: nothing is written, not even to the history. A pair that the file repeats counts as ' +
              'created each time.',
          }),
        ),
      }),
      upload: {
        contentTypes: hasFeatures ? ['text/csv', GEO_JSON_TYPE] : ['text/csv'],
        maxBytes: MAX_FILE_BYTES,
        description:
          `CSV in UTF-8, separated by commas. Columns: ${columns.known.join(', ')}; ` +
          (columns.known.includes('operatingHours')
            ? 'metadata and operatingHours as JSON, or in a column for each key: metadata.{key}, operatingHours.{day}.'
            : 'metadata as JSON, or in a column for each key: metadata.{key}.'),
      },
      answers: { 200: OneImport },
      handler: async (call) => {
        const { scope } = call.credentials!
        const file = {
          scope,
          kind,
          format: call.headers['content-type']?.startsWith(GEO_JSON_TYPE) === true ? GEO_JSON : CSV,
          chunks: call.upload!,
          name: call.query.fileName,
          dryRun: call.query.dryRun,
        }
        const { record, errors } = await importFile(registry, file)
        return { body: { import: importAnswer(record, errors) } }
      },
    }),
    route({
      method: 'GET',
      path: `/v1/imports/${name}`,
      auth: 'secret',
      tag: TAG,
      summary: `List imports of ${name}, newest first`,
      description: 'The newest 1,000 are kept.',
      query: Type.Object({
        ...PageQuery,
        ...createdQuery('when it began, by the server’s clock'),
      }),
      meta: Page,
      answers: { 200: Type.Object({ imports: Type.Array(ImportSchema) }), ...PageAnswers },
      handler: (call) => {
        const { scope } = call.credentials!
        const find = (id: string) => imports.get(scope, name, id)?.record
        const page = imports.list(scope, name, distinctPage(call.query, find))
        const records = page.imports.map((record) => importAnswer(record))
        return { meta: { hasMore: page.hasMore }, body: { imports: records } }
      },
    }),
    route({
      method: 'GET',
      path: `/v1/imports/${name}/:id`,
      auth: 'secret',
      tag: TAG,
      summary: `Get an import of ${name} with the rows that it refused`,
      params: Type.Object({ id: Name(64) }),
      answers: { 200: OneImport },
      handler: (call) => {
        const found = imports.get(call.credentials!.scope, name, call.params.id)
        if (found === undefined) throw notFound('Import')
        return { body: { import: importAnswer(found.record, found.errors) } }
      },
    }),
    route({
      method: 'POST',
      path: `/v1/imports/${name}/:id/cancel`,
      auth: 'secret',
      role: 'write',
      tag: TAG,
      summary: `Cancel a running import of ${name}`,
      description:
        'The import ends within a second, after the rows that are being written. The rows imported until then stay.',
      params: Type.Object({ id: Name(64) }),
      answers: {
        200: OneImport,
        409: Type.Object({}, { description: 'Conflict: the import has ended already.' }),
      },
      handler: async (call) => {
        const { scope } = call.credentials!
        const record = await registry.edit(() => imports.cancel(scope, name, call.params.id))
        if (record === undefined) throw notFound('Import')
        return { body: { import: importAnswer(record) } }
      },
    }),
    route({
      method: 'GET',
      path: `/v1/imports/${name}/:id/refused`,
      auth: 'secret',
      tag: TAG,
      summary: `Get the rows that an import of ${name} refused, as CSV`,
      description: `The first ${MAX_ERRORS}, with the columns line, row, column, message and value.`,
      params: Type.Object({ id: Name(64) }),
      answers: {
        200: Type.Object({}, { contents: { 'text/csv': Type.String() }, description: 'The file.' }),
      },
      handler: (call) => {
        const found = imports.get(call.credentials!.scope, name, call.params.id)
        if (found === undefined) throw notFound('Import')
        return {
          text: {
            contentType: 'text/csv; charset=utf-8; header=present',
            content: refusedCsv(found.errors),
          },
          headers: { 'Content-Disposition': `attachment; filename="refused-${name}.csv"` },
        }
      },
    }),
  ]
}

/** A file with the refused rows, which a spreadsheet can open. */
function refusedCsv(errors: readonly RefusedRow[]): string {
  const lines = errors.map(({ line, row, column, message, value }) =>
    csvLine([line, row, column, message, value]),
  )
  return csvLine(['line', 'row', 'column', 'message', 'value']) + lines.join('')
}

/** The record as the API returns it, with its refused rows if they are given. */
function importAnswer(record: ImportRecord, errors?: readonly RefusedRow[]) {
  const { id, kind, scope, createdAt, finishedAt, fileName, status, interruption } = record
  const { rows, created, updated, refused, createdWithoutPair, moreErrors } = record
  return {
    _id: id,
    kind,
    live: isLive(scope),
    createdAt: isoDate(createdAt),
    finishedAt: finishedAt === undefined ? undefined : isoDate(finishedAt),
    fileName,
    dryRun: record.dryRun,
    status,
    interruption,
    rows,
    created,
    updated,
    refused,
    createdWithoutPair,
    note: createdWithoutPair === 0 ? undefined : withoutPairNote(createdWithoutPair),
    errors,
    moreErrors: errors === undefined ? undefined : moreErrors,
  }
}

function withoutPairNote(count: number): string {
  const rows = count === 1 ? '1 row has no tag and externalId' : `${count} rows have no tag and externalId`
  return `${rows}: importing the file again creates these beacons once more.`
}
