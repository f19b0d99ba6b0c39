import type { Profile } from '../model/device.ts'
import type { Transition } from '../model/event.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import { isLive } from '../model/scope.ts'
import type { Update } from '../model/update.ts'
import { eventIds, type StoreSalt } from '../events/ids.ts'
import {
  EventTexts,
  eventTraitsOf,
  outlineIn,
  writtenPart,
  type EventContext,
  type LaterPart,
} from '../events/record.ts'
import type { StoredEvent } from '../events/port.ts'
import type { ScopeView } from '../rules/port.ts'
import { TextCache } from '../runtime/textCache.ts'
import type { FrameWriter } from './commitCodec.ts'
import type { Prepared } from './prepared.ts'
import { MAX_EVENT_CHARACTERS, TOO_MANY_EVENTS, Unwritten } from './refusal.ts'

/** Writing this many bytes of events takes milliseconds. */
const LONG_BYTES = 1024 * 1024
const BYTES_A_TURN = 256 * 1024
/** The bytes of an event in a frame besides its text. */
const EVENT_BYTES = 8

/** Characters of geofence texts for events that are kept, in each of two generations. */
export const GEOFENCE_TEXT_CHARACTERS = 8 * 1024 * 1024
/** Writing this many of these texts, or this many characters of them, takes a millisecond. */
const MANY_TEXTS = 300
const MANY_CHARACTERS = 512 * 1024

/** The many or large events of an update. They are made one by one when they are written. */
interface Emitted {
  readonly transitions: readonly Transition[]
  /** The part of each event, as {@link EventTexts.partOrLater} makes it. */
  readonly parts: readonly (string | LaterPart)[]
  readonly written: EventTexts
  /** The texts of those that were made. */
  readonly texts: string[]
  /** Whether they are made when they are written. */
  readonly isLater: boolean
  /** Index of the first of them in the commit. */
  readonly first: number
  readonly profile: Profile
  readonly update: Update
  readonly time: number
}

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
  readonly #newEvents: (StoredEvent | Emitted)[] = []
  /** How many of them are in the frame, and how many events of the next one, if that is the events of an update. */
  #written = 0
  #writtenOfNext = 0
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
    this.#written = this.#writtenOfNext = 0
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
    if (this.#written + this.#writtenOfNext === 0 && this.areLong)
      writer.expect(this.bytes + EVENT_BYTES * this.#eventIndex)
    let bytes = 0
    while (this.#written < newEvents.length && bytes < BYTES_A_TURN) {
      const event = this.#next(newEvents[this.#written]!)
      writer.event(event)
      events.push(event)
      bytes += event.json.length
    }
    return this.#written < newEvents.length
  }

  /** The next event to be written. */
  #next(next: StoredEvent | Emitted): StoredEvent {
    if (!('parts' in next)) {
      this.#written++
      return next
    }
    const event = this.#eventOf(next, this.#writtenOfNext++)
    if (this.#writtenOfNext === next.transitions.length) {
      this.#writtenOfNext = 0
      this.#written++
    }
    return event
  }

  /** The id of the next event. */
  nextId(): string {
    return this.#idAt(this.#eventIndex++)
  }

  #idAt(index: number): string {
    this.#idOf ??= eventIds(this.#salt, this.#time, this.#partition, this.#sequence)
    return this.#idOf(index)
  }

  /** Adds an event after the others; its id is the {@link nextId}. */
  add(event: StoredEvent): void {
    this.#newEvents.push(event)
    this.bytes += event.json.length
  }

  /**
   * The texts of the events, or why there are none; then nothing was changed. Where they are very many or large, the list is
   * complete once the commit has ended.
   *
   * Very many or large events are only made for an update that has waited behind those of others: a hundred devices that
   * enter a crowd of geofences at once would otherwise make more than the index can take, and everybody would wait for it.
   */
  emit(
    transitions: readonly Transition[],
    profile: Profile,
    update: Update,
    view: ScopeView,
    time: number,
    { textLengths, hasWaited }: Prepared,
  ): readonly string[] | typeof TOO_MANY_EVENTS | Unwritten {
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
    const areMany = transitions.length >= MANY_TEXTS
    const isWritten = textLengths !== undefined
    if (areMany && !isWritten && !hasWaited) return unwritten(transitions)
    // For a few events, keeping a text costs more than writing it, unless it was written before.
    const kept = areMany || isWritten ? this.geofenceTexts : undefined
    const written = new EventTexts(context, kept, areMany)
    const parts: (string | LaterPart)[] = []
    let characters = 0
    for (const transition of transitions) {
      const part = isWritten ? written.partOrLater(transition, textLengths) : written.partOf(transition)
      parts.push(part)
      characters += written.lengthOf(transition, part)
      const takesLong =
        !isWritten && (written.made >= MANY_TEXTS || written.madeCharacters >= MANY_CHARACTERS)
      if (takesLong) return unwritten(transitions)
      if (characters > MAX_EVENT_CHARACTERS) return TOO_MANY_EVENTS
    }
    const areLarge = characters >= LONG_BYTES
    if (areLarge && !isWritten && !hasWaited) return unwritten(transitions)
    const texts: string[] = []
    // Writing ten thousand takes long, or megabytes, so it is done in the turns of write.
    const isLater = areMany || areLarge
    const first = this.#eventIndex
    const emitted = { transitions, parts, written, texts, isLater, first, profile, update, time }
    this.#eventIndex += transitions.length
    this.bytes += characters
    if (isLater) this.#newEvents.push(emitted)
    else for (let i = 0; i < transitions.length; i++) this.#newEvents.push(this.#eventOf(emitted, i))
    return texts
  }

  /** Makes an event of an update, and appends its text to those of the update. */
  #eventOf(
    { transitions, parts, written, texts, isLater, first, profile, update, time }: Emitted,
    i: number,
  ): StoredEvent {
    const transition = transitions[i]!
    const id = this.#idAt(first + i)
    const part = writtenPart(parts[i]!)
    const json = written.json(id, transition, part)
    // V8 copies a text when it is written to the frame, and keeps the copy for as long as the text. Thousands of copies that
    // wait for an answer would be moved by the garbage collector, for ten milliseconds at a stretch; the answer gets a text of
    // its own, which is no more than a tree of parts.
    texts.push(isLater ? written.json(id, transition, part) : json)
    return {
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
    }
  }
}

function unwritten(transitions: readonly Transition[]): Unwritten {
  return new Unwritten(transitions.flatMap(({ geofence }) => geofence ?? []))
}
