/**
 * A block: the part of a map that lies in one cell of a level, as bytes. Coordinates are in units of the level, from
 * the north-west corner of the cell. Pure.
 *
 *     texts     count, then each
 *     states    0, or the number of land states (see LandState), then each; four in a number
 *     features  count, then each: kind, flags, [name], [names], [ref], [population], parts
 *
 * Features that are alike come after each other, so that the block can be compressed well.
 */
import { ByteReader, ByteWriter } from './bytes.ts'
import { kindOf } from './kinds.ts'

/** What is special about a feature; a sum of these. */
export const LINK = 1
export const TUNNEL = 2
export const BRIDGE = 4
export const ONEWAY = 8

/** In the same number, which of its members follow. */
const NAMED = 16
const TRANSLATED = 32
const REFERENCED = 64
const POPULATED = 128

/** Whether a cell of zoom 14 is land, by the coastlines of a map region. Unknown: the outline of the world says it. */
export const UNKNOWN = 0
export const LAND = 1
export const SEA = 2
/** Both: its land is among the features. */
export const COAST = 3

/** Points one after the other: x, y, x, y. */
export type Part = readonly number[] | Int32Array

/** Something that maps show. */
export interface MapFeature {
  /** See kindNumber. */
  readonly kind: number
  /** A sum of {@link LINK}, {@link TUNNEL}, {@link BRIDGE} and {@link ONEWAY}. */
  readonly flags: number
  readonly name?: string | undefined
  /** Other names, by language. */
  readonly names?: ReadonlyMap<string, string> | undefined
  /** The number of a road. */
  readonly ref?: string | undefined
  readonly population?: number | undefined
  /**
   * Of a point: one with one point. Of a line: its pieces. Of an area: its rings, not closed, each outer one before the
   * holes in it. Outer rings run clockwise on the map, holes the other way round.
   */
  readonly parts: readonly Part[]
}

/** @param states of the cells of zoom 14 in it, row by row; empty if all are unknown */
export function writeBlock(features: readonly MapFeature[], states: Uint8Array): Uint8Array {
  const numbers = new Map<string, number>()
  const texts = new ByteWriter()
  const body = new ByteWriter()
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
    writeFeature(body, feature, textNumber)
  const block = new ByteWriter()
  block.number(numbers.size)
  block.raw(texts.written())
  writeStates(block, states)
  block.number(features.length)
  block.raw(body.written())
  return block.written()
}

function writeFeature(out: ByteWriter, feature: MapFeature, textNumber: (text: string) => number): void {
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
  if (shape !== 'point') out.number(parts.length)
  let [x, y] = [0, 0]
  for (const part of parts) {
    if (shape !== 'point') out.number(part.length / 2)
    for (let i = 0; i < part.length; i += 2) {
      out.signed(part[i]! - x)
      out.signed(part[i + 1]! - y)
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

/** Room for the points of a feature, which grows. */
const FIRST_NUMBERS = 64

/**
 * Reads the features of a block one after the other. Its members are those of the present one, so that nothing is
 * created for features that are not needed.
 */
export class BlockReader {
  readonly states: Uint8Array
  /** See {@link MapFeature}. */
  kind = 0
  flags = 0
  population: number | undefined = undefined
  /** The points of all parts: x, y, x, y. */
  numbers = new Int32Array(FIRST_NUMBERS)
  /** By part, where it ends in {@link numbers}. */
  ends: number[] = []
  readonly #reader: ByteReader
  /** Where each text begins; most of them are not needed. */
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

  /** Goes to the next feature. @returns false if there is none */
  next(): boolean {
    if (this.#left === 0) return false
    this.#left--
    const reader = this.#reader
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
    const reader = this.#reader
    this.ends.length = 0
    let [x, y, at] = [0, 0, 0]
    for (let parts = isPoint ? 1 : reader.number(); parts > 0; parts--) {
      const end = at + 2 * (isPoint ? 1 : reader.number())
      if (end > this.numbers.length) {
        const grown = new Int32Array(Math.max(end, 2 * this.numbers.length))
        grown.set(this.numbers)
        this.numbers = grown
      }
      const { numbers } = this
      while (at < end) {
        numbers[at++] = x += reader.signed()
        numbers[at++] = y += reader.signed()
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
