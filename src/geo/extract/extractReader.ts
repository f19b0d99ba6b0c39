/**
 * Reads an OpenStreetMap extract from beginning to end for what a map region needs: where it has nodes, whether it
 * has roads, and whether it is complete. It only decodes coordinates and the keys of ways, so it is as fast as
 * unpacking the file.
 */
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import protobuf from 'protobufjs/minimal.js'
import { CoverageCounter, type Coverage } from './coverage.ts'
import { ExtractRefused, osmPbfBlobs } from './osmPbfBlobs.ts'
import type { BoundingBox } from './port.ts'

/** The facts about an extract that a map region needs. */
export interface ExtractFacts {
  readonly bytes: number
  /** Hexadecimal. */
  readonly sha256: string
  readonly bounds: BoundingBox
  readonly coverage: Coverage
  readonly nodes: number
  /** Ways with the key `highway`. */
  readonly roads: number
  /** When the data was taken from OpenStreetMap, in milliseconds of the epoch, if the file says so. */
  readonly dataOf: number | undefined
}

type Reader = protobuf.Reader
type Place = (latitude: number, longitude: number) => void

const KNOWN_FEATURES: ReadonlySet<string> = new Set(['OsmSchema-V0.6', 'DenseNodes'])
const HIGHWAY = Buffer.from('highway')
const NO_BYTES: Uint8Array = new Uint8Array()

/**
 * @param onProgress called with the share that was read, 0 to 1
 * @throws {ExtractRefused} for a file that is not an extract, or has no roads; and the system's errors
 */
export async function readExtract(
  path: string,
  onProgress: (share: number) => void,
  signal?: AbortSignal,
): Promise<ExtractFacts> {
  const { size } = await stat(path)
  const hash = createHash('sha256')
  const counts = new BlockCounts()
  let dataOf: number | undefined
  for await (const { type, content, position } of osmPbfBlobs(path, (bytes) => hash.update(bytes))) {
    signal?.throwIfAborted()
    try {
      if (type === 'OSMHeader') dataOf = readHeader(content, path)
      else if (type === 'OSMData') counts.add(content)
    } catch (cause) {
      throw cause instanceof ExtractRefused ? cause : new ExtractRefused(`${path} is damaged.`, { cause })
    }
    onProgress(position / size)
  }
  const { nodes, roads, bounds } = counts
  if (nodes === 0 || roads === 0)
    throw new ExtractRefused(`${path} has no ${nodes === 0 ? 'nodes' : 'roads'} in it.`)
  return {
    bytes: size,
    sha256: hash.digest('hex'),
    bounds,
    coverage: counts.coverage(),
    nodes,
    roads,
    dataOf,
  }
}

/** @returns when the data was taken, in milliseconds of the epoch */
function readHeader(block: Uint8Array, path: string): number | undefined {
  const reader = protobuf.Reader.create(block)
  let dataOf: number | undefined
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag >>> 3 === 4) {
      const feature = reader.string()
      if (feature === 'HistoricalInformation') {
        throw new ExtractRefused(
          `${path} has every version of each object. Import an extract of the current data; \`osmium time-filter\` makes one.`,
        )
      }
      if (!KNOWN_FEATURES.has(feature)) throw new ExtractRefused(`${path} needs "${feature}" of its reader.`)
    } else if (tag >>> 3 === 32) dataOf = Number(reader.int64()) * 1000
    else reader.skipType(tag & 7)
  }
  if (dataOf !== undefined && Number.isNaN(new Date(dataOf).getTime()))
    throw new ExtractRefused(`${path} is damaged: the time of its data is not a valid time.`)
  return dataOf
}

/** The sums over the blocks of an extract. */
class BlockCounts {
  nodes = 0
  roads = 0
  readonly #cells = new CoverageCounter()
  #west = 180
  #south = 90
  #east = -180
  #north = -90

  get bounds(): BoundingBox {
    return [this.#west, this.#south, this.#east, this.#north]
  }

  coverage(): Coverage {
    return this.#cells.coverage()
  }

  add(block: Uint8Array): void {
    const reader = protobuf.Reader.create(block)
    const groups: Uint8Array[] = []
    let highway = -1
    let granularity = 100
    let latitudeOffset = 0
    let longitudeOffset = 0
    while (reader.pos < reader.len) {
      const tag = reader.uint32()
      const field = tag >>> 3
      if (field === 1) highway = indexOfHighway(reader.bytes())
      else if (field === 2) groups.push(reader.bytes())
      else if (field === 17) granularity = reader.int32()
      else if (field === 19) latitudeOffset = Number(reader.int64())
      else if (field === 20) longitudeOffset = Number(reader.int64())
      else reader.skipType(tag & 7)
    }
    const place: Place = (latitude, longitude) =>
      this.#place(
        (latitudeOffset + granularity * latitude) / 1e9,
        (longitudeOffset + granularity * longitude) / 1e9,
      )
    for (const group of groups) this.#addGroup(protobuf.Reader.create(group), highway, place)
  }

  #addGroup(group: Reader, highway: number, place: Place): void {
    while (group.pos < group.len) {
      const tag = group.uint32()
      const field = tag >>> 3
      if (field === 1) placeNode(protobuf.Reader.create(group.bytes()), place)
      else if (field === 2) placeDenseNodes(protobuf.Reader.create(group.bytes()), place)
      else if (field === 3 && highway > 0) this.roads += hasKey(group.bytes(), highway) ? 1 : 0
      else group.skipType(tag & 7)
    }
  }

  #place(latitude: number, longitude: number): void {
    // A node without a position.
    if (!(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180)) return
    this.nodes++
    this.#west = Math.min(this.#west, longitude)
    this.#east = Math.max(this.#east, longitude)
    this.#south = Math.min(this.#south, latitude)
    this.#north = Math.max(this.#north, latitude)
    this.#cells.add(longitude, latitude)
  }
}

/** Index of the string `highway` in a string table; -1 if it is not there. */
function indexOfHighway(table: Uint8Array): number {
  const reader = protobuf.Reader.create(table)
  for (let index = 0; reader.pos < reader.len; index++) {
    reader.uint32()
    const bytes = reader.bytes()
    if (bytes.length === HIGHWAY.length && HIGHWAY.equals(bytes)) return index
  }
  return -1
}

function hasKey(way: Uint8Array, key: number): boolean {
  const reader = protobuf.Reader.create(way)
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag >>> 3 !== 2) {
      reader.skipType(tag & 7)
      continue
    }
    for (const end = reader.uint32() + reader.pos; reader.pos < end;) if (reader.uint32() === key) return true
    return false
  }
  return false
}

function placeNode(node: Reader, place: Place): void {
  let latitude = NaN
  let longitude = NaN
  while (node.pos < node.len) {
    const tag = node.uint32()
    if (tag >>> 3 === 8) latitude = Number(node.sint64())
    else if (tag >>> 3 === 9) longitude = Number(node.sint64())
    else node.skipType(tag & 7)
  }
  place(latitude, longitude)
}

function placeDenseNodes(dense: Reader, place: Place): void {
  let latitudes = NO_BYTES
  let longitudes = NO_BYTES
  while (dense.pos < dense.len) {
    const tag = dense.uint32()
    if (tag >>> 3 === 8) latitudes = dense.bytes()
    else if (tag >>> 3 === 9) longitudes = dense.bytes()
    else dense.skipType(tag & 7)
  }
  const nextLatitude = sums(latitudes)
  const nextLongitude = sums(longitudes)
  for (;;) {
    const latitude = nextLatitude()
    if (latitude === undefined) return
    place(latitude, nextLongitude() ?? NaN)
  }
}

/** The sums of zigzag differences, one per call; undefined after the last. */
function sums(differences: Uint8Array): () => number | undefined {
  let at = 0
  let sum = 0
  return () => {
    if (at >= differences.length) return undefined
    let byte = differences[at++]!
    let zigzag = byte & 127
    // At most 35 bits, so no bit operations.
    for (let scale = 128; byte >= 128; scale *= 128) {
      byte = differences[at++] ?? 0
      zigzag += (byte & 127) * scale
    }
    sum += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2
    return sum
  }
}
