import type { Beacon } from '../../model/beacon.ts'
import type { Geofence } from '../../model/geofence.ts'
import { isoDate } from '../../model/isoDate.ts'

/** The cells by column. An undefined cell is empty. */
type Cells = Readonly<Record<string, string | number | boolean | undefined>>

/** The definition of a geofence as the columns of an import file; importing them creates the same definition. */
export function geofenceCells(geofence: Geofence): Cells {
  const { shape, isochrone, metadata, operatingHours, disableAfter, deleteAfter, userIds } = geofence
  return {
    description: geofence.description,
    type: geofence.type,
    tag: geofence.tag,
    externalId: geofence.externalId,
    coordinates: JSON.stringify(
      isochrone?.destination ?? (shape.kind === 'circle' ? shape.center : shape.ring),
    ),
    radius: isochrone?.minutes ?? (shape.kind === 'circle' ? shape.radius : undefined),
    mode: geofence.mode,
    enabled: geofence.enabled,
    metadata: metadata && JSON.stringify(metadata),
    operatingHours: operatingHours && JSON.stringify(operatingHours.source),
    stopDetection: geofence.stopDetection,
    disableAfter: disableAfter === undefined ? undefined : isoDate(disableAfter),
    deleteAfter: deleteAfter === undefined ? undefined : isoDate(deleteAfter),
    userId: geofence.userId,
    userIds: userIds && listText(userIds),
    ip: geofence.ip,
    dwellThreshold: geofence.dwellThreshold,
    placeId: geofence.placeId,
    tripApproachingThreshold: geofence.tripApproachingThreshold,
  }
}

/** The definition of a beacon, like {@link geofenceCells}. */
export function beaconCells(beacon: Beacon): Cells {
  const { metadata } = beacon
  return {
    description: beacon.description,
    tag: beacon.tag,
    externalId: beacon.externalId,
    type: beacon.type,
    uuid: beacon.uuid,
    major: beacon.major,
    minor: beacon.minor,
    uid: beacon.uid,
    instance: beacon.instance,
    coordinates: JSON.stringify(beacon.coordinates),
    enabled: beacon.enabled,
    metadata: metadata && JSON.stringify(metadata),
  }
}

/** The texts separated by commas, or as JSON if a text contains a comma or could be taken for JSON. */
function listText(texts: readonly string[]): string {
  const isPlain = texts.every((text) => !text.includes(',') && !text.startsWith('['))
  return isPlain ? texts.join(',') : JSON.stringify(texts)
}
