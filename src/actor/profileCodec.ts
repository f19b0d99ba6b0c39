import { Packr } from 'msgpackr'
import type { Approach, BeaconVisit, Profile, Visit } from '../model/device.ts'
import { NO_FRAUD, type FraudRecord } from '../model/fraud.ts'
import { NO_PLACES, type Chain, type PlaceStays } from '../model/place.ts'
import { NO_SEGMENTS, type SegmentStays } from '../model/segment.ts'
import { NO_REGIONS, type RegionStays } from '../model/region.ts'

/**
 * A profile as bytes: MessagePack of an array in this order, so that keys are not stored a million times. Fields are
 * only ever added at the end; an older, shorter array can still be read.
 */
const packr = new Packr({ useRecords: false, variableMapSize: true })

/** The number of the field of segments, which is the last one; a profile without any ends before. */
export const SEGMENTS_FIELD = 25

/** Packs a profile. The bytes are valid until the next call. */
export function packProfile(p: Profile): Uint8Array {
  const fields: unknown[] = [
    p.id,
    p.deviceId,
    p.userId ?? null,
    p.installId ?? null,
    p.description ?? null,
    p.metadata ?? null,
    p.deviceType ?? null,
    p.deviceOS ?? null,
    p.deviceMake ?? null,
    p.deviceModel ?? null,
    p.ip,
    p.createdAt,
    p.visits.map(packVisit),
    // They are only stored if the last update changed them. Null stands for "the same".
    p.visitsBefore === p.visits ? null : p.visitsBefore.map(packVisit),
    p.marks.map((m) => [m.stream, m.sequence]),
  ]
  // Fields that few devices have are left out if all of them are empty.
  const isElsewhere =
    p.approaches.length + p.approachesBefore.length + p.crossed.length + p.beacons.length > 0
  const hasSegments = p.segments !== NO_SEGMENTS
  const hasPlaces = p.places !== NO_PLACES || p.placesBefore !== NO_PLACES || hasSegments
  const hasFraud = p.fraud !== NO_FRAUD || hasPlaces
  const hasRegions = p.regions !== NO_REGIONS || p.regionsBefore !== NO_REGIONS || hasFraud
  if (isElsewhere || p.source !== undefined || hasRegions) {
    fields.push(
      p.approaches.map(packApproach),
      p.approachesBefore === p.approaches ? null : p.approachesBefore.map(packApproach),
      p.crossed,
      p.beacons.map(({ beaconId, enteredAt }) => [beaconId, enteredAt]),
    )
    if (p.source !== undefined || hasRegions) fields.push(p.source ?? null)
    if (hasRegions) {
      fields.push(packRegions(p.regions), p.regionsBefore === p.regions ? null : packRegions(p.regionsBefore))
    }
    if (hasFraud) fields.push(p.fraud === NO_FRAUD ? null : [p.fraud.marks, ...p.fraud.last])
    if (hasPlaces)
      fields.push(packPlaces(p.places), p.placesBefore === p.places ? null : packPlaces(p.placesBefore))
    if (hasSegments) fields.push(packSegments(p.segments))
  }
  return packr.pack(fields)
}

type PackedVisit = [geofenceId: string, enteredAt: number, dwelled: boolean, leavingSince?: number]
type PackedPlace = [id: string, time: number]
type PackedRegions = [codes: string, ...since: number[]]
type PackedChain = [slug: string, name: string, domain: string | null]
type PackedStay = [
  id: string,
  name: string,
  categories: string,
  longitude: number,
  latitude: number,
  chain: PackedChain | null,
  extentMeters: number,
  enteredAt: number,
]
/** The packed places. The array is shorter if the last fields are empty. */
type PackedPlaces = [
  stay?: PackedStay | null,
  first?: [id: string, since: number] | null,
  nearby?: PackedChain[],
  visited?: [...PackedChain, count: number][],
]
/** Packed segments. Each time is stored as its difference from the one before, which is short. */
type PackedSegments = [
  members: readonly number[],
  ...counts: [segment: number, condition: number, ...times: number[]][],
]
type PackedFraud = [marks: number, ...last: number[]]

const NO_APPROACHES: readonly Approach[] = []
const NONE_CROSSED: readonly string[] = []
const NO_BEACONS: readonly BeaconVisit[] = []

export function unpackProfile(bytes: Uint8Array): Profile {
  const a = packr.unpack(bytes)
  const visits = (a[12] as PackedVisit[]).map(unpackVisit)
  const approaches = a.length > 15 ? (a[15] as PackedPlace[]).map(unpackApproach) : NO_APPROACHES
  const regions = a.length > 20 ? unpackRegions(a[20]) : NO_REGIONS
  const places = a.length > 23 ? unpackPlaces(a[23]) : NO_PLACES
  return {
    id: a[0],
    deviceId: a[1],
    userId: a[2] ?? undefined,
    installId: a[3] ?? undefined,
    description: a[4] ?? undefined,
    metadata: a[5] ?? undefined,
    deviceType: a[6] ?? undefined,
    deviceOS: a[7] ?? undefined,
    deviceMake: a[8] ?? undefined,
    deviceModel: a[9] ?? undefined,
    source: a[19] ?? undefined,
    ip: a[10],
    createdAt: a[11],
    visits,
    visitsBefore: a[13] === null ? visits : (a[13] as PackedVisit[]).map(unpackVisit),
    marks: (a[14] as [string, number][]).map(([stream, sequence]) => ({ stream, sequence })),
    approaches,
    approachesBefore: a[16] ? (a[16] as PackedPlace[]).map(unpackApproach) : approaches,
    crossed: a[17] ?? NONE_CROSSED,
    beacons: a[18]?.map(([beaconId, enteredAt]: PackedPlace) => ({ beaconId, enteredAt })) ?? NO_BEACONS,
    regions,
    regionsBefore: a[21] ? unpackRegions(a[21]) : regions,
    fraud: a[22] ? unpackFraud(a[22] as PackedFraud) : NO_FRAUD,
    places,
    placesBefore: a[24] ? unpackPlaces(a[24]) : places,
    segments: a[SEGMENTS_FIELD] ? unpackSegments(a[SEGMENTS_FIELD]) : NO_SEGMENTS,
  }
}

function packVisit({ geofenceId, enteredAt, dwelled, leavingSince }: Visit): PackedVisit {
  return leavingSince === undefined
    ? [geofenceId, enteredAt, dwelled]
    : [geofenceId, enteredAt, dwelled, leavingSince]
}

function unpackVisit([geofenceId, enteredAt, dwelled, leavingSince]: PackedVisit): Visit {
  return leavingSince === undefined
    ? { geofenceId, enteredAt, dwelled }
    : { geofenceId, enteredAt, dwelled, leavingSince }
}

function packApproach({ geofenceId, since }: Approach): PackedPlace {
  return [geofenceId, since]
}

function unpackApproach([geofenceId, since]: PackedPlace): Approach {
  return { geofenceId, since }
}

/**
 * Packs regions. If there are none, nothing but their number is stored; all empty ones are one object, which is
 * compared.
 */
function packRegions({ codes, since }: RegionStays): PackedRegions {
  return codes === NO_REGIONS.codes ? [''] : [codes, ...since]
}

function unpackRegions([codes, ...since]: PackedRegions): RegionStays {
  return codes === '' ? NO_REGIONS : { codes, since }
}

function unpackFraud([marks, ...last]: PackedFraud): FraudRecord {
  return { marks, last }
}

/** Packs places. If there are none, no field is stored; all empty ones are one object, which is compared. */
function packPlaces(places: PlaceStays): PackedPlaces {
  const { stay, first, nearby, visited } = places
  if (places === NO_PLACES) return []
  const packed: PackedPlaces = [stay === undefined ? null : packStay(stay)]
  if (first === undefined && nearby.length + visited.length === 0) return packed
  packed.push(first === undefined ? null : [first.id, first.since])
  if (nearby.length + visited.length > 0)
    packed.push(
      nearby.map(packChain),
      visited.map(({ chain, count }) => [...packChain(chain), count]),
    )
  return packed
}

function packStay({ place, enteredAt }: NonNullable<PlaceStays['stay']>): PackedStay {
  const { id, name, categories, position, chain, extentMeters } = place
  const packed = chain === undefined ? null : packChain(chain)
  return [id, name, categories.join(), ...position, packed, extentMeters, enteredAt]
}

function packChain({ slug, name, domain }: Chain): PackedChain {
  return [slug, name, domain ?? null]
}

function unpackPlaces(packed: PackedPlaces): PlaceStays {
  if (packed.length === 0) return NO_PLACES
  const [stay, first, nearby = [], visited = []] = packed
  return {
    stay: stay ? unpackStay(stay) : undefined,
    first: first ? { id: first[0], since: first[1] } : undefined,
    nearby: nearby.map(unpackChain),
    visited: visited.map(([slug, name, domain, count]) => ({
      chain: unpackChain([slug, name, domain]),
      count,
    })),
  }
}

function unpackStay(packed: PackedStay): NonNullable<PlaceStays['stay']> {
  const [id, name, categories, longitude, latitude, chain, extentMeters, enteredAt] = packed
  const place = {
    id,
    name,
    categories: categories === '' ? [] : categories.split(','),
    position: [longitude, latitude] as const,
    chain: chain === null ? undefined : unpackChain(chain),
    extentMeters,
  }
  return { place, enteredAt }
}

function unpackChain([slug, name, domain]: PackedChain): Chain {
  return { slug, name, domain: domain ?? undefined }
}

function packSegments({ members, counts }: SegmentStays): PackedSegments {
  return [
    members,
    ...counts.map(({ segment, condition, times }): [number, number, ...number[]] => [
      segment,
      condition,
      ...times.map((time, i) => time - (times[i - 1] ?? 0)),
    ]),
  ]
}

function unpackSegments([members, ...packed]: PackedSegments): SegmentStays {
  const counts = packed.map(([segment, condition, ...steps]) => {
    let time = 0
    return { segment, condition, times: steps.map((step) => (time += step)) }
  })
  return { members, counts }
}
