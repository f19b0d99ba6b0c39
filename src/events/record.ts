import type { Beacon } from '../model/beacon.ts'
import type { Conversion, Transition } from '../model/event.ts'
import type { GeofenceProperties, Outline } from '../model/geofence.ts'
import { isoDate } from '../model/isoDate.ts'
import type { Profile } from '../model/device.ts'
import { DATED_FLAGS, isBlocked, MARK, NO_FRAUD, passes, type FraudRecord } from '../model/fraud.ts'
import type { ShownPlace } from '../model/place.ts'
import type { Region } from '../model/region.ts'
import { isLive, type ScopeId } from '../model/scope.ts'
import type { TextCache } from '../runtime/textCache.ts'
import { NO_RECORD, type EventTraits, type StoredEvent } from './port.ts'

/**
 * The public JSON of an event. The commit log, the query index and every delivery carry its text: it is written once
 * and never parsed for an answer.
 */

/** What an event contains of its update and user. It is the same for all events of one update. */
export interface EventContext {
  /** Returns the outline of a geofence that the events name. */
  readonly outlineOf: (geofence: GeofenceProperties) => Outline
  readonly live: boolean
  readonly user: Pick<Profile, 'id' | 'userId' | 'deviceId' | 'metadata'>
  readonly latitude: number
  readonly longitude: number
  /** In metres, as it was sent. */
  readonly accuracy: number | undefined
  readonly foreground: boolean
  readonly stopped: boolean
  readonly replayed: boolean
  /** The time t of the update, in epoch milliseconds. */
  readonly time: number
  /** The server's time, in epoch milliseconds. */
  readonly receivedAt: number
}

/** Returns the outlines of a scope's geofences: its index. */
interface Outlines {
  slotOf(id: string): number
  outline(slot: number): Outline
}

/** The event record of one transition as JSON text. */
export function eventJson(id: string, transition: Transition, context: EventContext): string {
  const { geofence, beacon, region, place } = transition
  const crossing = geofence && transition.at
  const { time, latitude, longitude } = crossing ?? context
  return JSON.stringify({
    _id: id,
    type: transition.type,
    createdAt: isoDate(time),
    actualCreatedAt: isoDate(context.receivedAt),
    live: context.live,
    user: {
      _id: context.user.id,
      userId: context.user.userId,
      deviceId: context.user.deviceId,
      metadata: context.user.metadata,
    },
    geofence: geofence && geofenceContext(geofence, context.outlineOf(geofence)),
    beacon: beacon && beaconContext(beacon),
    region,
    place,
    alternatePlaces: place && transition.alternatePlaces,
    ...(transition.fraud !== undefined && {
      fraud: fraudContext(transition.fraud),
      failureReasons: transition.failureReasons,
    }),
    location: { type: 'Point', coordinates: [longitude, latitude] },
    locationAccuracy: context.accuracy,
    confidence: transition.confidence,
    currentlyOperating: geofence && transition.currentlyOperating,
    duration: transition.duration,
    replayed: context.replayed,
    foreground: context.foreground,
    stopped: context.stopped,
  })
}

/**
 * The event records of one update as JSON texts, like {@link eventJson}, but the common parts are written once. They
 * are most of the text if an update enters thousands of geofences.
 */
export class EventTexts {
  readonly #context: EventContext
  readonly #geofences: TextCache<GeofenceProperties> | undefined
  readonly #areMany: boolean
  readonly #first: string
  readonly #middle: string
  readonly #last: string
  /** What was written last before and after the part of a record. It is nearly always the same for all events. */
  #head: Head = NO_HEAD
  #tail: Tail = NO_TAIL
  /** How many texts of geofences were written because they were not in the cache, and how many characters they have. */
  made = 0
  madeCharacters = 0

  /**
   * Texts for the events of one update.
   * @param geofences the cache of geofences' texts, as {@link geofenceText} makes them
   * @param areMany whether there are so many that it is worth while to make the common parts copyable in one piece
   */
  constructor(context: EventContext, geofences?: TextCache<GeofenceProperties>, areMany = false) {
    this.#geofences = geofences
    this.#areMany = areMany
    const { accuracy, latitude, longitude } = context
    const { id: _id, userId, deviceId, metadata } = context.user
    this.#context = context
    this.#first =
      `","createdAt":"${isoDate(context.time)}","actualCreatedAt":"${isoDate(context.receivedAt)}",` +
      `"live":${context.live},"user":${JSON.stringify({ _id, userId, deviceId, metadata })}`
    this.#middle =
      `,"location":{"type":"Point","coordinates":[${longitude},${latitude}]},` +
      (accuracy === undefined ? '' : `"locationAccuracy":${accuracy},`) +
      '"confidence":'
    this.#last = `,"replayed":${context.replayed},"foreground":${context.foreground},"stopped":${context.stopped}}`
  }

  readonly #textOf = (geofence: GeofenceProperties): string => {
    const text = geofenceText(geofence, this.#context.outlineOf(geofence))
    this.made++
    this.madeCharacters += text.length
    return text
  }

  /** The part of a record that is not the same for all events of the update and needs no id. */
  partOf(transition: Transition): string {
    const { geofence } = transition
    if (isCrossing(transition)) return eventJson(NO_ID, transition, this.#context).slice(ID_END)
    if (geofence === undefined) return subjectOf(transition)
    return this.#geofences?.get(geofence, this.#textOf) ?? this.#textOf(geofence)
  }

  /**
   * The part of a record, or what it will be written from if the length of its geofence's text is known but the text is not
   * kept any more.
   * @param lengths of the texts of geofences, by id
   */
  partOrLater(transition: Transition, lengths: ReadonlyMap<string, number>): string | LaterPart {
    const { geofence } = transition
    if (geofence === undefined || isCrossing(transition)) return this.partOf(transition)
    const text = this.#geofences?.find(geofence)
    if (text !== undefined) return text
    const length = lengths.get(geofence.id)
    if (length === undefined) return this.partOf(transition)
    return { geofence, outline: this.#context.outlineOf(geofence), length }
  }

  /** How many characters the record has. @param part see {@link partOf} */
  lengthOf(transition: Transition, part: string | LaterPart): number {
    if (isCrossing(transition)) return ID_END + part.length
    return ID_END + this.#headOf(transition).length + part.length + this.#tailOf(transition).length
  }

  /** The event record of one of the update's transitions. @param part see {@link partOf} */
  json(id: string, transition: Transition, part: string = this.partOf(transition)): string {
    if (isCrossing(transition)) return `${ID}${id}${part}`
    return `${ID}${id}${this.#headOf(transition)}${part}${this.#tailOf(transition)}`
  }

  #headOf({ type, geofence }: Transition): string {
    if (type === this.#head.type) return this.#head.text
    const text = `${TYPE}${type}${this.#first}${geofence === undefined ? '' : ',"geofence":'}`
    this.#head = { type, text: this.#common(text) }
    return this.#head.text
  }

  /** V8 keeps a text that was put together as a tree of its parts, and would walk that for each event. */
  #common(text: string): string {
    return this.#areMany ? Buffer.from(text).toString() : text
  }

  #tailOf(transition: Transition): string {
    const { confidence, duration } = transition
    const open = transition.geofence && transition.currentlyOperating
    const known = this.#tail
    if (confidence === known.confidence && duration === known.duration && open === known.open)
      return known.text
    const text = this.#common(`${this.#middle}${confidence}${moreOf(open, duration)}${this.#last}`)
    this.#tail = { confidence, duration, open, text }
    return text
  }
}

/** The part of a record that is not written yet. */
export interface LaterPart {
  readonly geofence: GeofenceProperties
  readonly outline: Outline
  /** About how many characters it will have. */
  readonly length: number
}

/** The text of a part. */
export function writtenPart(part: string | LaterPart): string {
  return typeof part === 'string' ? part : geofenceText(part.geofence, part.outline)
}

/** What a record has from the end of its id up to its part. */
interface Head {
  readonly type: string
  readonly text: string
}

/** What a record has after its part. */
interface Tail {
  readonly confidence: number
  readonly duration: number | undefined
  /** See `currentlyOperating`. */
  readonly open: boolean | undefined
  readonly text: string
}

/** No event has this type or confidence. */
const NO_HEAD: Head = { type: '', text: '' }
const NO_TAIL: Tail = { confidence: 0, duration: undefined, open: undefined, text: '' }

const ID = '{"_id":"'
const TYPE = '","type":"'
/** In place of an id: all have this length. */
const NO_ID = '0'.repeat(24)
/** Characters of a record up to the end of its id. */
const ID_END = ID.length + NO_ID.length

/** A crossing has its own time and location. */
function isCrossing(transition: Transition): boolean {
  return transition.geofence !== undefined && transition.at !== undefined
}

/** What may follow the confidence. */
function moreOf(currentlyOperating: boolean | undefined, duration: number | undefined): string {
  const hours = currentlyOperating === undefined ? '' : `,"currentlyOperating":${currentlyOperating}`
  return duration === undefined ? hours : `${hours},"duration":${duration}`
}

/** The JSON of a place. The events of all users in a street name the same few places. */
export function placeText(place: ShownPlace): string {
  let text = placeTexts.get(place)
  if (text === undefined) {
    text = JSON.stringify(place)
    placeTexts.set(place, text)
  }
  return text
}

const placeTexts = new WeakMap<ShownPlace, string>()

/** What an event without a geofence is about, as a member of its record. */
function subjectOf(transition: Transition): string {
  const { beacon, region } = transition
  if (transition.place !== undefined) {
    const { place, alternatePlaces } = transition
    const others =
      alternatePlaces === undefined ? '' : `,"alternatePlaces":[${alternatePlaces.map(placeText).join(',')}]`
    return `,"place":${placeText(place)}${others}`
  }
  if (region !== undefined) return `,"region":${JSON.stringify(region)}`
  if (transition.fraud === undefined) return `,"beacon":${JSON.stringify(beaconContext(beacon!))}`
  const failureReasons = JSON.stringify(transition.failureReasons)
  return `,"fraud":${JSON.stringify(fraudContext(transition.fraud))},"failureReasons":${failureReasons}`
}

/** The last location of a user. */
export interface LastPlace {
  readonly latitude: number
  readonly longitude: number
  /** In metres, as it was sent. */
  readonly accuracy: number | undefined
}

/** The confidence of conversions, because an app's own statement is not doubted. */
const CONVERSION_CONFIDENCE = 3

/**
 * The event record of a conversion as JSON text. If only an id and no location is known, the record only says what its
 * sender did.
 */
export function conversionJson(
  id: string,
  conversion: Omit<Conversion, 'deviceId'> & { readonly deviceId: string | undefined },
  user: Pick<Profile, 'id'> & Partial<Pick<Profile, 'userId' | 'metadata'>>,
  place: LastPlace | undefined,
): string {
  return JSON.stringify({
    _id: id,
    type: conversion.name,
    createdAt: isoDate(conversion.createdAt),
    actualCreatedAt: isoDate(conversion.receivedAt),
    live: isLive(conversion.scope),
    user: {
      _id: user.id,
      userId: user.userId ?? conversion.userId,
      deviceId: conversion.deviceId,
      metadata: user.metadata,
    },
    location: place && { type: 'Point', coordinates: [place.longitude, place.latitude] },
    locationAccuracy: place?.accuracy,
    confidence: CONVERSION_CONFIDENCE,
    metadata: conversion.metadata,
  })
}

/** The outline of a geofence that exists. */
export function outlineIn(outlines: Outlines, { id }: GeofenceProperties): Outline {
  return outlines.outline(outlines.slotOf(id))
}

/** The JSON of {@link geofenceContext}. */
export function geofenceText(geofence: GeofenceProperties, outline: Outline): string {
  return JSON.stringify(geofenceContext(geofence, outline))
}

/**
 * A geofence as it appears in user context and in events, without its ring, which would be larger than all other
 * fields.
 */
export function geofenceContext(geofence: GeofenceProperties, { center, radius }: Outline) {
  return {
    _id: geofence.id,
    tag: geofence.tag,
    externalId: geofence.externalId,
    description: geofence.description,
    metadata: geofence.metadata,
    type: geofence.type,
    geometryCenter: { type: 'Point', coordinates: center },
    geometryRadius: radius,
  }
}

/** A beacon as it appears in user context and in events. */
export function beaconContext(beacon: Beacon) {
  return {
    _id: beacon.id,
    type: beacon.type,
    uuid: beacon.uuid,
    major: beacon.major,
    minor: beacon.minor,
    uid: beacon.uid,
    instance: beacon.instance,
    description: beacon.description,
    tag: beacon.tag,
    externalId: beacon.externalId,
    enabled: beacon.enabled,
    metadata: beacon.metadata,
  }
}

/** The tag and externalId that filters look at: those of the trip's destination, or else of the geofence or beacon. */
// oxlint-disable-next-line typescript/no-explicit-any -- an event as JSON
function referenceOf({ trip, geofence, beacon }: any): { tag?: string; externalId?: string } {
  if (trip === undefined) return geofence ?? beacon ?? {}
  return { tag: trip.destinationGeofenceTag, externalId: trip.destinationGeofenceExternalId }
}

/** The JSON of {@link fraudContext}. It is written once for all users without any suspicion, which are most. */
export function fraudText(fraud: FraudRecord): string {
  return fraud === NO_FRAUD ? CLEAN : JSON.stringify(fraudContext(fraud))
}

/** The names of the dates of {@link DATED_FLAGS}. */
const DATES = DATED_FLAGS.map(([flag]) => `last${flag[0]!.toUpperCase()}${flag.slice(1)}At`)

/** The fraud of a user, in the form that users and events have. */
export function fraudContext({ marks, last }: FraudRecord) {
  const dates: Record<string, string | null> = {}
  const flags: Record<string, boolean> = {}
  DATED_FLAGS.forEach(([flag, bits], place) => {
    flags[flag] = (marks & bits) !== 0
    const time = last[place]!
    dates[DATES[place]!] = time === 0 ? null : isoDate(time)
  })
  return {
    passed: passes(marks),
    bypassed: (marks & MARK.bypassed) !== 0,
    verified: (marks & MARK.verified) !== 0,
    blocked: isBlocked(marks),
    ...flags,
    ...dates,
  }
}

const CLEAN = JSON.stringify(fraudContext(NO_FRAUD))

/** The regions as members of a user or a context, to be written after another member: `,"country":{…}`. */
export function regionMembers(regions: readonly Region[]): string {
  let members = ''
  for (const region of regions) {
    let member = regionTexts.get(region)
    if (member === undefined) {
      member = `,"${region.type}":${JSON.stringify(region)}`
      regionTexts.set(region, member)
    }
    members += member
  }
  return members
}

/** The member of each region that was written. The same few regions are in the texts of all users. */
const regionTexts = new WeakMap<Region, string>()

/** The fields by which an event is looked up, read from its JSON. */
export function readEvent(scope: ScopeId, json: string): StoredEvent {
  const event = JSON.parse(json)
  const { tag, externalId } = referenceOf(event)
  return {
    scope,
    id: event._id,
    type: event.type,
    deviceId: event.user.deviceId ?? '',
    userId: event.user.userId,
    userRecordId: event.user._id ?? NO_RECORD,
    createdAt: Date.parse(event.createdAt),
    actualCreatedAt: Date.parse(event.actualCreatedAt),
    tag,
    externalId,
    traits: eventTraitsOf(event),
    json,
  }
}

/** What filters look at in an event or transition. Undefined if it is about no place, region or fraud. */
export function eventTraitsOf({
  place,
  region,
  failureReasons,
}: {
  readonly place?: ShownPlace | undefined
  readonly region?: Pick<Region, '_id' | 'code'> | undefined
  readonly failureReasons?: readonly string[] | undefined
}): EventTraits | undefined {
  if (place !== undefined)
    return { placeId: place._id, chain: place.chain?.slug, categories: place.categories }
  if (region !== undefined) return { regions: [region.code, region._id] }
  return failureReasons && { failureReasons }
}
