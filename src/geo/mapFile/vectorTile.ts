/** Writes vector tiles, https://github.com/mapbox/vector-tile-spec/tree/master/2.1. Pure. */
import { ByteWriter } from './bytes.ts'
import { TILE_UNITS } from './grid.ts'
import type { MapShape } from './kinds.ts'

/** The values of a feature by name. Undefined ones are left out. */
export type TileValues = Readonly<Record<string, string | number | boolean | undefined>>

const TYPES: Readonly<Record<MapShape, number>> = { point: 1, line: 2, area: 3 }
const MOVE_TO = 1
const LINE_TO = 2
const CLOSE_PATH = 7

/** Fields of the messages with their wire types: 2 is a length and bytes, and 0 is a number. */
const TILE_LAYER = (3 << 3) | 2
const LAYER_NAME = (1 << 3) | 2
const LAYER_FEATURE = (2 << 3) | 2
const LAYER_KEY = (3 << 3) | 2
const LAYER_VALUE = (4 << 3) | 2
const LAYER_EXTENT = 5 << 3
const LAYER_VERSION = 15 << 3
const FEATURE_TAGS = (2 << 3) | 2
const FEATURE_TYPE = 3 << 3
const FEATURE_GEOMETRY = (4 << 3) | 2
const VALUE_TEXT = (1 << 3) | 2
const VALUE_NUMBER = 5 << 3
/** Eight bytes, for numbers that are negative or not whole. */
const VALUE_DOUBLE = (3 << 3) | 1
const VALUE_BOOLEAN = 7 << 3

/** An odd number with bits all over, as multiplicative hashes need. */
const HASH_FACTOR = 0x9e3779b1

interface Feature {
  readonly shape: MapShape
  /** The numbers of keys and values, in turn. */
  readonly tags: readonly number[]
  readonly parts: ArrayLike<number>[]
  /** Another feature with the same hash. */
  readonly next: Feature | undefined
}

/**
 * A layer of a tile. Features of the same shape with equal values are combined into one with several parts, because it
 * is drawn in the same way and takes less room.
 */
class TileLayer {
  readonly #extent: number
  readonly #features: Feature[] = []
  /** The lines and areas by a hash of their values. */
  readonly #byHash = new Map<number, Feature>()
  readonly #keys = new Map<string, number>()
  readonly #values = new Map<string | number | boolean, number>()

  /**
   * An empty layer.
   * @param extent the units of its side
   */
  constructor(extent: number) {
    this.#extent = extent
  }

  add(shape: MapShape, values: TileValues, parts: readonly ArrayLike<number>[]): void {
    const tags: number[] = []
    for (const key in values) {
      const value = values[key]
      if (value !== undefined) tags.push(numberOf(this.#keys, key), numberOf(this.#values, value))
    }
    // Points of one name are different places.
    if (shape === 'point') {
      this.#features.push({ shape, tags, parts: [...parts], next: undefined })
      return
    }
    const hash = hashOf(shape, tags)
    const next = this.#byHash.get(hash)
    let feature = next
    while (feature !== undefined && !isLike(feature, shape, tags)) feature = feature.next
    if (feature !== undefined) {
      for (const part of parts) feature.parts.push(part)
      return
    }
    feature = { shape, tags, parts: [...parts], next }
    this.#byHash.set(hash, feature)
    this.#features.push(feature)
  }

  bytes(name: string): Uint8Array {
    const out = new ByteWriter()
    const [feature, numbers] = [new ByteWriter(), new ByteWriter()]
    out.number(LAYER_NAME)
    out.text(name)
    for (const { shape, tags, parts } of this.#features) {
      feature.clear()
      numbers.clear()
      for (const tag of tags) numbers.number(tag)
      feature.number(FEATURE_TAGS)
      feature.content(numbers)
      feature.number(FEATURE_TYPE)
      feature.number(TYPES[shape])
      numbers.clear()
      writeGeometry(numbers, shape, parts)
      feature.number(FEATURE_GEOMETRY)
      feature.content(numbers)
      out.number(LAYER_FEATURE)
      out.content(feature)
    }
    for (const key of this.#keys.keys()) {
      out.number(LAYER_KEY)
      out.text(key)
    }
    for (const value of this.#values.keys()) {
      out.number(LAYER_VALUE)
      feature.clear()
      if (typeof value === 'string') {
        feature.number(VALUE_TEXT)
        feature.text(value)
      } else if (typeof value === 'number' && value >>> 0 !== value) {
        feature.number(VALUE_DOUBLE)
        feature.double(value)
      } else {
        feature.number(typeof value === 'number' ? VALUE_NUMBER : VALUE_BOOLEAN)
        feature.number(Number(value))
      }
      out.content(feature)
    }
    out.number(LAYER_EXTENT)
    out.number(this.#extent)
    out.number(LAYER_VERSION)
    out.number(2)
    return out.written()
  }
}

/** A tile in the making. */
export class VectorTile {
  readonly #layers = new Map<string, TileLayer>()
  readonly #extents: Readonly<Record<string, number>>

  /**
   * An empty tile.
   * @param extents the units of a layer's side, for layers that differ from tiles
   */
  constructor(extents: Readonly<Record<string, number>> = {}) {
    this.#extents = extents
  }

  /**
   * Adds a feature.
   * @param parts x, y, x, y in units of the layer. Lines have at least two points. The rings of areas have at least
   * three and are not closed; each outer one runs clockwise on the map and comes before its holes, which run
   * anticlockwise
   */
  add(layer: string, shape: MapShape, values: TileValues, parts: readonly ArrayLike<number>[]): void {
    let found = this.#layers.get(layer)
    if (found === undefined)
      this.#layers.set(layer, (found = new TileLayer(this.#extents[layer] ?? TILE_UNITS)))
    found.add(shape, values, parts)
  }

  /** The bytes of the whole tile. They are empty if it has no feature. */
  bytes(): Uint8Array {
    const out = new ByteWriter()
    for (const [name, layer] of this.#layers) {
      out.number(TILE_LAYER)
      out.bytes(layer.bytes(name))
    }
    return out.written()
  }
}

/** Equal features have equal hashes. */
function hashOf(shape: MapShape, tags: readonly number[]): number {
  let hash = TYPES[shape]
  for (let i = 0; i < tags.length; i++) {
    hash = Math.imul(hash ^ tags[i]!, HASH_FACTOR)
    hash ^= hash >>> 15
  }
  return hash
}

function isLike(feature: Feature, shape: MapShape, tags: readonly number[]): boolean {
  if (feature.shape !== shape || feature.tags.length !== tags.length) return false
  for (let i = 0; i < tags.length; i++) if (feature.tags[i] !== tags[i]) return false
  return true
}

function writeGeometry(out: ByteWriter, shape: MapShape, parts: readonly ArrayLike<number>[]): void {
  let x = 0
  let y = 0
  for (const part of parts) {
    const { length } = part
    for (let i = 0; i < length; i += 2) {
      if (i === 0) out.number(MOVE_TO | (1 << 3))
      else if (i === 2) out.number(LINE_TO | ((length / 2 - 1) << 3))
      const nextX = part[i]!
      const nextY = part[i + 1]!
      out.signed(nextX - x)
      out.signed(nextY - y)
      x = nextX
      y = nextY
    }
    if (shape === 'area') out.number(CLOSE_PATH | (1 << 3))
  }
}

function numberOf<Key>(numbers: Map<Key, number>, key: Key): number {
  let number = numbers.get(key)
  if (number === undefined) numbers.set(key, (number = numbers.size))
  return number
}
