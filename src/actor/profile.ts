import type { Profile, StreamMark } from '../model/device.ts'
import { STREAM_MARKS } from '../model/device.ts'
import { sameMetadata } from '../model/metadata.ts'
import { NO_PLACES, type PlaceStays } from '../model/place.ts'
import { NO_REGIONS } from '../model/region.ts'
import type { Update } from '../model/update.ts'
import { NO_STATE, type DeviceState } from '../rules/deviceState.ts'
import { placesWith } from '../rules/placeStep.ts'

/**
 * The state before the last update. What the update crossed, beacons, fraud and segments are those after it.
 * @param settled whether that update left the profile unchanged
 */
export function stateBefore(profile: Profile, settled: boolean): DeviceState {
  const { visits, approaches, beacons, regions, fraud, places, segments } = profile
  if (settled)
    return { visits, approaches, crossed: NO_STATE.crossed, beacons, regions, fraud, places, segments }
  const { visitsBefore, approachesBefore, crossed, regionsBefore, placesBefore } = profile
  return {
    visits: visitsBefore,
    approaches: approachesBefore,
    crossed,
    beacons,
    regions: regionsBefore,
    fraud,
    places: placesBefore,
    segments,
  }
}

/**
 * The state of the evaluators in a profile.
 * @param places those of the record, which may be ahead of the profile
 */
export function stateNow(profile: Profile, places: PlaceStays): DeviceState {
  if (places === profile.places) return profile
  const { visits, approaches, crossed, beacons, regions, fraud, segments } = profile
  return { visits, approaches, crossed, beacons, regions, fraud, places, segments }
}

/** Whether the profile stays unchanged: a field that the update lacks keeps its value. */
export function saysNothingNew(p: Profile, u: Update): boolean {
  return (
    u.userId === p.userId &&
    u.ip === p.ip &&
    (u.installId === undefined || u.installId === p.installId) &&
    (u.description === undefined || u.description === p.description) &&
    (u.deviceType === undefined || u.deviceType === p.deviceType) &&
    (u.deviceOS === undefined || u.deviceOS === p.deviceOS) &&
    (u.deviceMake === undefined || u.deviceMake === p.deviceMake) &&
    (u.deviceModel === undefined || u.deviceModel === p.deviceModel) &&
    (u.source === undefined || u.source === p.source) &&
    (u.metadata === undefined || sameMetadata(u.metadata, p.metadata))
  )
}

/** Whether the update belongs to the newest mark's stream, or to none: then the marks do not change the profile. */
export function isInNewestStream({ marks }: Profile, { stream }: Update): boolean {
  return stream === undefined || marks.at(-1)?.stream === stream
}

/** What an update changes in a profile. */
export type ProfileChange =
  /** Nothing, except perhaps the newest mark's number. */
  | 'nothing'
  /**
   * Also the place that is first among the candidates, and nothing else. A device that drives through a town changes
   * it with most updates.
   */
  | 'first'
  | 'more'

/**
 * How an update changes a profile.
 * @param places those before it, which may be ahead of the profile
 */
export function profileChange(
  before: Profile,
  places: PlaceStays,
  update: Update,
  state: DeviceState,
): ProfileChange {
  if (!isInNewestStream(before, update) || !isSameButPlaces(before, state) || !saysNothingNew(before, update))
    return 'more'
  if (places === state.places) return 'nothing'
  const { stay, nearby, visited } = state.places
  const isSame =
    stay === places.stay && isSameList(nearby, places.nearby) && isSameList(visited, places.visited)
  return isSame ? 'first' : 'more'
}

/** Whether both are the same array, or empty. */
function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a === b || a.length + b.length === 0
}

/** The profile after updates that change only the place that is first among the candidates. */
export function profileWithFirst(before: Profile, first: PlaceStays['first']): Profile {
  return profileWithPlaces(before, placesWith({ ...before.places, first }))
}

/**
 * The profile after updates that change only the place that is first among the candidates.
 *
 * Which one it was before the last of them need not be kept: another one, or none, so the present one is the first since then.
 * @param places those after them
 */
export function profileWithPlaces(before: Profile, places: PlaceStays): Profile {
  const { visits, approaches, regions } = before
  return {
    ...before,
    visitsBefore: visits,
    approachesBefore: approaches,
    crossed: NO_STATE.crossed,
    regionsBefore: regions,
    places,
    placesBefore: places,
  }
}

/**
 * The profile after an update.
 * @param id the `_id` of the user
 * @param placesBefore those of before the update, which may be ahead of the profile
 */
export function profileAfter(
  before: Profile | undefined,
  update: Update,
  state: DeviceState,
  id: string,
  placesBefore: PlaceStays = NO_PLACES,
): Profile {
  const { visits, approaches } = before ?? NO_STATE
  return {
    id,
    deviceId: update.deviceId,
    userId: update.userId ?? before?.userId,
    installId: update.installId ?? before?.installId,
    description: update.description ?? before?.description,
    metadata: update.metadata ?? before?.metadata,
    deviceType: update.deviceType ?? before?.deviceType,
    deviceOS: update.deviceOS ?? before?.deviceOS,
    deviceMake: update.deviceMake ?? before?.deviceMake,
    deviceModel: update.deviceModel ?? before?.deviceModel,
    source: update.source ?? before?.source,
    ip: update.ip,
    createdAt: before?.createdAt ?? update.receivedAt,
    visits: state.visits,
    visitsBefore: visits,
    approaches: state.approaches,
    approachesBefore: approaches,
    crossed: state.crossed,
    beacons: state.beacons,
    regions: state.regions,
    regionsBefore: before?.regions ?? NO_REGIONS,
    fraud: state.fraud,
    places: state.places,
    placesBefore,
    segments: state.segments,
    marks: marksAfter(before?.marks ?? [], update),
  }
}

/**
 * The number of characters in texts that a client chooses freely, above all in metadata. Ids of places are not
 * counted.
 */
export function textLength(
  p: Pick<Profile, 'deviceId' | 'userId' | 'installId' | 'description' | 'metadata'>,
): number {
  let length = p.deviceId.length + (p.userId?.length ?? 0)
  length += (p.installId?.length ?? 0) + (p.description?.length ?? 0)
  const { metadata } = p
  if (metadata === undefined) return length
  for (const key in metadata) {
    const value = metadata[key]
    length += key.length + (typeof value === 'string' ? value.length : 8)
  }
  return length
}

function isSameButPlaces(before: Profile, state: DeviceState): boolean {
  return (
    before.visits === state.visits &&
    before.approaches === state.approaches &&
    before.beacons === state.beacons &&
    before.regions === state.regions &&
    before.fraud === state.fraud &&
    before.segments === state.segments &&
    state.crossed.length === 0
  )
}

function marksAfter(marks: readonly StreamMark[], update: Update): readonly StreamMark[] {
  if (update.stream === undefined) return marks
  const others = marks.filter((mark) => mark.stream !== update.stream)
  return [...others.slice(1 - STREAM_MARKS), { stream: update.stream, sequence: update.sequence! }]
}
