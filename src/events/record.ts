import type { Beacon } from '../model/beacon.ts'
import type { Conversion, Transition } from '../model/event.ts'
import type { GeofenceProperties, Outline } from '../model/geofence.ts'
import { isoDate } from '../model/isoDate.ts'
import type { Profile } from '../model/device.ts'
import { isLive, type ScopeId } from '../model/scope.ts'
import type { TextCache } from '../runtime/textCache.ts'
import { NO_RECORD, type StoredEvent } from './port.ts'

/**
 * The public JSON of an event. Its text is what the commit log, the query index and every delivery carry: written
 * once, never again taken apart to be answered.
 */

/** What an event says of its update and its user, the same for all events of one update. */
export interface EventContext {
  /** Where a geofence of its events is. */
  readonly outlineOf: (geofence: GeofenceProperties) => Outline
  readonly live: boolean
  readonly user: Pick<Profile, 'id' | 'userId' | 'deviceId' | 'metadata'>
  readonly latitude: number
  readonly longitude: number
  /** Metres as sent. */
  readonly accuracy: number | undefined
  readonly foreground: boolean
  readonly stopped: boolean
  readonly replayed: boolean
  /** Time t of the update, epoch milliseconds. */
  readonly time: number
  /** The server's clock, epoch milliseconds. */
  readonly receivedAt: number
}

/** Where the geofences of a scope are: its index. */
interface Outlines {
  slotOf(id: string): number
  outline(slot: number): Outline
}

/** The event record of one transition as JSON text. */
export function eventJson(id: string, transition: Transition, context: EventContext): string {
  const { geofence, beacon } = transition
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
 * The event records of one update as JSON texts: as {@link eventJson}, but what they have in common is written once. An update
 * that enters thousands of geofences is mostly that.
 */
export class EventTexts {
  readonly #context: EventContext
  readonly #geofences: TextCache<GeofenceProperties> | undefined
  readonly #first: string
  readonly #middle: string
  readonly #last: string

  /** @param geofences their texts, as {@link geofenceText} makes them, where they are kept */
  constructor(context: EventContext, geofences?: TextCache<GeofenceProperties>) {
    this.#geofences = geofences
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

  readonly #textOf = (geofence: GeofenceProperties): string =>
    geofenceText(geofence, this.#context.outlineOf(geofence))

  /** The event record of one of its transitions. */
  json(id: string, transition: Transition): string {
    const { geofence, beacon, type, confidence, duration } = transition
    // A crossing has a time and a place of its own.
    if (geofence !== undefined && transition.at !== undefined) return eventJson(id, transition, this.#context)
    const what =
      geofence === undefined
        ? `,"beacon":${JSON.stringify(beaconContext(beacon))}`
        : `,"geofence":${this.#geofences?.get(geofence, this.#textOf) ?? this.#textOf(geofence)}`
    let more = ''
    if (geofence !== undefined && transition.currentlyOperating !== undefined)
      more = `,"currentlyOperating":${transition.currentlyOperating}`
    if (duration !== undefined) more += `,"duration":${duration}`
    return `{"_id":"${id}","type":"${type}${this.#first}${what}${this.#middle}${confidence}${more}${this.#last}`
  }
}

/** Where a user was last. */
export interface LastPlace {
  readonly latitude: number
  readonly longitude: number
  /** Metres as sent. */
  readonly accuracy: number | undefined
}

/** Nobody doubts what an app says of itself. */
const CONVERSION_CONFIDENCE = 3

/** The event record of a conversion as JSON text; with an id alone and no place it says only what its sender did. */
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

/** The outline of a geofence that is there. */
export function outlineIn(outlines: Outlines, { id }: GeofenceProperties): Outline {
  return outlines.outline(outlines.slotOf(id))
}

/** The JSON of {@link geofenceContext}. */
export function geofenceText(geofence: GeofenceProperties, outline: Outline): string {
  return JSON.stringify(geofenceContext(geofence, outline))
}

/** A geofence as it appears in user context and in events. Its ring would be larger than all the rest of them. */
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

/** What an event is looked up by, read back out of its JSON. */
export function readEvent(scope: ScopeId, json: string): StoredEvent {
  const event = JSON.parse(json)
  const { tag, externalId } = event.geofence ?? event.beacon ?? {}
  return {
    scope,
    id: event._id,
    type: event.type,
    deviceId: event.user.deviceId,
    userId: event.user.userId,
    userRecordId: event.user._id ?? NO_RECORD,
    createdAt: Date.parse(event.createdAt),
    actualCreatedAt: Date.parse(event.actualCreatedAt),
    tag,
    externalId,
    json,
  }
}
