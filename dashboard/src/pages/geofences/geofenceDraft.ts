import type { Geofence, GeofenceDefinition } from '../../../../sdk/src/types.ts'
import { circleRing, type LngLat } from '../../map/geometry.ts'
import { metadataOf, metadataText } from '../../ui/metadata.ts'

/** A geofence as the form has it: texts, until the server reads them. */
export interface GeofenceDraft {
  readonly type: 'circle' | 'polygon' | 'isochrone'
  readonly description: string
  readonly tag: string
  readonly externalId: string
  /** The centre of a circle, or the place to which an isochrone leads. */
  readonly latitude: string
  readonly longitude: string
  /** The radius in metres, or the minutes of an isochrone. */
  readonly radius: string
  readonly mode: string
  /** The closed ring of a polygon. */
  readonly ring: readonly LngLat[]
  /** The area of an isochrone that the server has computed, and of which place, minutes and mode it is. */
  readonly reached?: { readonly of: string; readonly ring: readonly LngLat[] }
  readonly enabled: boolean
  readonly userIds: string
  readonly ip: string
  readonly dwellThreshold: string
  readonly disableAfter: string
  readonly deleteAfter: string
  /** The metadata as lines of `name: value`. */
  readonly metadata: string
  /** The opening hours of each day, such as `08:00-12:00, 13:00-18:00`; empty means closed. */
  readonly hours: Readonly<Record<string, string>>
}

export const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const

const EMPTY_DRAFT: GeofenceDraft = {
  type: 'circle',
  description: '',
  tag: '',
  externalId: '',
  latitude: '',
  longitude: '',
  radius: '100',
  mode: 'car',
  ring: [],
  enabled: true,
  userIds: '',
  ip: '',
  dwellThreshold: '',
  disableAfter: '',
  deleteAfter: '',
  metadata: '',
  hours: {},
}

/** A new geofence: empty, or the place or the travel time that the address asks for. */
export function newDraft(query: URLSearchParams): GeofenceDraft {
  const radius = query.get('minutes')
  const [latitude = '', longitude = ''] = (query.get('at') ?? '').split(',')
  if (radius === null) return { ...EMPTY_DRAFT, latitude, longitude }
  return { ...EMPTY_DRAFT, type: 'isochrone', latitude, longitude, radius, mode: query.get('by') ?? 'car' }
}

export function draftOf(fence: Geofence): GeofenceDraft {
  const [longitude, latitude] = fence.isochrone?.destination ?? fence.geometryCenter.coordinates
  const draft: GeofenceDraft = {
    type: fence.type as GeofenceDraft['type'],
    description: fence.description,
    tag: fence.tag,
    externalId: fence.externalId,
    latitude: String(latitude),
    longitude: String(longitude),
    radius: String(fence.isochrone?.minutes ?? fence.geometryRadius),
    mode: fence.mode ?? 'car',
    ring: fence.type === 'polygon' ? ((fence.geometry?.coordinates[0] ?? []) as unknown as LngLat[]) : [],
    enabled: fence.enabled,
    userIds: (fence.userIds ?? []).join(', '),
    ip: fence.ip ?? '',
    dwellThreshold: fence.dwellThreshold === undefined ? '' : String(fence.dwellThreshold),
    disableAfter: fence.disableAfter ?? '',
    deleteAfter: fence.deleteAfter ?? '',
    metadata: metadataText(fence.metadata),
    hours: Object.fromEntries(
      Object.entries(fence.operatingHours ?? {}).map(([day, spans]) => [
        day,
        spans.map((span) => span.join('-')).join(', '),
      ]),
    ),
  }
  const area = fence.isochrone && (fence.geometry?.coordinates[0] as unknown as LngLat[] | undefined)
  return area === undefined ? draft : { ...draft, reached: { of: reachOf(draft), ring: area } }
}

/** What the area of an isochrone follows from. */
export function reachOf({ longitude, latitude, radius, mode }: GeofenceDraft): string {
  return JSON.stringify([longitude, latitude, radius, mode])
}

/** The body to send. It is not checked here, because the server names the field that is wrong. */
export function definitionOf(draft: GeofenceDraft): GeofenceDefinition {
  const { type, description, tag, externalId, enabled } = draft
  const center = [number(draft.longitude), number(draft.latitude)]
  const hours = Object.entries(draft.hours).filter(([, text]) => text.trim() !== '')
  const metadata = metadataOf(draft.metadata)
  return {
    type,
    description,
    enabled,
    ...(tag && { tag }),
    ...(externalId && { externalId }),
    coordinates: type === 'polygon' ? [...draft.ring] : center,
    ...(type !== 'polygon' && { radius: number(draft.radius) }),
    ...(type === 'isochrone' && { mode: draft.mode }),
    ...(draft.userIds.trim() && { userIds: draft.userIds.split(',').map((id) => id.trim()) }),
    ...(draft.ip.trim() && { ip: draft.ip }),
    ...(draft.dwellThreshold && { dwellThreshold: number(draft.dwellThreshold) }),
    ...(draft.disableAfter && { disableAfter: draft.disableAfter }),
    ...(draft.deleteAfter && { deleteAfter: draft.deleteAfter }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(hours.length > 0 && {
      operatingHours: Object.fromEntries(
        hours.map(([day, text]) => [
          day,
          text.split(',').map((span) => span.split(/[-–]/).map((time) => time.trim())),
        ]),
      ),
    }),
  } as GeofenceDefinition
}

/** What the draft covers, as far as the page knows: the server computes isochrones. */
export function draftRing(draft: GeofenceDraft): readonly LngLat[] | undefined {
  if (draft.type === 'isochrone' && draft.reached?.of === reachOf(draft)) return draft.reached.ring
  if (draft.type === 'polygon') return draft.ring.length > 3 ? draft.ring : undefined
  const center: LngLat = [Number(draft.longitude), Number(draft.latitude)]
  if (draft.longitude === '' || draft.latitude === '' || !center.every(Number.isFinite)) return undefined
  const radius = draft.type === 'circle' ? Number(draft.radius) : 40
  return Number.isFinite(radius) && radius > 0 ? circleRing(center, radius) : undefined
}

/** The number in a text. Any other text is returned unchanged, so that the server names the field. */
function number(text: string): number {
  const trimmed = text.trim()
  return trimmed === '' || Number.isNaN(Number(trimmed)) ? (text as unknown as number) : Number(trimmed)
}
