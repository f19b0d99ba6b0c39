import { deviceHash } from '../model/deviceHash.ts'
import type { DeviceType, Sender } from '../model/update.ts'
import { ANONYMOUS } from './anonymous.ts'
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

/** Sets of {@link WAYS} places: as many senders as active devices that one process is meant for. */
const SETS = 1 << 16
const WAYS = 4

const FIELDS = Object.keys(FIELD).length
const NO_BYTES = Buffer.alloc(0)
const MAX_HASH = 0x7fffffff

/** Texts of an update where they stand in the bytes that it came in, by field. */
export class SenderTexts {
  bytes: Buffer = NO_BYTES
  /** Of {@link SENDER_FIELDS}, those that are there; empty texts for "nobody" are not. */
  named = 0
  /** Of all of them, 31 bits. */
  hash = 0
  /** By the bit's place in {@link FIELD}. */
  readonly starts = new Int32Array(FIELDS)
  readonly ends = new Int32Array(FIELDS)

  /** Of another update. */
  beginSender(): void {
    this.named = 0
    this.hash = 0
  }

  /**
   * A text of printable ASCII characters, once.
   * @param field one of {@link SENDER_FIELDS}
   * @param hash of the text, as texts.ts makes it
   */
  name(field: number, start: number, end: number, hash: number): void {
    const place = 31 - Math.clz32(field)
    this.named |= field
    this.starts[place] = start
    this.ends[place] = end
    // In whatever order the fields come.
    this.hash = (this.hash + Math.imul(hash, 2 * place + 1)) & MAX_HASH
  }
}

/** Where updates came from. */
type Origin = Pick<Stamp, 'scope' | 'ip'>

/**
 * Senders by what they sent, so that the next update of one finds it without a text being made of the bytes. A sender
 * that is not met for long gives its place to another; then it is made anew.
 */
class Senders {
  readonly #hashes = new Int32Array(SETS * WAYS)
  readonly #kept: (Sender | undefined)[] = []
  /** By set: the place that is given away next. */
  readonly #oldest = new Uint8Array(SETS)

  /** The sender that says just this; undefined where the texts are no sender's. */
  find(texts: SenderTexts, origin: Origin): Sender | undefined {
    const { hash } = texts
    // The low bits of FNV-1a are its worst.
    const set = (hash ^ (hash >>> 16)) & (SETS - 1)
    const first = set * WAYS
    for (let i = first; i < first + WAYS; i++) {
      if (this.#hashes[i] !== hash) continue
      const sender = this.#kept[i]
      if (sender?.ip === origin.ip && sender.scope === origin.scope && says(sender, texts)) return sender
    }
    const made = senderOf(texts, origin)
    if (made === undefined) return undefined
    const place = first + (this.#oldest[set]!++ & (WAYS - 1))
    // A list of which each place is filled in turn has no holes to look through.
    while (this.#kept.length <= place) this.#kept.push(undefined)
    this.#hashes[place] = hash
    this.#kept[place] = made
    return made
  }
}

/** One for all of the process. */
export const senders = new Senders()

function says(sender: Sender, texts: SenderTexts): boolean {
  return (
    isSame(sender.deviceId, texts, FIELD.deviceId) &&
    isSame(sender.userId, texts, FIELD.userId) &&
    isSame(sender.installId, texts, FIELD.installId) &&
    isSame(sender.deviceType, texts, FIELD.deviceType) &&
    isSame(sender.deviceOS, texts, FIELD.deviceOS) &&
    isSame(sender.deviceMake, texts, FIELD.deviceMake) &&
    isSame(sender.deviceModel, texts, FIELD.deviceModel)
  )
}

function isSame(
  text: string | undefined,
  { bytes, named, starts, ends }: SenderTexts,
  field: number,
): boolean {
  if ((named & field) === 0) return text === undefined
  const place = 31 - Math.clz32(field)
  const start = starts[place]!
  if (text?.length !== ends[place]! - start) return false
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false
  return true
}

function senderOf(texts: SenderTexts, { scope, ip }: Origin): Sender | undefined {
  const text = (field: number): string | undefined => {
    if ((texts.named & field) === 0) return undefined
    const place = 31 - Math.clz32(field)
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
    row: -1,
  }
}
