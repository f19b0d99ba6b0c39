/**
 * Cuts GeoJSON into the texts of its features while it is read: the features of a FeatureCollection, or objects one
 * after the other, as in line-delimited files. Only one feature at a time is in memory.
 */
import { AddressFileRefused } from './rows.ts'

const [QUOTE, BACKSLASH, OPEN, CLOSE, OPEN_LIST, CLOSE_LIST, COMMA] = Buffer.from('"\\{}[],')
/** The largest size of a feature. The usual one has some hundred bytes. */
const MAX_ITEM_BYTES = 16e6
/** The longest key that is remembered, which is longer than any key that matters. */
const MAX_KEY_LENGTH = 100

export class JsonItems {
  readonly #path: string
  /** What has been read of the present item, or of the object around the features. */
  #kept: Buffer[] = []
  #keptBytes = 0
  #depth = 0
  /** The depth at which features begin: 0, or 2 in a FeatureCollection. */
  #itemDepth = 0
  #inText = false
  #isEscaped = false
  #isInItem = false
  #isInFeatures = false
  /** Where the last text of the object around the features begins. It is the key of a list that follows. */
  #textFrom = -1
  #textBegun = ''
  #lastText = ''

  constructor(path: string) {
    this.#path = path
  }

  /**
   * The items that end in this part of the file.
   * @throws {AddressFileRefused}
   */
  *push(bytes: Buffer): Generator<Buffer> {
    let from = 0
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (this.#inText) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (byte === BACKSLASH) this.#isEscaped = true
        else if (byte === QUOTE) {
          this.#inText = false
          if (this.#textFrom >= 0)
            this.#lastText = this.#textBegun + bytes.toString('latin1', this.#textFrom, at)
        }
        continue
      }
      if (byte === QUOTE) {
        this.#inText = true
        this.#textFrom = this.#depth === 1 ? at + 1 : -1
        this.#textBegun = ''
      } else if (byte === OPEN) {
        if (this.#depth === this.#itemDepth && (this.#depth === 0 || this.#isInFeatures)) {
          this.#isInItem = true
          this.#clear()
          from = at
        }
        this.#depth++
      } else if (byte === OPEN_LIST) {
        // The features of a collection begin here. The object around them is not a feature.
        if (this.#itemDepth === 0 && this.#depth === 1 && this.#lastText === 'features') {
          this.#itemDepth = 2
          this.#isInItem = false
        }
        if (this.#itemDepth === 2 && this.#depth === 1) this.#isInFeatures = this.#lastText === 'features'
        this.#depth++
      } else if (byte === CLOSE || byte === CLOSE_LIST) {
        this.#depth--
        if (this.#depth < 0) throw new AddressFileRefused(`${this.#path} is damaged: it is no JSON.`)
        if (this.#depth === 1) this.#isInFeatures = false
        if (byte === CLOSE && this.#depth === this.#itemDepth && this.#isInItem) {
          this.#isInItem = false
          yield this.#item(bytes.subarray(from, at + 1))
        }
      } else if (this.#depth === 0 && byte > 32 && byte !== COMMA)
        throw new AddressFileRefused(`${this.#path} is damaged: it is no JSON.`)
    }
    if (this.#inText && this.#textFrom >= 0) {
      this.#textBegun = (this.#textBegun + bytes.toString('latin1', this.#textFrom)).slice(0, MAX_KEY_LENGTH)
      this.#textFrom = 0
    }
    if (this.#isInItem) this.#keep(bytes.subarray(from))
  }

  /**
   * Checks the end of the file.
   * @throws {AddressFileRefused} if it ends within an object or list
   */
  end(): void {
    if (this.#depth > 0)
      throw new AddressFileRefused(`${this.#path} is incomplete: it ends in the middle of a feature or list.`)
  }

  #item(last: Buffer): Buffer {
    if (this.#kept.length === 0) return last
    this.#keep(last)
    const item = Buffer.concat(this.#kept)
    this.#clear()
    return item
  }

  #keep(bytes: Buffer): void {
    this.#keptBytes += bytes.length
    if (this.#keptBytes > MAX_ITEM_BYTES)
      throw new AddressFileRefused(
        `${this.#path} is damaged: a feature is larger than ${MAX_ITEM_BYTES / 1e6} MB.`,
      )
    this.#kept.push(bytes)
  }

  #clear(): void {
    this.#kept = []
    this.#keptBytes = 0
  }
}
