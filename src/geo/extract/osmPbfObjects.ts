/**
 * The objects of a block of an OSM PBF file, and the same block with only some of them. Everything else stays byte
 * for byte as in the file, except for texts that no object of the new block uses, which become empty, and the edit
 * metadata of nodes.
 */
import protobuf from 'protobufjs/minimal.js'

export interface OsmObject {
  readonly type: 'node' | 'way' | 'relation'
  readonly id: number
  /** Keys, values and roles, as in the file. They may be any bytes. */
  readonly texts: readonly Uint8Array[]
}

type Reader = protobuf.Reader

/** A node, way or relation as stored in its group, or one of a group's dense nodes. */
interface Part {
  readonly object: OsmObject
  /** The indexes of its texts in the block's table. */
  readonly strings: readonly number[]
  /** The field of the group, and the bytes in it; undefined for dense nodes. */
  readonly message: { readonly field: number; readonly bytes: Uint8Array } | undefined
  readonly dense: DenseNode | undefined
}

interface DenseNode {
  readonly id: bigint
  readonly latitude: bigint
  readonly longitude: bigint
  readonly tags: readonly number[]
}

interface Block {
  readonly texts: readonly Uint8Array[]
  readonly groups: readonly (readonly Part[])[]
  /** The scale and offsets of coordinates, with their tags. */
  readonly others: readonly Uint8Array[]
}

const TYPES = { 1: 'node', 3: 'way', 4: 'relation' } as const
const bytesField = (field: number): number => (field << 3) | 2

/**
 * The kinds of objects in a block of the type OSMData, found without reading the objects.
 * @throws if it is damaged
 */
export function typesIn(content: Uint8Array): Set<OsmObject['type']> {
  const types = new Set<OsmObject['type']>()
  const reader = protobuf.Reader.create(content)
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag !== bytesField(2)) {
      reader.skipType(tag & 7)
      continue
    }
    const group = protobuf.Reader.create(reader.bytes())
    while (group.pos < group.len) {
      const inGroup = group.uint32()
      const field = inGroup >>> 3
      if (field === 2) types.add('node')
      else if (field === 1 || field === 3 || field === 4) types.add(TYPES[field])
      group.skipType(inGroup & 7)
    }
  }
  return types
}

/**
 * The objects of a block of the type OSMData, in order.
 * @throws if it is damaged
 */
export function objectsIn(content: Uint8Array): OsmObject[] {
  return readBlock(content).groups.flatMap((parts) => parts.map(({ object }) => object))
}

/**
 * The block with only the objects at these indexes of {@link objectsIn}.
 * @throws if it is damaged
 */
export function withOnly(content: Uint8Array, kept: ReadonlySet<number>): Uint8Array {
  const { texts, groups, others } = readBlock(content)
  const used = new Set<number>()
  const written: Uint8Array[] = []
  let place = 0
  for (const parts of groups) {
    const left = parts.filter(() => kept.has(place++))
    for (const { strings } of left) for (const string of strings) used.add(string)
    written.push(writeGroup(left))
  }
  const table = protobuf.Writer.create()
  for (const [index, text] of texts.entries())
    table.uint32(bytesField(1)).bytes(used.has(index) ? text : new Uint8Array())
  const block = protobuf.Writer.create().uint32(bytesField(1)).bytes(table.finish())
  for (const group of written) block.uint32(bytesField(2)).bytes(group)
  return Buffer.concat([block.finish(), ...others])
}

function readBlock(content: Uint8Array): Block {
  const texts: Uint8Array[] = []
  const groups: Uint8Array[] = []
  const others: Uint8Array[] = []
  const reader = protobuf.Reader.create(content)
  while (reader.pos < reader.len) {
    const began = reader.pos
    const tag = reader.uint32()
    if (tag === bytesField(1)) {
      const table = protobuf.Reader.create(reader.bytes())
      while (table.pos < table.len) {
        table.uint32()
        texts.push(table.bytes())
      }
    } else if (tag === bytesField(2)) groups.push(reader.bytes())
    else {
      reader.skipType(tag & 7)
      others.push(content.subarray(began, reader.pos))
    }
  }
  return { texts, groups: groups.map((group) => readGroup(protobuf.Reader.create(group), texts)), others }
}

function readGroup(group: Reader, texts: readonly Uint8Array[]): Part[] {
  const parts: Part[] = []
  const textsAt = (strings: readonly number[]): Uint8Array[] =>
    strings.map((at) => texts[at]).filter((text) => text !== undefined)
  while (group.pos < group.len) {
    const tag = group.uint32()
    const field = tag >>> 3
    if (field === 2) {
      for (const dense of readDense(protobuf.Reader.create(group.bytes()))) {
        const object: OsmObject = { type: 'node', id: Number(dense.id), texts: textsAt(dense.tags) }
        parts.push({ object, strings: dense.tags, message: undefined, dense })
      }
    } else if (field === 1 || field === 3 || field === 4) {
      const bytes = group.bytes()
      const { id, strings } = readMessage(protobuf.Reader.create(bytes), field)
      const object: OsmObject = { type: TYPES[field], id, texts: textsAt(strings) }
      parts.push({ object, strings, message: { field, bytes }, dense: undefined })
    } else group.skipType(tag & 7)
  }
  return parts
}

function readMessage(message: Reader, kind: 1 | 3 | 4): { id: number; strings: number[] } {
  let id = 0
  const strings: number[] = []
  while (message.pos < message.len) {
    const tag = message.uint32()
    const field = tag >>> 3
    if (field === 1) id = Number(kind === 1 ? message.sint64() : message.int64())
    else if (field === 2 || field === 3 || (field === 8 && kind === 4)) readIndexes(message, tag, strings)
    else message.skipType(tag & 7)
  }
  return { id, strings }
}

function readIndexes(reader: Reader, tag: number, into: number[]): void {
  const end = (tag & 7) === 2 ? reader.uint32() + reader.pos : reader.pos + 1
  while (reader.pos < end) into.push(reader.uint32())
}

function readDense(dense: Reader): DenseNode[] {
  const columns = new Map<number, Uint8Array>()
  while (dense.pos < dense.len) {
    const tag = dense.uint32()
    if ((tag & 7) === 2) columns.set(tag >>> 3, dense.bytes())
    else dense.skipType(tag & 7)
  }
  const latitudes = sums(columns.get(8))
  const longitudes = sums(columns.get(9))
  const tags = varints(columns.get(10)).map(Number)
  let at = 0
  return sums(columns.get(1)).map((id, i) => {
    const began = at
    // The tags are pairs. A value may be 0, which is the empty text; a key of 0 ends them.
    while (tags[at] !== undefined && tags[at] !== 0) at += 2
    const own = tags.slice(began, at++)
    return { id, latitude: latitudes[i] ?? 0n, longitude: longitudes[i] ?? 0n, tags: own }
  })
}

function writeGroup(parts: readonly Part[]): Uint8Array {
  const group = protobuf.Writer.create()
  const nodes = parts.map(({ dense }) => dense).filter((dense) => dense !== undefined)
  if (nodes.length > 0) {
    group.uint32(bytesField(2)).fork()
    for (const [field, column] of [
      [1, differences(nodes.map(({ id }) => id))],
      [8, differences(nodes.map(({ latitude }) => latitude))],
      [9, differences(nodes.map(({ longitude }) => longitude))],
    ] as const)
      group.uint32(bytesField(field)).bytes(column)
    group.uint32(bytesField(10)).fork()
    for (const { tags } of nodes) for (const string of [...tags, 0]) group.uint32(string)
    group.ldelim().ldelim()
  }
  for (const { message } of parts)
    if (message !== undefined) group.uint32(bytesField(message.field)).bytes(message.bytes)
  return group.finish()
}

function varints(bytes: Uint8Array = new Uint8Array()): bigint[] {
  const values: bigint[] = []
  let value = 0n
  let shift = 0n
  for (const byte of bytes) {
    value |= BigInt(byte & 127) << shift
    shift += 7n
    if (byte >= 128) continue
    values.push(value)
    value = 0n
    shift = 0n
  }
  return values
}

/** The sums of zigzag differences. They have 64 bits, because invalid coordinates may be of any size. */
function sums(column: Uint8Array | undefined): bigint[] {
  let sum = 0n
  return varints(column).map((zigzag) => {
    sum = BigInt.asIntN(64, sum + ((zigzag >> 1n) ^ -(zigzag & 1n)))
    return sum
  })
}

/** The inverse of {@link sums}. */
function differences(numbers: readonly bigint[]): Uint8Array {
  const bytes: number[] = []
  let before = 0n
  for (const number of numbers) {
    const difference = BigInt.asIntN(64, number - before)
    before = number
    let zigzag = BigInt.asUintN(64, (difference << 1n) ^ (difference >> 63n))
    for (; zigzag >= 128n; zigzag >>= 7n) bytes.push(Number(zigzag & 127n) | 128)
    bytes.push(Number(zigzag))
  }
  return Uint8Array.from(bytes)
}
