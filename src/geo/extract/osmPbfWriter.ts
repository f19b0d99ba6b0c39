/**
 * Writes OpenStreetMap PBF files according to https://wiki.openstreetmap.org/wiki/PBF_Format, without edit metadata,
 * which nothing here reads.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { deflateSync } from 'node:zlib'
import protobuf from 'protobufjs/minimal.js'

export type OsmTags = Readonly<Record<string, string>>

export interface OsmNode {
  readonly id: number
  /** In degrees. They are stored to 1e-7. */
  readonly longitude: number
  readonly latitude: number
  readonly tags: OsmTags
}

export interface OsmWay {
  readonly id: number
  /** The ids of its nodes, in order. */
  readonly nodes: readonly number[]
  readonly tags: OsmTags
}

export interface OsmRelation {
  readonly id: number
  readonly members: readonly {
    readonly type: 'node' | 'way' | 'relation'
    readonly id: number
    readonly role: string
  }[]
  readonly tags: OsmTags
}

export interface OsmExtract {
  /** When the data were taken from OpenStreetMap, in epoch milliseconds. */
  readonly dataOf?: number
  /** The objects by ascending id, as readers expect. */
  readonly nodes: Iterable<OsmNode>
  readonly ways: Iterable<OsmWay>
  readonly relations: Iterable<OsmRelation>
}

type Writer = protobuf.Writer

/** How many objects a block has. Readers accept no block of more than 32 MB. */
const BLOCK_OBJECTS = 8000
const MEMBER_TYPES = { node: 0, way: 1, relation: 2 } as const
/** The tag of a protobuf field: its number and its wire type. */
const varint = (field: number): number => field << 3
const bytes = (field: number): number => (field << 3) | 2

/**
 * Writes the extract, replacing what is at the path.
 * @throws the system's error; the file may be partly written then
 */
export function writeOsmPbf(path: string, extract: OsmExtract): void {
  const file = openSync(path, 'w')
  try {
    writeBlob(file, 'OSMHeader', header(extract.dataOf))
    for (const nodes of inBlocks(extract.nodes)) writeBlob(file, 'OSMData', nodesBlock(nodes))
    for (const ways of inBlocks(extract.ways)) writeBlob(file, 'OSMData', waysBlock(ways))
    for (const relations of inBlocks(extract.relations)) writeBlob(file, 'OSMData', relationsBlock(relations))
  } finally {
    closeSync(file)
  }
}

/**
 * Writes a block at the end of an open file.
 * @param type `OSMHeader` or `OSMData`
 */
export function writeBlob(file: number, type: string, content: Uint8Array): void {
  const blob = protobuf.Writer.create()
    .uint32(varint(2))
    .int32(content.length)
    .uint32(bytes(3))
    .bytes(deflateSync(content))
    .finish()
  const head = protobuf.Writer.create()
    .uint32(bytes(1))
    .string(type)
    .uint32(varint(3))
    .int32(blob.length)
    .finish()
  const size = Buffer.alloc(4)
  size.writeUInt32BE(head.length)
  const whole = Buffer.concat([size, head, blob])
  for (let written = 0; written < whole.length;) written += writeSync(file, whole, written)
}

function header(dataOf: number | undefined): Uint8Array {
  const writer = protobuf.Writer.create()
  for (const feature of ['OsmSchema-V0.6', 'DenseNodes']) writer.uint32(bytes(4)).string(feature)
  writer.uint32(bytes(5)).string('Sort.Type_then_ID')
  writer.uint32(bytes(16)).string('Ringfence')
  if (dataOf !== undefined) writer.uint32(varint(32)).int64(Math.floor(dataOf / 1000))
  return writer.finish()
}

function nodesBlock(nodes: readonly OsmNode[]): Uint8Array {
  const strings = new Strings()
  const tags: number[] = []
  for (const node of nodes) {
    for (const key in node.tags) tags.push(strings.index(key), strings.index(node.tags[key]!))
    tags.push(0)
  }
  const tenMillionths = (degrees: number): number => Math.round(degrees * 1e7)
  return block(strings, (group) => {
    group.uint32(bytes(2)).fork()
    const ids = nodes.map(({ id }) => id)
    const latitudes = nodes.map(({ latitude }) => tenMillionths(latitude))
    const longitudes = nodes.map(({ longitude }) => tenMillionths(longitude))
    writeDeltas(group, 1, ids)
    writeDeltas(group, 8, latitudes)
    writeDeltas(group, 9, longitudes)
    writePacked(group, 10, tags)
    group.ldelim()
  })
}

function waysBlock(ways: readonly OsmWay[]): Uint8Array {
  const strings = new Strings()
  return block(strings, (group) => {
    for (const { id, nodes, tags } of ways) {
      group.uint32(bytes(3)).fork().uint32(varint(1)).int64(id)
      writeTags(group, strings, tags)
      writeDeltas(group, 8, nodes)
      group.ldelim()
    }
  })
}

function relationsBlock(relations: readonly OsmRelation[]): Uint8Array {
  const strings = new Strings()
  return block(strings, (group) => {
    for (const { id, members, tags } of relations) {
      group.uint32(bytes(4)).fork().uint32(varint(1)).int64(id)
      writeTags(group, strings, tags)
      const roles = members.map(({ role }) => strings.index(role))
      const ids = members.map((member) => member.id)
      const types = members.map(({ type }) => MEMBER_TYPES[type])
      writePacked(group, 8, roles)
      writeDeltas(group, 9, ids)
      writePacked(group, 10, types)
      group.ldelim()
    }
  })
}

/**
 * A block of objects.
 * @param write fills the block's only group, and the strings, which come before it
 */
function block(strings: Strings, write: (group: Writer) => void): Uint8Array {
  const group = protobuf.Writer.create()
  write(group)
  const table = protobuf.Writer.create()
  for (const string of strings.all) table.uint32(bytes(1)).string(string)
  return protobuf.Writer.create()
    .uint32(bytes(1))
    .bytes(table.finish())
    .uint32(bytes(2))
    .bytes(group.finish())
    .finish()
}

function writeTags(writer: Writer, strings: Strings, tags: OsmTags): void {
  const keys = Object.keys(tags).map((key) => strings.index(key))
  const values = Object.values(tags).map((value) => strings.index(value))
  writePacked(writer, 2, keys)
  writePacked(writer, 3, values)
}

function writePacked(writer: Writer, field: number, values: readonly number[]): void {
  writer.uint32(bytes(field)).fork()
  for (const value of values) writer.uint32(value)
  writer.ldelim()
}

/** Writes each number as the zigzag difference to the previous one. */
function writeDeltas(writer: Writer, field: number, values: readonly number[]): void {
  writer.uint32(bytes(field)).fork()
  let before = 0
  for (const value of values) {
    writer.sint64(value - before)
    before = value
  }
  writer.ldelim()
}

/** The strings of a block, each once. They begin at index 1, because 0 ends the tags of a node. */
class Strings {
  readonly #indices = new Map<string, number>()

  get all(): Iterable<string> {
    return ['', ...this.#indices.keys()]
  }

  index(string: string): number {
    const found = this.#indices.get(string)
    if (found !== undefined) return found
    this.#indices.set(string, this.#indices.size + 1)
    return this.#indices.size
  }
}

function* inBlocks<Item>(items: Iterable<Item>): Generator<Item[]> {
  let gathered: Item[] = []
  for (const item of items) {
    gathered.push(item)
    if (gathered.length < BLOCK_OBJECTS) continue
    yield gathered
    gathered = []
  }
  if (gathered.length > 0) yield gathered
}
