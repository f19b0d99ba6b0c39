import { deviceHash } from '../model/deviceHash.ts'
import type { DeviceType, Sender } from '../model/update.ts'
import { ANONYMOUS } from '../model/device.ts'
import type { Stamp } from './trackSchema.ts'
import { FIELD } from './updateFields.ts'

/** Fields of an update that make its sender. */
export const SENDER_FIELDS =
  FIELD.deviceId |
  FIELD.userId |
  FIELD.installId |
  FIELD.deviceType |
  FIELD.deviceOS |
  FIELD.deviceMake |
  FIELD.deviceModel

/**
 * Sets of {@link WAYS} places. Of a set that more senders fall into, each is made anew nearly every time: of 100,000 senders
 * 0.8 % here, 7 % in half as many sets.
 */
const SETS = 1 << 17
const WAYS = 4

/** Bytes, about, of all senders that are kept: half a million usual ones. Texts may be long, and senders choose them. */
const MAX_KEPT_BYTES = 256 * 1024 * 1024
/** What one takes beside the characters of its texts, about. */
const SENDER_BYTES = 320

/** Places of a sender's texts, as a shift: one for each bit of {@link FIELD}. */
const PLACES = 4
/** Updates whose texts are held at once. */
const MAX_UPDATES = 1000
/** Fewer are not worth a pass of their own. */
const FEW = 4
const NO_BYTES = Buffer.alloc(0)
const MAX_HASH = 0x7fffffff

/** Texts of updates where they stand in the bytes that they came in, by update and field. */
export class SenderTexts {
  bytes: Buffer = NO_BYTES
  /** How many updates there are. */
  count = 0
  /** By update: of {@link SENDER_FIELDS}, those that are there; empty texts for "nobody" are not. */
  readonly named = new Int32Array(MAX_UPDATES)
  /** By update: of all of them, 31 bits. */
  readonly hashes = new Int32Array(MAX_UPDATES)
  /** By update and the bit's place in {@link FIELD}. */
  readonly starts = new Int32Array(MAX_UPDATES << PLACES)
  readonly ends = new Int32Array(MAX_UPDATES << PLACES)

  /** Those of other bytes. */
  beginSenders(bytes: Buffer): void {
    this.bytes = bytes
    this.count = 0
  }

  /** Of the next update; false where there is no room for one. */
  beginSender(): boolean {
    if (this.count === MAX_UPDATES) return false
    this.named[this.count] = 0
    this.hashes[this.count] = 0
    this.count++
    return true
  }

  /**
   * A text of printable ASCII characters, once for an update.
   * @param field one of {@link SENDER_FIELDS}
   * @param hash of the text, as texts.ts makes it
   */
  name(field: number, start: number, end: number, hash: number): void {
    const update = this.count - 1
    const place = 31 - Math.clz32(field)
    this.named[update]! |= field
    this.starts[(update << PLACES) + place] = start
    this.ends[(update << PLACES) + place] = end
    // In whatever order the fields come.
    this.hashes[update] = (this.hashes[update]! + Math.imul(hash, 2 * place + 1)) & MAX_HASH
  }
}

/** Where updates came from. */
type Origin = Pick<Stamp, 'scope' | 'ip'>

/**
 * Senders by what they sent, of one host, so that the next update of one finds it without a text being made of the bytes. A sender
 * that is not met for long gives its place to another; then it is made anew.
 *
 * The naive way looks for one update's sender after the other, and for each of a hundred thousand waits for the memory five
 * times: for the hash, the place, the sender and both ends of its longest text. Here those of a frame are looked for together,
 * step by step, and the waits of a step overlap, because none of its loads hangs on another or on a branch that is taken
 * by what was loaded.
 */
export class Senders {
  readonly #maxBytes: number
  /** Of those that are kept, about. */
  #bytes = 0
  readonly #hashes = new Int32Array(SETS * WAYS)
  readonly #kept: (Sender | undefined)[] = []
  /** By set: the place that is given away next. */
  readonly #oldest = new Uint8Array(SETS)
  /** By update: who sent it, as far as its hash tells. */
  readonly #likely: (Sender | undefined)[] = Array.from({ length: MAX_UPDATES })
  readonly #places = new Int32Array(MAX_UPDATES)
  /** Of no meaning: what is loaded for the cache alone goes here, or the compiler would leave the loads out. */
  touched = 0

  constructor(maxBytes = MAX_KEPT_BYTES) {
    this.#maxBytes = maxBytes
  }

  /** Bytes, about, that are kept. */
  get bytes(): number {
    return this.#bytes
  }

  /** Gives each update the sender that says just this; false where the texts of one are no sender's. */
  findAll(texts: SenderTexts, origin: Origin, updates: readonly { sender: Sender }[]): boolean {
    const { count } = texts
    const likely = this.#likely
    if (count >= FEW) this.#fetch(texts)
    for (let update = 0; update < count; update++) {
      let sender = count >= FEW ? likely[update] : undefined
      if (sender === undefined || !isOf(sender, origin) || !says(sender, texts, update)) {
        sender = this.find(texts, update, origin)
        if (sender === undefined) return false
      }
      updates[update]!.sender = sender
    }
    return true
  }

  /** The sender that says just this; undefined where the texts are no sender's. */
  find(texts: SenderTexts, update: number, origin: Origin): Sender | undefined {
    const hash = texts.hashes[update]!
    const set = setOf(hash)
    const first = set * WAYS
    for (let i = first; i < first + WAYS; i++) {
      if (this.#hashes[i] !== hash) continue
      const sender = this.#kept[i]
      if (sender !== undefined && isOf(sender, origin) && says(sender, texts, update)) return sender
    }
    const made = senderOf(texts, update, origin)
    if (made === undefined) return undefined
    const place = first + (this.#oldest[set]!++ & (WAYS - 1))
    // A list of which each place is filled in turn has no holes to look through.
    while (this.#kept.length <= place) this.#kept.push(undefined)
    this.#bytes += bytesOf(made) - bytesOf(this.#kept[place])
    if (this.#bytes > this.#maxBytes) {
      // To begin anew costs each sender as much as its first update did.
      this.#kept.fill(undefined)
      this.#bytes = bytesOf(made)
    }
    this.#hashes[place] = hash
    this.#kept[place] = made
    return made
  }

  /** Notes who has likely sent each, and brings what is to be compared into the cache. */
  #fetch({ hashes, count }: SenderTexts): void {
    const all = this.#hashes
    const kept = this.#kept
    const likely = this.#likely
    const places = this.#places
    for (let i = 0; i < count; i++) {
      const hash = hashes[i]!
      const first = setOf(hash) * WAYS
      const way =
        isZero(all[first + 1]! ^ hash) +
        2 * isZero(all[first + 2]! ^ hash) +
        3 * isZero(all[first + 3]! ^ hash)
      places[i] = first + (way & (WAYS - 1))
    }
    for (let i = 0; i < count; i++) likely[i] = kept[places[i]!]
    let sum = 0
    for (let i = 0; i < count; i++) sum += likely[i]?.hint ?? 0
    for (let i = 0; i < count; i++) {
      const id = likely[i]?.deviceId ?? ''
      sum += id.length === 0 ? 0 : id.charCodeAt(0) + id.charCodeAt(id.length - 1)
    }
    this.touched = sum | 0
  }
}

/** Of an update whose sender has not been looked for. */
export const NOBODY: Sender = {
  scope: -1,
  deviceId: '',
  deviceHash: 0,
  userId: undefined,
  installId: undefined,
  deviceType: undefined,
  deviceOS: undefined,
  deviceMake: undefined,
  deviceModel: undefined,
  ip: '',
  hint: -1,
}

/** The low bits of FNV-1a are its worst. */
function setOf(hash: number): number {
  return (hash ^ (hash >>> 16)) & (SETS - 1)
}

/** 1 for zero and 0 for all else, without a branch. */
function isZero(word: number): number {
  return ((word | -word) >>> 31) ^ 1
}

function bytesOf(sender: Sender | undefined): number {
  if (sender === undefined) return 0
  const { deviceId, userId, installId, deviceType, deviceOS, deviceMake, deviceModel } = sender
  let bytes = SENDER_BYTES + deviceId.length
  for (const text of [userId, installId, deviceType, deviceOS, deviceMake, deviceModel])
    if (text !== undefined) bytes += text.length
  return bytes
}

function isOf({ scope, ip }: Sender, origin: Origin): boolean {
  return ip === origin.ip && scope === origin.scope
}

function says(sender: Sender, texts: SenderTexts, update: number): boolean {
  return (
    isSame(sender.deviceId, texts, update, FIELD.deviceId) &&
    isSame(sender.userId, texts, update, FIELD.userId) &&
    isSame(sender.installId, texts, update, FIELD.installId) &&
    isSame(sender.deviceType, texts, update, FIELD.deviceType) &&
    isSame(sender.deviceOS, texts, update, FIELD.deviceOS) &&
    isSame(sender.deviceMake, texts, update, FIELD.deviceMake) &&
    isSame(sender.deviceModel, texts, update, FIELD.deviceModel)
  )
}

function isSame(
  text: string | undefined,
  { bytes, named, starts, ends }: SenderTexts,
  update: number,
  field: number,
): boolean {
  if ((named[update]! & field) === 0) return text === undefined
  const place = (update << PLACES) + 31 - Math.clz32(field)
  const start = starts[place]!
  if (text?.length !== ends[place]! - start) return false
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false
  return true
}

function senderOf(texts: SenderTexts, update: number, { scope, ip }: Origin): Sender | undefined {
  const text = (field: number): string | undefined => {
    if ((texts.named[update]! & field) === 0) return undefined
    const place = (update << PLACES) + 31 - Math.clz32(field)
    return texts.bytes.toString('latin1', texts.starts[place], texts.ends[place])
  }
  const deviceId = text(FIELD.deviceId)!
  if (deviceId === '' || deviceId === ANONYMOUS) return undefined
  const deviceType = text(FIELD.deviceType)
  if (deviceType !== undefined && deviceType !== 'iOS' && deviceType !== 'Android' && deviceType !== 'Web')
    return undefined
  return {
    scope,
    deviceId,
    deviceHash: deviceHash(deviceId),
    userId: text(FIELD.userId),
    installId: text(FIELD.installId),
    deviceType: deviceType as DeviceType | undefined,
    deviceOS: text(FIELD.deviceOS),
    deviceMake: text(FIELD.deviceMake),
    deviceModel: text(FIELD.deviceModel),
    ip,
    hint: -1,
  }
}
