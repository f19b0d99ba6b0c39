import { Slice } from '../../runtime/slices.ts'
import { FileUnreadable, type FileRow } from './fileFormat.ts'

/** A feature of a GeoJSON file, as it is in the file. */
export interface FeatureRow extends FileRow {
  readonly bytes: Uint8Array
}

/** How many bytes are read between two looks at the clock. */
const PIECE_BYTES = 8 * 1024
/** The longest feature in bytes. The largest polygon has a tenth of them. */
const MOST_FEATURE_BYTES = 1024 * 1024
/** The only member of the collection whose name matters. */
const FEATURES = 'features'
/** A file that is nested deeper was not written by a program. */
const MOST_DEPTH = 64

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]
const [LINE_FEED, SPACE] = [0x0a, 0x20]
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

/**
 * Reads the features of a GeoJSON FeatureCollection as they arrive.
 *
 * `JSON.parse` of the whole file would hold it twice, and nothing else would run for seconds. So this finds where each
 * feature begins and ends, by quotes and brackets alone, and each feature is parsed separately. It holds at most one
 * feature.
 * @throws {FileUnreadable} after all features before it; and the errors of `chunks`, unchanged
 */
export async function* readFeatures(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<FeatureRow[]> {
  const splitter = new Splitter()
  const slice = new Slice()
  slice.pause()
  let isTold = false
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
      slice.resume()
      if (slice.isOver) await slice.next()
      splitter.take(chunk.subarray(start, start + PIECE_BYTES))
      slice.pause()
      const { features } = splitter
      splitter.features = []
      if (features.length > 0 || (splitter.hasBegun && !isTold)) yield features
      isTold ||= splitter.hasBegun
      if (splitter.failure !== undefined) throw splitter.failure
    }
  }
  splitter.end()
}

/** The part of the file that is being read. */
type Part = 'before' | 'collection' | 'features' | 'after'

class Splitter {
  /** Features that were found and not taken yet. */
  features: FeatureRow[] = []
  failure: FileUnreadable | undefined
  #part: Part = 'before'
  #hasFeatures = false
  #line = 1
  #depth = 0
  #isText = false
  #isEscaped = false
  /** The last text within the collection itself, until it is longer than the name that matters. */
  #name = ''
  #isNamed = false
  /** The pieces of the feature that has begun. */
  #held: Uint8Array[] = []
  #heldBytes = 0
  #beganAt = 0
  #isAfterComma = false
  #bytes = 0

  /** Whether the list of features has begun. */
  get hasBegun(): boolean {
    return this.#hasFeatures
  }

  take(piece: Uint8Array): void {
    /** Where the part of the feature in this piece begins; −1 if none has begun. */
    let from = this.#heldBytes > 0 ? 0 : -1
    for (let at = 0; at < piece.length && this.failure === undefined; at++, this.#bytes++) {
      const byte = piece[at]!
      if (byte === LINE_FEED) this.#line++
      if (this.#isText) {
        this.#takeText(byte)
        continue
      }
      if (byte <= SPACE) continue
      if (this.#part === 'features' && this.#depth === 2) {
        if (byte === COMMA || byte === CLOSE_BRACKET) {
          if (from >= 0 || this.#heldBytes > 0) this.#finish(piece.subarray(Math.max(from, 0), at))
          else if (byte === COMMA || this.#isAfterComma)
            this.#fail('A feature is missing between two commas.')
          this.#isAfterComma = byte === COMMA
          from = -1
          if (byte === CLOSE_BRACKET) this.#leave('collection')
          continue
        }
        if (from < 0 && this.#heldBytes === 0) {
          from = at
          this.#beganAt = this.#line
        }
      }
      this.#takeByte(byte)
    }
    if (from >= 0 && this.failure === undefined) this.#hold(piece.subarray(from))
  }

  /**
   * Checks the end of the file.
   * @throws {FileUnreadable}
   */
  end(): void {
    if (this.#part === 'before') throw this.#unreadable('It is empty.')
    if (this.#part !== 'after') throw this.#unreadable('The file breaks off.')
    if (!this.#hasFeatures)
      throw this.#unreadable('It has no list of features; a FeatureCollection is expected.')
  }

  #takeText(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === BACKSLASH) this.#isEscaped = true
    else if (byte === QUOTE) this.#isText = false
    if (this.#isText && this.#depth === 1 && this.#name.length <= FEATURES.length)
      this.#name += String.fromCharCode(byte)
  }

  #takeByte(byte: number): void {
    if (this.#part === 'before') {
      if (byte === OPEN_BRACE) this.#part = 'collection'
      else if (byte === BYTE_ORDER_MARK[this.#bytes]) return
      else return this.#fail('It is not a GeoJSON FeatureCollection.')
    } else if (this.#part === 'after') return this.#fail('There is text after the end of the collection.')
    if (byte === QUOTE) {
      this.#isText = true
      this.#name = ''
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++this.#depth > MOST_DEPTH) return this.#fail('It is nested too deeply.')
      if (this.#depth === 2 && this.#isNamed && byte === OPEN_BRACKET && !this.#hasFeatures) {
        this.#part = 'features'
        this.#hasFeatures = true
      }
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (--this.#depth === 0) this.#part = 'after'
    }
    if (this.#depth === 1) this.#isNamed = byte === COLON && this.#name === FEATURES
  }

  #leave(part: Part): void {
    this.#part = part
    this.#depth--
    this.#isNamed = false
  }

  #hold(bytes: Uint8Array): void {
    this.#heldBytes += bytes.length
    if (this.#heldBytes > MOST_FEATURE_BYTES)
      return this.#fail(`A feature has more than ${MOST_FEATURE_BYTES} bytes.`, this.#beganAt)
    // The bytes are copied, because the memory of a piece may be used again by then.
    this.#held.push(bytes.slice())
  }

  #finish(rest: Uint8Array): void {
    this.#hold(rest)
    if (this.failure !== undefined) return
    this.features.push({
      line: this.#beganAt,
      size: this.#heldBytes,
      bytes: Buffer.concat(this.#held, this.#heldBytes),
    })
    this.#held = []
    this.#heldBytes = 0
  }

  #fail(sentence: string, line = this.#line): void {
    this.failure = new FileUnreadable(line, sentence)
  }

  #unreadable(sentence: string): FileUnreadable {
    return new FileUnreadable(this.#line, sentence)
  }
}
