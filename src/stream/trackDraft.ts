import { ANONYMOUS } from '../ingest/anonymous.ts'
import { notFarAhead, type Stamp } from '../ingest/trackSchema.ts'
import type { DeviceType, Update } from '../model/update.ts'
import type { TrackFrame } from './trackFrame.ts'

/**
 * The fast way for the usual frame: a scanner of each encoding fills a draft field by field, straight from the bytes,
 * and the draft makes the update. Whatever is unusual, wrong, or of another kind, is left to the decoder and its
 * schemas; what comes out is the same (test/stream/scanners.test.ts).
 *
 * The naive way makes an object of each update, walks it twice for what JSON can smuggle in and for the schema, and then
 * makes the update of it: for a frame of 32 that is 3 of the 8 microseconds which an update may cost in all.
 */

/** Fields of an update that scanners know, as bits. */
export const FIELD = {
  deviceId: 1 << 0,
  latitude: 1 << 1,
  longitude: 1 << 2,
  accuracy: 1 << 3,
  userId: 1 << 4,
  foreground: 1 << 5,
  stopped: 1 << 6,
  updatedAt: 1 << 7,
  stream: 1 << 8,
  sequence: 1 << 9,
  installId: 1 << 10,
  deviceType: 1 << 11,
  deviceOS: 1 << 12,
  deviceMake: 1 << 13,
  deviceModel: 1 << 14,
  sdkVersion: 1 << 15,
} as const

const MUST_HAVE = FIELD.deviceId | FIELD.latitude | FIELD.longitude
const SEQUENCED = FIELD.stream | FIELD.sequence

const MAX_UPDATES = 1000
const MAX_NAME = 256
const MAX_SHORT_NAME = 64
/** Smaller Unix times are seconds. */
const FIRST_MILLISECONDS = 1e11
/** The end of the year 9999. */
const LAST_MILLISECONDS = 253_402_300_799_999

/** A frame, and one of its updates, while a scanner is at it. Setters answer whether the usual way is left. */
export class TrackDraft {
  id = 0
  events = false
  stream: string | undefined
  sequence = -1
  #updates: Update[] = []
  #seen = 0
  #deviceId = ''
  #userId: string | undefined
  #latitude = 0
  #longitude = 0
  #accuracy: number | undefined
  #foreground = false
  #stopped = false
  #updatedAt: number | undefined
  #stream: string | undefined
  #sequence: number | undefined
  #installId: string | undefined
  #deviceType: DeviceType | undefined
  #deviceOS: string | undefined
  #deviceMake: string | undefined
  #deviceModel: string | undefined

  beginFrame(): void {
    this.id = 0
    this.events = false
    this.stream = undefined
    this.sequence = -1
    this.#updates = []
  }

  beginUpdate(): void {
    this.#seen = 0
    this.#userId = undefined
    this.#accuracy = undefined
    this.#foreground = false
    this.#stopped = false
    this.#updatedAt = undefined
    this.#stream = undefined
    this.#sequence = undefined
    this.#installId = undefined
    this.#deviceType = undefined
    this.#deviceOS = undefined
    this.#deviceMake = undefined
    this.#deviceModel = undefined
  }

  /** @param field a number of {@link FIELD} */
  text(field: number, value: string): boolean {
    if ((this.#seen & field) !== 0 || value.length > MAX_NAME) return false
    this.#seen |= field
    switch (field) {
      case FIELD.deviceId:
        this.#deviceId = value
        return value !== '' && value !== ANONYMOUS
      case FIELD.userId:
        // An empty text is what logged-out apps send for "nobody".
        this.#userId = value === '' ? undefined : value
        return true
      case FIELD.installId:
        this.#installId = value === '' ? undefined : value
        return true
      case FIELD.stream:
        this.#stream = value
        return value !== '' && value.length <= MAX_SHORT_NAME
      case FIELD.updatedAt:
        this.#updatedAt = timeOfText(value)
        return this.#updatedAt !== undefined
      case FIELD.deviceType:
        this.#deviceType = value as DeviceType
        return value === 'iOS' || value === 'Android' || value === 'Web'
      case FIELD.deviceOS:
        this.#deviceOS = value
        return true
      case FIELD.deviceMake:
        this.#deviceMake = value
        return true
      case FIELD.deviceModel:
        this.#deviceModel = value
        return true
      default:
        return field === FIELD.sdkVersion && value.length <= MAX_SHORT_NAME
    }
  }

  number(field: number, value: number): boolean {
    if ((this.#seen & field) !== 0) return false
    this.#seen |= field
    switch (field) {
      case FIELD.latitude:
        this.#latitude = value
        return value >= -90 && value <= 90
      case FIELD.longitude:
        this.#longitude = value
        return value >= -180 && value <= 180
      case FIELD.accuracy:
        this.#accuracy = value
        return value > 0 && value < Infinity
      case FIELD.updatedAt:
        this.#updatedAt = Math.round(value)
        return value >= FIRST_MILLISECONDS && value <= LAST_MILLISECONDS
      case FIELD.sequence:
        this.#sequence = value
        return Number.isSafeInteger(value) && value >= 0
      default:
        return false
    }
  }

  boolean(field: number, value: boolean): boolean {
    if ((this.#seen & field) !== 0) return false
    this.#seen |= field
    if (field === FIELD.foreground) this.#foreground = value
    else if (field === FIELD.stopped) this.#stopped = value
    else return false
    return true
  }

  endUpdate(stamp: Stamp): boolean {
    const seen = this.#seen
    if ((seen & MUST_HAVE) !== MUST_HAVE || this.#updates.length === MAX_UPDATES) return false
    if ((seen & FIELD.accuracy) === 0 && !stamp.fromSdk && (seen & FIELD.sdkVersion) === 0) return false
    if ((seen & SEQUENCED) !== 0 && (seen & SEQUENCED) !== SEQUENCED) return false
    const updatedAt = this.#updatedAt
    if (updatedAt !== undefined && isFarAhead(updatedAt, stamp)) return false
    this.#updates.push({
      scope: stamp.scope,
      deviceId: this.#deviceId,
      userId: this.#userId,
      installId: this.#installId,
      latitude: this.#latitude,
      longitude: this.#longitude,
      accuracy: this.#accuracy,
      foreground: this.#foreground,
      stopped: this.#stopped,
      replayed: false,
      updatedAt,
      description: undefined,
      metadata: undefined,
      deviceType: this.#deviceType,
      deviceOS: this.#deviceOS,
      deviceMake: this.#deviceMake,
      deviceModel: this.#deviceModel,
      beacons: undefined,
      stream: this.#stream,
      sequence: this.#sequence,
      receivedAt: stamp.receivedAt,
      ip: stamp.ip,
    })
    return true
  }

  /** The frame; undefined where it is not whole, or out of its bounds. */
  endFrame(): TrackFrame | undefined {
    const { id, stream, sequence, events: wantsEvents } = this
    const updates = this.#updates
    this.#updates = []
    if (!Number.isSafeInteger(id) || id < 1 || updates.length === 0) return undefined
    if (stream === undefined) return sequence < 0 ? { id, wantsEvents, updates } : undefined
    if (stream === '' || stream.length > MAX_SHORT_NAME) return undefined
    if (!Number.isInteger(sequence) || sequence < 0) return undefined
    if (sequence > Number.MAX_SAFE_INTEGER - MAX_UPDATES) return undefined
    for (let i = 0; i < updates.length; i++) {
      const update = updates[i] as { -readonly [K in keyof Update]: Update[K] }
      if (update.stream !== undefined) continue
      update.stream = stream
      update.sequence = sequence + i
    }
    return { id, wantsEvents, updates }
  }
}

function isFarAhead(time: number, { receivedAt }: Stamp): boolean {
  try {
    notFarAhead('', time, receivedAt)
    return false
  } catch {
    return true
  }
}

/** What each place of an ISO date in UTC with milliseconds holds: `2026-11-20T04:21:00.123Z`; 0 is a digit. */
const ISO_FORM = '0000-00-00T00:00:00.000Z'

/** Epoch milliseconds; undefined for every other form, and for dates that no calendar has. */
function timeOfText(text: string): number | undefined {
  if (text.length !== ISO_FORM.length) return undefined
  for (let i = 0; i < ISO_FORM.length; i++) {
    const form = ISO_FORM.charCodeAt(i)
    const code = text.charCodeAt(i)
    if (form === 48 ? code < 48 || code > 57 : code !== form) return undefined
  }
  const digits = (at: number) => (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48
  const year = digits(0) * 100 + digits(2)
  const day = digits(8)
  const hour = digits(11)
  const minute = digits(14)
  const second = digits(17)
  // Days that only some months have, leap seconds and early years are for the other way.
  if (year < 1970 || day < 1 || day > 28 || hour > 23 || minute > 59 || second > 59) return undefined
  const month = digits(5)
  if (month < 1 || month > 12) return undefined
  const milliseconds = digits(20) * 10 + text.charCodeAt(22) - 48
  return Date.UTC(year, month - 1, day, hour, minute, second, milliseconds)
}
