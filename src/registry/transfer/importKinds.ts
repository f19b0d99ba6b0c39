import type { ScopeId } from '../../model/scope.ts'
import type { ColumnRules } from './csvColumns.ts'
import { BEACON_FIELDS, BeaconBody } from '../beacons/beaconFields.ts'
import { parseBeacon } from '../beacons/parseBeacon.ts'
import type { Fields } from '../../http/fields.ts'
import { present, required } from '../../http/fields.ts'
import type { AreaFinder } from '../geofences/areaFinder.ts'
import { GEOFENCE_AREA_FIELDS, GEOFENCE_FIELDS, NewGeofenceBody } from '../geofences/geofenceFields.ts'
import { parseGeofence } from '../geofences/parseGeofence.ts'
import { resolveArea } from '../geofences/resolveArea.ts'
import type { Beacons } from '../beacons/beaconEntity.ts'
import type { Geofences } from '../geofences/geofences.ts'
import type { ImportKindName } from './importHistory.ts'
import type { JointPut, Referenced } from '../records/recordList.ts'

/** The description of the records that an import creates. */
export interface ImportKind<Definition extends Referenced = Referenced> {
  readonly name: ImportKindName
  readonly columns: ColumnRules
  /**
   * Reads a definition.
   * @throws {ApiError} naming the field that breaks a rule
   */
  parse(fields: Fields): Definition | Promise<Definition>
  /** Whether a definition with this pair would replace a record. */
  has(scope: ScopeId, tag: string, externalId: string): boolean
  /** Creates or replaces all of them, or none. */
  put(scope: ScopeId, definitions: readonly Definition[], joint: JointPut): void
}

/** The columns of a geofence file, in the order of an export. */
export const GEOFENCE_COLUMNS: ColumnRules<keyof typeof GEOFENCE_FIELDS> = {
  known: [
    'description',
    'type',
    'tag',
    'externalId',
    'coordinates',
    'address',
    'radius',
    'mode',
    'enabled',
    'metadata',
    'operatingHours',
    'stopDetection',
    'disableAfter',
    'deleteAfter',
    'userId',
    'userIds',
    'ip',
    'dwellThreshold',
    'placeId',
    'tripApproachingThreshold',
  ],
  required: NewGeofenceBody.required ?? [],
  oneOf: GEOFENCE_AREA_FIELDS,
}

/** The columns of a beacon file, in the order of an export. */
export const BEACON_COLUMNS: ColumnRules<keyof typeof BEACON_FIELDS> = {
  known: [
    'description',
    'tag',
    'externalId',
    'type',
    'uuid',
    'major',
    'minor',
    'uid',
    'instance',
    'coordinates',
    'enabled',
    'metadata',
  ],
  // A row must say whether it is enabled, although a body may leave it out.
  required: [...(BeaconBody.required ?? []), 'enabled'],
}

export function geofenceImports(geofences: Geofences, finder: AreaFinder): ImportKind {
  return kind({
    name: 'geofences',
    columns: GEOFENCE_COLUMNS,
    parse: (fields) => resolveArea(parseGeofence(fields), finder),
    has: (scope, tag, externalId) => geofences.store(scope).byPair(tag, externalId) !== undefined,
    put: (scope, definitions, joint) => geofences.putMany(scope, definitions, joint),
  })
}

export function beaconImports(beacons: Beacons): ImportKind {
  return kind({
    name: 'beacons',
    columns: BEACON_COLUMNS,
    parse: (fields) => {
      required('enabled', present(fields, 'enabled'))
      return parseBeacon(fields)
    },
    has: (scope, tag, externalId) => beacons.store(scope).byPair(tag, externalId) !== undefined,
    put: (scope, definitions, joint) => beacons.putMany(scope, definitions, joint),
  })
}

/** Drops the type of the definition, because the result of `parse` only goes into `put`. */
function kind<D extends Referenced>(definition: ImportKind<D>): ImportKind {
  return definition as unknown as ImportKind
}
