import type { Profile } from '../model/device.ts'
import type { Transition } from '../model/event.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import { isLive } from '../model/scope.ts'
import type { Update } from '../model/update.ts'
import { eventIds, type StoreSalt } from '../events/ids.ts'
import { EventTexts, eventTraitsOf, outlineIn, type EventContext } from '../events/record.ts'
import type { StoredEvent } from '../events/port.ts'
import type { ScopeView } from '../rules/port.ts'
import { TextCache } from '../runtime/textCache.ts'
import type { FrameWriter } from './commitCodec.ts'
import { MAX_EVENT_CHARACTERS, TOO_MANY_EVENTS, Unwritten } from './refusal.ts'

/** Writing this many bytes of events takes milliseconds. */
const LONG_BYTES = 1024 * 1024
const BYTES_A_TURN = 256 * 1024

/** Characters of geofence texts for events that are kept, in each of two generations. */
export const GEOFENCE_TEXT_CHARACTERS = 8 * 1024 * 1024
/** Writing this many of these texts takes a millisecond. */
const MANY_TEXTS = 300

/**
 * The events of the commit that a partition is making: their ids and texts, and how they get into the frame.
 *
 * Owns: the order of the events, their number in the commit. Does not own: which transitions there are.
 */
export class CommitEvents {
  /** The geofence texts for events. A host has one cache for all its partitions. */
  geofenceTexts = new TextCache<GeofenceProperties>(GEOFENCE_TEXT_CHARACTERS)
  /** The approximate size of the events that are written at the end of the commit, in bytes. */
  bytes = 0
  readonly #partition: number
  readonly #salt: StoreSalt
  readonly #newEvents: StoredEvent[] = []
  /** How many of the events are in the frame already. */
  #written = 0
  #time = 0
  #sequence = 0
  /** Makes the ids of events. Undefined until the commit has an event. */
  #idOf: ((index: number) => string) | undefined
  #eventIndex = 0

  constructor(partition: number, salt: StoreSalt) {
    this.#partition = partition
    this.#salt = salt
  }

  /** Starts a commit; `time` is the server's. */
  begin(time: number, sequence: number): void {
    this.#time = time
    this.#sequence = sequence
    this.#idOf = undefined
    this.#eventIndex = 0
    this.bytes = 0
    this.#newEvents.length = 0
    this.#written = 0
  }

  /**
   * Whether the commit has too many events to be written in one turn, so that {@link write} must write them in turns
   * before it ends.
   */
  get areLong(): boolean {
    return this.bytes >= LONG_BYTES
  }

  /** Writes some of the events, and appends them to `events`; returns whether there are more. */
  write(writer: FrameWriter, events: StoredEvent[]): boolean {
    const newEvents = this.#newEvents
    let bytes = 0
    while (this.#written < newEvents.length && bytes < BYTES_A_TURN) {
      const event = newEvents[this.#written++]!
      writer.event(event)
      events.push(event)
      bytes += event.json.length
    }
    return this.#written < newEvents.length
  }

  /** The id of the next event. */
  nextId(): string {
    this.#idOf ??= eventIds(this.#salt, this.#time, this.#partition, this.#sequence)
    return this.#idOf(this.#eventIndex++)
  }

  /** Adds an event after the others; its id is the {@link nextId}. */
  add(event: StoredEvent): void {
    this.#newEvents.push(event)
    this.bytes += event.json.length
  }

  /** The texts of the events, or why there are none; then nothing was changed. */
  emit(
    transitions: readonly Transition[],
    profile: Profile,
    update: Update,
    view: ScopeView,
    time: number,
    writing: 'before' | undefined,
  ): readonly string[] | typeof TOO_MANY_EVENTS | Unwritten {
    const first = this.#newEvents.length
    const firstIndex = this.#eventIndex
    let characters = 0
    const context: EventContext = {
      outlineOf: (geofence) => outlineIn(view.index, geofence),
      live: isLive(update.scope),
      user: profile,
      latitude: update.latitude,
      longitude: update.longitude,
      accuracy: update.accuracy,
      foreground: update.foreground,
      stopped: update.stopped,
      replayed: update.replayed,
      time,
      receivedAt: update.receivedAt,
    }
    // For a few events, keeping a text costs more than writing it.
    const kept = transitions.length < MANY_TEXTS ? undefined : this.geofenceTexts
    const written = new EventTexts(context, kept)
    const texts: string[] = []
    for (const transition of transitions) {
      const id = this.nextId()
      const json = written.json(id, transition)
      characters += json.length
      const takesLong = writing === 'before' && written.made >= MANY_TEXTS
      if (takesLong || characters > MAX_EVENT_CHARACTERS) {
        this.#newEvents.length = first
        this.#eventIndex = firstIndex
        return takesLong ? this.#unwritten(transitions) : TOO_MANY_EVENTS
      }
      texts.push(json)
      this.#newEvents.push({
        scope: update.scope,
        id,
        type: transition.type,
        deviceId: profile.deviceId,
        userId: profile.userId,
        userRecordId: profile.id,
        createdAt: (transition.geofence && transition.at?.time) ?? time,
        actualCreatedAt: update.receivedAt,
        tag: (transition.geofence ?? transition.beacon)?.tag,
        externalId: (transition.geofence ?? transition.beacon)?.externalId,
        traits: eventTraitsOf(transition),
        json,
      })
    }
    this.bytes += characters
    return texts
  }

  #unwritten(transitions: readonly Transition[]): Unwritten {
    const missing = transitions.flatMap(({ geofence }) =>
      geofence === undefined || this.geofenceTexts.has(geofence) ? [] : [geofence],
    )
    return new Unwritten(missing)
  }
}
