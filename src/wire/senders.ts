import { deviceHash } from '../model/deviceHash.ts'
import type { DeviceType, Sender } from '../model/update.ts'
import { ANONYMOUS } from '../model/device.ts'
import type { Stamp } from './trackSchema.ts'
import { FIELD } from './updateFields.ts'

/** Fields of an update that make up its sender. */
export const SENDER_FIELDS =
  FIELD.deviceId |
  FIELD.userId |
  FIELD.installId |
  FIELD.deviceType |
  FIELD.deviceOS |
  FIELD.deviceMake |
  FIELD.deviceModel

/**
 * The number of sets of {@link WAYS} places. Senders that share an overfull set are built again for nearly every
 * update. This happens to 0.8 % of 100,000 senders here, and to 7 % with half as many sets.
 */
const SETS = 1 << 17
const WAYS = 4

/** Approximate bytes of all cached senders: half a million usual ones. Clients choose the texts, which may be long. */
const MAX_KEPT_BYTES = 256 * 1024 * 1024
/** Approximate bytes of a sender besides the characters of its texts. */
const SENDER_BYTES = 320

/** The base-2 logarithm of the number of places for a sender's texts, one for each bit of {@link FIELD}. */
const PLACES = 4
/** How many updates' texts can be held at once. */
const MAX_UPDATES = 1000
/** With fewer updates than this, a separate pass is not worth it. */
const FEW = 4
const NO_BYTES = Buffer.alloc(0)
const MAX_HASH = 0x7fffffff

/** The texts of updates as positions in the received bytes, by update and field. */
export class SenderTexts {
  bytes: Buffer = NO_BYTES
  /** How many updates there are. */
  count = 0
  /** For each update, which of {@link SENDER_FIELDS} it has. Empty texts, which mean "nobody", do not count. */
  readonly named = new Int32Array(MAX_UPDATES)
  /** For each update, the hash of all its texts, 31 bits. */
  readonly hashes = new Int32Array(MAX_UPDATES)
  /** Where each text begins, by update and the field's bit number in {@link FIELD}. */
  readonly starts = new Int32Array(MAX_UPDATES << PLACES)
  readonly ends = new Int32Array(MAX_UPDATES << PLACES)

  /** Begins with other bytes. */
  beginSenders(bytes: Buffer): void {
    this.bytes = bytes
    this.count = 0
  }

  /** Begins the next update. Returns false if there is no room for one. */
  beginSender(): boolean {
    if (this.count === MAX_UPDATES) return false
    this.named[this.count] = 0
    this.hashes[this.count] = 0
    this.count++
    return true
  }

  /**
   * Adds a text of printable ASCII characters, at most once per update and field.
   * @param field one of {@link SENDER_FIELDS}
   * @param hash the hash of the text, as texts.ts computes it
   */
  name(field: number, start: number, end: number, hash: number): void {
    const update = this.count - 1
    const place = 31 - Math.clz32(field)
    this.named[update]! |= field
    this.starts[(update << PLACES) + place] = start
    this.ends[(update << PLACES) + place] = end
    // The result does not depend on the order of the fields.
    this.hashes[update] = (this.hashes[update]! + Math.imul(hash, 2 * place + 1)) & MAX_HASH
  }
}

/** Where updates came from. */
type Origin = Pick<Stamp, 'scope' | 'ip'>

/**
 * The cache of a host's senders by the bytes that they sent, so that the next update of a sender finds it without
 * creating a string. A sender that has not been seen for long gives up its place to another, and is built again when
 * it returns.
 *
 * The naive way looks up the senders one by one, and with a hundred thousand of them each look-up waits for memory
 * five times: for the hash, the place, the sender and both ends of its longest text. Here the senders of a frame are
 * looked up together, step by step. The waits of a step overlap, because none of its loads depends on another load,
 * or on a branch that depends on one.
 */
export class Senders {
  readonly #maxBytes: number
  /** Approximate bytes of the cached senders. */
  #bytes = 0
  readonly #hashes = new Int32Array(SETS * WAYS)
  readonly #kept: (Sender | undefined)[] = []
  /** For each set, the place that is replaced next. */
  readonly #oldest = new Uint8Array(SETS)
  /** For each update, its probable sender, judging by the hash. */
  readonly #likely: (Sender | undefined)[] = Array.from({ length: MAX_UPDATES })
  readonly #places = new Int32Array(MAX_UPDATES)
  /**
   * A value without a meaning. It receives values that are loaded only to bring them into the cache, so that the
   * compiler keeps the loads.
   */
  touched = 0

  constructor(maxBytes = MAX_KEPT_BYTES) {
    this.#maxBytes = maxBytes
  }

  /** Approximate bytes of the cached senders. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Gives each update the sender with exactly these texts. Returns false if the texts of one are not valid for a
   * sender.
   */
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

  /** The sender with exactly these texts; undefined if they are not valid for a sender. */
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
    // Filling every place in turn keeps the array free of holes.
    while (this.#kept.length <= place) this.#kept.push(undefined)
    this.#bytes += bytesOf(made) - bytesOf(this.#kept[place])
    if (this.#bytes > this.#maxBytes) {
      // After clearing, each sender costs as much as its first update did.
      this.#kept.fill(undefined)
      this.#bytes = bytesOf(made)
    }
    this.#hashes[place] = hash
    this.#kept[place] = made
    return made
  }

  /** Finds the probable sender of each update, and loads what will be compared into the cache. */
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

/** The sender of an update whose sender has not been looked up. */
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

/** The set of a hash. The low bits of FNV-1a are the weakest ones. */
function setOf(hash: number): number {
  return (hash ^ (hash >>> 16)) & (SETS - 1)
}

/** Returns 1 for zero and 0 otherwise, without a branch. */
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
