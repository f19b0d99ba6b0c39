/**
 * Reads an OpenStreetMap PBF file from end to end, https://wiki.openstreetmap.org/wiki/PBF_Format, for what a region must know of
 * its extract: where it has nodes, whether it has roads, that it is whole. Of the objects it decodes coordinates and the keys of
 * ways, no more, so that it is as fast as the file is unpacked.
 */
import { createHash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import { inflateSync } from 'node:zlib'
import protobuf from 'protobufjs/minimal.js'
import { Coverage, CoverageCounter } from './coverage.ts'
import type { Bounds } from './port.ts'

/** The file is none that can be imported; the sentence says why. */
export class ExtractRefused extends Error {
  override name = 'ExtractRefused'
}

export interface ExtractFacts {
  readonly bytes: number
  /** Hexadecimal. */
  readonly sha256: string
  readonly bounds: Bounds
  readonly coverage: Coverage
  readonly nodes: number
  /** Ways with the key `highway`. */
  readonly roads: number
  /** When the data was taken from OpenStreetMap, in milliseconds of the epoch, where the file says so. */
  readonly dataOf: number | undefined
}

type Reader = protobuf.Reader

/** What the format allows. */
const MAX_HEADER_BYTES = 64 << 10
const MAX_BLOB_BYTES = 32 << 20
const HIGHWAY = Buffer.from('highway')
const KNOWN_FEATURES: ReadonlySet<string> = new Set(['OsmSchema-V0.6', 'DenseNodes'])

/**
 * @param onProgress bytes of the file that are read, and all of them
 * @throws {ExtractRefused} and the system's errors
 */
export async function readExtract(
  path: string,
  onProgress: (read: number, total: number) => void,
): Promise<ExtractFacts> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const hash = createHash('sha256')
    const counts = new BlockCounts()
    let dataOf: number | undefined
    let position = 0
    const take = async (bytes: number): Promise<Buffer> => {
      const part = await readFully(file, position, bytes)
      if (part.length < bytes)
        throw new ExtractRefused(
          position === 0
            ? `${path} is no OpenStreetMap PBF file.`
            : `${path} ends in the middle: it was not copied whole.`,
        )
      hash.update(part)
      position += bytes
      return part
    }
    while (position < size) {
      const isFirst = position === 0
      const headerBytes = (await take(Math.min(4, size))).readUIntBE(0, Math.min(4, size))
      if (headerBytes > MAX_HEADER_BYTES) throw damaged(path, isFirst)
      const { type, bytes } = blobHeader(await take(headerBytes), path, isFirst)
      const blob = await take(bytes)
      try {
        if (type === 'OSMHeader') dataOf = readHeader(unpack(blob))
        else if (type === 'OSMData') counts.add(unpack(blob))
      } catch (error) {
        if (error instanceof ExtractRefused) throw new ExtractRefused(`${path} ${error.message}`)
        throw damaged(path, isFirst, error)
      }
      onProgress(position, size)
    }
    if (size === 0) throw new ExtractRefused(`${path} is empty.`)
    if (counts.nodes === 0) throw new ExtractRefused(`${path} has no nodes.`)
    return {
      bytes: size,
      sha256: hash.digest('hex'),
      bounds: counts.bounds,
      coverage: Coverage.of(counts.coverage),
      nodes: counts.nodes,
      roads: counts.roads,
      dataOf,
    }
  } finally {
    await file.close()
  }
}

function damaged(path: string, isFirst: boolean, cause?: unknown): ExtractRefused {
  const sentence = isFirst ? 'is no OpenStreetMap PBF file.' : 'is damaged.'
  return new ExtractRefused(`${path} ${sentence}`, { cause })
}

/** Fewer bytes than asked for at the end of the file. */
async function readFully(file: FileHandle, position: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes)
  let read = 0
  while (read < bytes) {
    const { bytesRead } = await file.read(buffer, read, bytes - read, position + read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return buffer.subarray(0, read)
}

function blobHeader(header: Buffer, path: string, isFirst: boolean): { type: string; bytes: number } {
  let type = ''
  let bytes = -1
  try {
    const reader = protobuf.Reader.create(header)
    while (reader.pos < reader.len) {
      const tag = reader.uint32()
      if (tag >>> 3 === 1) type = reader.string()
      else if (tag >>> 3 === 3) bytes = reader.int32()
      else reader.skipType(tag & 7)
    }
  } catch (error) {
    throw damaged(path, isFirst, error)
  }
  if (bytes < 0 || bytes > MAX_BLOB_BYTES || (isFirst && type !== 'OSMHeader')) throw damaged(path, isFirst)
  return { type, bytes }
}

function unpack(blob: Buffer): Uint8Array {
  const reader = protobuf.Reader.create(blob)
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    const field = tag >>> 3
    if (field === 1) return reader.bytes()
    if (field === 3) return inflateSync(reader.bytes(), { maxOutputLength: MAX_BLOB_BYTES })
    if ((tag & 7) === 2) throw new ExtractRefused('is compressed in another way than by zlib.')
    reader.skipType(tag & 7)
  }
  throw new Error('The blob holds nothing.')
}

/** @returns when the data was taken, in milliseconds of the epoch */
function readHeader(block: Uint8Array): number | undefined {
  const reader = protobuf.Reader.create(block)
  let dataOf: number | undefined
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag >>> 3 === 4) {
      const feature = reader.string()
      if (!KNOWN_FEATURES.has(feature)) throw new ExtractRefused(`needs "${feature}" of its reader.`)
    } else if (tag >>> 3 === 32) dataOf = Number(reader.int64()) * 1000
    else reader.skipType(tag & 7)
  }
  return dataOf
}

/** What the blocks of an extract add up to. */
class BlockCounts {
  readonly coverage = new CoverageCounter()
  nodes = 0
  roads = 0
  #west = 180
  #south = 90
  #east = -180
  #north = -90

  get bounds(): Bounds {
    return [this.#west, this.#south, this.#east, this.#north]
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
    const place = (latitude: number, longitude: number): void =>
      this.#place(
        (latitudeOffset + granularity * latitude) * 1e-9,
        (longitudeOffset + granularity * longitude) * 1e-9,
      )
    for (const group of groups) this.#addGroup(protobuf.Reader.create(group), highway, place)
  }

  #addGroup(group: Reader, highway: number, place: (latitude: number, longitude: number) => void): void {
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
    // A node that was never given a place.
    if (!(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180)) return
    this.nodes++
    this.#west = Math.min(this.#west, longitude)
    this.#east = Math.max(this.#east, longitude)
    this.#south = Math.min(this.#south, latitude)
    this.#north = Math.max(this.#north, latitude)
    this.coverage.add(longitude, latitude)
  }
}

/** Place of the string `highway` in a string table; -1 where it is not in it. */
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

function placeNode(node: Reader, place: (latitude: number, longitude: number) => void): void {
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

function placeDenseNodes(dense: Reader, place: (latitude: number, longitude: number) => void): void {
  let latitudes = NO_BYTES
  let longitudes = NO_BYTES
  while (dense.pos < dense.len) {
    const tag = dense.uint32()
    if (tag >>> 3 === 8) latitudes = dense.bytes()
    else if (tag >>> 3 === 9) longitudes = dense.bytes()
    else dense.skipType(tag & 7)
  }
  const nextLatitude = deltas(latitudes)
  const nextLongitude = deltas(longitudes)
  for (;;) {
    const latitude = nextLatitude()
    if (latitude === undefined) return
    place(latitude, nextLongitude() ?? NaN)
  }
}

const NO_BYTES: Uint8Array = new Uint8Array()

/** The numbers that zigzag differences add up to, one a call; undefined after the last. */
function deltas(bytes: Uint8Array): () => number | undefined {
  let at = 0
  let sum = 0
  return () => {
    if (at >= bytes.length) return undefined
    let byte = bytes[at++]!
    let zigzag = byte & 127
    // Of 35 bits at most: no bit operations.
    for (let scale = 128; byte >= 128; scale *= 128) {
      byte = bytes[at++] ?? 0
      zigzag += (byte & 127) * scale
    }
    sum += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2
    return sum
  }
}
