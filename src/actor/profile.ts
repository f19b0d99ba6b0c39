import type { Profile, StreamMark } from '../model/device.ts'
import { STREAM_MARKS } from '../model/device.ts'
import { sameMetadata } from '../model/metadata.ts'
import { NO_PLACES } from '../model/place.ts'
import { NO_REGIONS } from '../model/region.ts'
import type { Update } from '../model/update.ts'
import { NO_STATE, type DeviceState } from '../rules/deviceState.ts'

/**
 * The state before the last update, except for what it crossed, and for beacons, fraud and segments, which are from after it.
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

/** The profile after an update; the same object if nothing changes except the newest mark's number. */
export function profileAfter(
  before: Profile | undefined,
  update: Update,
  state: DeviceState,
  newId: () => string,
): Profile {
  const { visits, approaches } = before ?? NO_STATE
  if (before !== undefined && isInNewestStream(before, update) && isSameState(before, state)) {
    if (saysNothingNew(before, update)) return before
  }
  return {
    id: before?.id ?? newId(),
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
    placesBefore: before?.places ?? NO_PLACES,
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

function isSameState(before: Profile, state: DeviceState): boolean {
  return (
    before.visits === state.visits &&
    before.approaches === state.approaches &&
    before.beacons === state.beacons &&
    before.regions === state.regions &&
    before.fraud === state.fraud &&
    before.places === state.places &&
    before.segments === state.segments &&
    state.crossed.length === 0
  )
}

function marksAfter(marks: readonly StreamMark[], update: Update): readonly StreamMark[] {
  if (update.stream === undefined) return marks
  const others = marks.filter((mark) => mark.stream !== update.stream)
  return [...others.slice(1 - STREAM_MARKS), { stream: update.stream, sequence: update.sequence! }]
}
