import Type from 'typebox'
import type { TObject } from 'typebox'
import { csvLine } from '../../http/csvLine.ts'
import type { Route } from '../../http/route.ts'
import { route } from '../../http/route.ts'
import { Text } from '../../http/schemas.ts'
import { isLive } from '../../model/scope.ts'
import type { ScopeId } from '../../model/scope.ts'
import { beaconCells, geofenceCells } from './exportCells.ts'
import { BeaconCollection, beaconFeature, GeofenceCollection, geofenceFeature } from './exportFeatures.ts'
import { asOf } from '../../model/geofence.ts'
import { BEACON_COLUMNS, GEOFENCE_COLUMNS } from './importKinds.ts'
import { MAX_ID_LENGTH } from '../records/recordFields.ts'
import type { Referenced } from '../records/recordList.ts'
import type { Beacons } from '../beacons/beaconEntity.ts'
import type { Geofences } from '../geofences/geofences.ts'
import { Slice } from '../../runtime/slices.ts'

/** The largest number of records in a page. */
const PAGE_RECORDS = 500

const TAG = 'Import and export'

/** The description of the records of an export. */
interface ExportKind<T extends Referenced> {
  readonly name: string
  readonly columns: readonly string[]
  readonly cells: (record: T) => Readonly<Record<string, string | number | boolean | undefined>>
  readonly feature: (record: T) => unknown
  /** The schema of all records together, for the reference. */
  readonly collection: TObject
  /** The records in the order of their creation. */
  readonly records: (scope: ScopeId) => Iterable<T>
  /** The state of a record at a time in epoch milliseconds; undefined if it no longer exists. */
  readonly asOf: (record: T, time: number) => T | undefined
}

/** Which records are exported, and the time in epoch milliseconds whose state is shown. */
interface ExportWish {
  readonly scope: ScopeId
  readonly time: number
  readonly tag: string | undefined
}

/** The dependencies of the exports' routes. */
interface ExportRouteParts {
  readonly geofences: Geofences
  readonly beacons: Beacons
}

/** Export of all records of an environment, as a file to be imported again or for a map (secret keys). */
export function exportRoutes({ geofences, beacons }: ExportRouteParts): Route[] {
  return [
    routeOf({
      name: 'geofences',
      columns: GEOFENCE_COLUMNS.known.filter((column) => column !== 'address'),
      cells: geofenceCells,
      feature: geofenceFeature,
      collection: GeofenceCollection,
      records: (scope) => geofences.store(scope).inOrder(),
      asOf,
    }),
    routeOf({
      name: 'beacons',
      columns: BEACON_COLUMNS.known,
      cells: beaconCells,
      feature: beaconFeature,
      collection: BeaconCollection,
      records: (scope) => beacons.store(scope).inOrder(),
      asOf: (beacon) => beacon,
    }),
  ]
}

function routeOf<T extends Referenced>(kind: ExportKind<T>): Route {
  const { name, collection } = kind
  return route({
    method: 'GET',
    path: `/v1/exports/${name}`,
    auth: 'secret',
    tag: TAG,
    summary: `Export ${name}`,
    description:
      'In the order of creation. `csv` has the columns of an import, and importing it gives the same definitions; ' +
      '`geojson` is a FeatureCollection for maps, with the records as properties.',
    query: Type.Object({
      format: Type.Optional(Type.Enum(['csv', 'geojson'], { default: 'csv' })),
      tag: Type.Optional(Text(MAX_ID_LENGTH, 'Only records with this tag.')),
    }),
    answers: {
      200: Type.Object(
        {},
        {
          contents: { 'text/csv': Type.String(), 'application/geo+json': collection },
          description: 'The file.',
        },
      ),
    },
    handler: (call) => {
      const { format = 'csv', tag } = call.query
      const { scope } = call.credentials!
      const wish = { scope, time: call.receivedAt, tag }
      const environment = isLive(scope) ? 'live' : 'test'
      return {
        stream: {
          contentType: format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/geo+json',
          fileName: `${name}-${environment}.${format}`,
          chunks: format === 'csv' ? csvText(kind, wish) : geoJsonText(kind, wish),
        },
      }
    },
  })
}

/** The text of the requested records, some of them at a time, so that an export of any size delays nobody else. */
async function* pages<T extends Referenced>(
  { records, asOf: recordAsOf }: ExportKind<T>,
  { scope, time, tag }: ExportWish,
  write: (record: T) => string,
): AsyncGenerator<string[]> {
  const slice = new Slice()
  let page: string[] = []
  for (const stored of records(scope)) {
    const record = tag === undefined || stored.tag === tag ? recordAsOf(stored, time) : undefined
    if (record !== undefined) page.push(write(record))
    if (page.length < PAGE_RECORDS && !slice.isOver) continue
    if (page.length > 0) yield page
    page = []
    await slice.next()
  }
  if (page.length > 0) yield page
}

async function* csvText<T extends Referenced>(kind: ExportKind<T>, wish: ExportWish): AsyncGenerator<string> {
  const { columns, cells } = kind
  yield csvLine(columns)
  const line = (record: T) => {
    const row = cells(record)
    return csvLine(columns.map((column) => row[column]))
  }
  for await (const page of pages(kind, wish, line)) yield page.join('')
}

async function* geoJsonText<T extends Referenced>(
  kind: ExportKind<T>,
  wish: ExportWish,
): AsyncGenerator<string> {
  yield '{"type":"FeatureCollection","features":['
  let separator = '\n'
  for await (const page of pages(kind, wish, (record) => JSON.stringify(kind.feature(record)))) {
    yield separator + page.join(',\n')
    separator = ',\n'
  }
  yield '\n]}\n'
}
