/**
 * A block: the part of a map that lies in one cell of a level, as bytes. Coordinates are in units of the level, from
 * the north-west corner of the cell. Pure.
 *
 *     texts     count, then each
 *     states    0, or the number of land states (see LandState), then each; four in a number
 *     count     of features
 *     labels    of each: kind, flags, [name], [names], [ref], [population]
 *     lengths   of each that is no point: the number of its parts, and that of the points of each
 *     starts    of each part: its first point, from that of the part before
 *     steps     of each part: its other points, each from the one before: the first byte of each number
 *     rests     their other bytes
 *
 * Features that are alike come after each other, and numbers that are alike too, so that the block can be compressed well: each
 * of the last five begins with its length in bytes. Numbers one after the other as they come, with their rests, take a tenth more.
 */
import { ByteReader, ByteWriter, SplitReader, SplitWriter } from './bytes.ts'
import { kindOf } from './kinds.ts'

/** Special properties of a feature. The flags are a sum of these. */
export const LINK = 1
export const TUNNEL = 2
export const BRIDGE = 4
export const ONEWAY = 8

/** These bits, in the same number, say which of its members follow. */
const NAMED = 16
const TRANSLATED = 32
const REFERENCED = 64
const POPULATED = 128

/**
 * Whether a cell of zoom 14 is land, according to the coastlines of a map region. If it is unknown, the outline of the
 * world tells.
 */
export const UNKNOWN = 0
export const LAND = 1
export const SEA = 2
/** The cell has land and sea. Its land is among the features. */
export const COAST = 3

/** Points one after the other: x, y, x, y. */
export type Part = readonly number[] | Int32Array

/** Something that maps show. */
export interface MapFeature {
  /** The kind; see kindNumber. */
  readonly kind: number
  /** A sum of {@link LINK}, {@link TUNNEL}, {@link BRIDGE} and {@link ONEWAY}. */
  readonly flags: number
  readonly name?: string | undefined
  /** Names in other languages, by language. */
  readonly names?: ReadonlyMap<string, string> | undefined
  /** The number of a road. */
  readonly ref?: string | undefined
  readonly population?: number | undefined
  /**
   * The parts. A point has one with one point. A line has its pieces. An area has its rings, which are not closed;
   * each outer one comes before the holes in it. Outer rings run clockwise on the map, and holes anticlockwise.
   */
  readonly parts: readonly Part[]
}

/**
 * Writes a block.
 * @param states the states of the cells of zoom 14 in it, row by row; empty if all are unknown
 */
export function writeBlock(features: readonly MapFeature[], states: Uint8Array): Uint8Array {
  const numbers = new Map<string, number>()
  const texts = new ByteWriter()
  const out = new Columns()
  const textNumber = (text: string): number => {
    let number = numbers.get(text)
    if (number === undefined) {
      number = numbers.size
      numbers.set(text, number)
      texts.text(text)
    }
    return number
  }
  for (const feature of features.toSorted((a, b) => a.kind - b.kind || a.flags - b.flags))
    writeFeature(out, feature, textNumber)
  const block = new ByteWriter()
  block.number(numbers.size)
  block.raw(texts.written())
  writeStates(block, states)
  block.number(features.length)
  for (const column of [out.labels, out.lengths, out.starts, out.steps.first, out.steps.rests])
    block.bytes(column.written())
  return block.written()
}

/** The columns of a block's features, as described above. */
class Columns {
  readonly labels = new ByteWriter()
  readonly lengths = new ByteWriter()
  readonly starts = new ByteWriter()
  readonly steps = new SplitWriter()
  /** The first point of the last part. */
  start: readonly [x: number, y: number] = [0, 0]
}

function writeFeature(columns: Columns, feature: MapFeature, textNumber: (text: string) => number): void {
  const { labels: out, lengths, starts, steps } = columns
  const { kind, flags, name, names, ref, population, parts } = feature
  out.number(kind)
  out.number(
    flags |
      (name === undefined ? 0 : NAMED) |
      (names === undefined || names.size === 0 ? 0 : TRANSLATED) |
      (ref === undefined ? 0 : REFERENCED) |
      (population === undefined ? 0 : POPULATED),
  )
  if (name !== undefined) out.number(textNumber(name))
  if (names !== undefined && names.size > 0) {
    out.number(names.size)
    for (const [language, text] of names) {
      out.number(textNumber(language))
      out.number(textNumber(text))
    }
  }
  if (ref !== undefined) out.number(textNumber(ref))
  if (population !== undefined) out.number(population)
  const { shape } = kindOf(kind)
  if (shape !== 'point') lengths.number(parts.length)
  for (const part of parts) {
    if (shape !== 'point') lengths.number(part.length / 2)
    let [x, y] = [part[0]!, part[1]!]
    starts.signed(x - columns.start[0])
    starts.signed(y - columns.start[1])
    columns.start = [x, y]
    for (let i = 2; i < part.length; i += 2) {
      steps.signed(part[i]! - x)
      steps.signed(part[i + 1]! - y)
      x = part[i]!
      y = part[i + 1]!
    }
  }
}

function writeStates(out: ByteWriter, states: Uint8Array): void {
  const isKnown = states.some((state) => state !== UNKNOWN)
  out.number(isKnown ? states.length : 0)
  if (!isKnown) return
  for (let i = 0; i < states.length; i += 4) {
    const four = [0, 1, 2, 3].map((at) => states[i + at] ?? 0)
    out.number(four[0]! | (four[1]! << 2) | (four[2]! << 4) | (four[3]! << 6))
  }
}

/** The initial room for the points of a feature. It grows. */
const FIRST_NUMBERS = 64

/**
 * Reads the features of a block one after the other. Its members show the present feature, so that nothing is created
 * for features that are not needed.
 */
export class BlockReader {
  readonly states: Uint8Array
  /** The members are those of {@link MapFeature}. */
  kind = 0
  flags = 0
  population: number | undefined = undefined
  /** The points of all parts: x, y, x, y. */
  numbers = new Int32Array(FIRST_NUMBERS)
  /** For each part, where it ends in {@link numbers}. */
  ends: number[] = []
  /** Reads the texts of the whole block. */
  readonly #reader: ByteReader
  readonly #labels: ByteReader
  readonly #lengths: ByteReader
  readonly #starts: ByteReader
  readonly #steps: SplitReader
  #startX = 0
  #startY = 0
  /** Where each text begins, because most of them are not needed. */
  readonly #texts: readonly number[]
  #left: number
  #name = -1
  #ref = -1
  readonly #names: number[] = []

  constructor(bytes: Uint8Array) {
    const reader = new ByteReader(bytes)
    this.#reader = reader
    this.#texts = Array.from({ length: reader.number() }, () => reader.skipBytes())
    this.states = readStates(reader)
    this.#left = reader.number()
    this.#labels = new ByteReader(reader.bytes())
    this.#lengths = new ByteReader(reader.bytes())
    this.#starts = new ByteReader(reader.bytes())
    this.#steps = new SplitReader(reader.bytes(), reader.bytes())
  }

  get name(): string | undefined {
    return this.#textAt(this.#name)
  }

  get ref(): string | undefined {
    return this.#textAt(this.#ref)
  }

  get names(): ReadonlyMap<string, string> {
    const names = new Map<string, string>()
    for (let i = 0; i < this.#names.length; i += 2)
      names.set(this.#textAt(this.#names[i]!)!, this.#textAt(this.#names[i + 1]!)!)
    return names
  }

  /**
   * Goes to the next feature.
   * @returns false if there is none
   */
  next(): boolean {
    if (this.#left === 0) return false
    this.#left--
    const reader = this.#labels
    this.kind = reader.number()
    const flags = reader.number()
    this.flags = flags & (NAMED - 1)
    this.#name = flags & NAMED ? reader.number() : -1
    this.#names.length = 0
    if (flags & TRANSLATED)
      for (let count = 2 * reader.number(); count > 0; count--) this.#names.push(reader.number())
    this.#ref = flags & REFERENCED ? reader.number() : -1
    this.population = flags & POPULATED ? reader.number() : undefined
    this.#readParts(kindOf(this.kind).shape === 'point')
    return true
  }

  #textAt(number: number): string | undefined {
    return number < 0 ? undefined : this.#reader.textAt(this.#texts[number]!)
  }

  #readParts(isPoint: boolean): void {
    const [lengths, starts, steps] = [this.#lengths, this.#starts, this.#steps]
    this.ends.length = 0
    let at = 0
    for (let parts = isPoint ? 1 : lengths.number(); parts > 0; parts--) {
      const end = at + 2 * (isPoint ? 1 : lengths.number())
      if (end > this.numbers.length) {
        const grown = new Int32Array(Math.max(end, 2 * this.numbers.length))
        grown.set(this.numbers)
        this.numbers = grown
      }
      const { numbers } = this
      let x = (this.#startX += starts.signed())
      let y = (this.#startY += starts.signed())
      numbers[at++] = x
      numbers[at++] = y
      while (at < end) {
        numbers[at++] = x += steps.signed()
        numbers[at++] = y += steps.signed()
      }
      this.ends.push(end)
    }
  }
}

function readStates(reader: ByteReader): Uint8Array {
  const states = new Uint8Array(reader.number())
  for (let i = 0; i < states.length; i += 4) {
    const four = reader.number()
    for (let at = 0; at < 4; at++) if (i + at < states.length) states[i + at] = (four >> (2 * at)) & 3
  }
  return states
}
