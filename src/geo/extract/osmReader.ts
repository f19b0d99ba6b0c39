/**
 * Reads the objects of an OSM PBF block: positions, tags, nodes of ways and members of relations,
 * https://wiki.openstreetmap.org/wiki/PBF_Format.
 *
 * Nine nodes in ten have no tags. Nothing is created for them, and texts are only decoded when an object with tags uses
 * them. This makes it two to three times as fast as a reader that returns objects (docs/adr/0047).
 */
import type { ObjectType, Tags } from '../records/tags.ts'

export interface RelationMember {
  readonly type: ObjectType
  readonly id: number
  readonly role: string
}

/** Receives the objects in the order of the file. If it is sorted, these are nodes, then ways, then relations. */
export interface ObjectSink {
  /** Called for each node with a valid position, in degrees. If it has no tags, `tags` is undefined. */
  node(id: number, longitude: number, latitude: number, tags: Tags | undefined): void
  /**
   * Called for each way.
   * @param nodes their ids, which are only valid during the call
   */
  way(id: number, nodes: readonly number[], tags: Tags): void
  relation(id: number, members: readonly RelationMember[], tags: Tags): void
}

const MEMBER_TYPES: readonly ObjectType[] = ['node', 'way', 'relation']
const EMPTY = new Uint8Array()
const NO_TAGS: ReadonlyMap<string, string> = new Map()
const decoder = new TextDecoder()

/** A position in a message. Numbers are read as doubles, because ids need up to 53 bits. */
class Cursor {
  readonly bytes: Uint8Array
  at: number
  end: number

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes
    this.at = at
    this.end = end
  }

  get isAtEnd(): boolean {
    return this.at >= this.end
  }

  /**
   * Reads an unsigned number.
   * @throws if the message ends within it
   */
  varint(): number {
    const { bytes } = this
    let byte = bytes[this.at++]!
    if (byte < 128) return byte
    let value = byte & 127
    for (let scale = 128; ; scale *= 128) {
      if (this.at >= this.end || scale > 2 ** 63) throw new Error('A number is cut off or too long.')
      byte = bytes[this.at++]!
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }

  /** Reads a signed number in zigzag form. */
  zigzag(): number {
    const value = this.varint()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  /**
   * The contents of a field with a length.
   * @throws if the message ends before them
   */
  message(): Cursor {
    const length = this.varint()
    const start = this.at
    if (length > this.end - start) throw new Error('A message is cut off.')
    this.at = start + length
    return new Cursor(this.bytes, start, this.at)
  }

  skip(wireType: number): void {
    if (wireType === 0) this.varint()
    else if (wireType === 1) this.at += 8
    else if (wireType === 2) this.message()
    else if (wireType === 5) this.at += 4
    else throw new Error(`A field has the unknown wire type ${wireType}.`)
    if (this.at > this.end) throw new Error('A message is cut off.')
  }
}

/** The texts of a block, decoded when they are used for the first time. */
class Texts {
  readonly #ranges: Cursor[] = []
  readonly #decoded: (string | undefined)[] = []

  constructor(table: Cursor) {
    while (!table.isAtEnd) {
      const tag = table.varint()
      if (tag >>> 3 === 1) this.#ranges.push(table.message())
      else table.skip(tag & 7)
    }
  }

  at(index: number): string {
    let text = this.#decoded[index]
    if (text === undefined) {
      const range = this.#ranges[index]
      if (range === undefined) throw new Error('A text is missing.')
      text = decoder.decode(range.bytes.subarray(range.at, range.end))
      this.#decoded[index] = text
    }
    return text
  }
}

/** The scale of a block's coordinates. */
interface Grid {
  granularity: number
  latitudeOffset: number
  longitudeOffset: number
}

/**
 * Reads a block of the type OSMData.
 * @throws if it is damaged
 */
export function readObjects(content: Uint8Array, sink: ObjectSink): void {
  const block = new Cursor(content)
  const groups: Cursor[] = []
  const grid: Grid = { granularity: 100, latitudeOffset: 0, longitudeOffset: 0 }
  let texts = new Texts(new Cursor(EMPTY))
  while (!block.isAtEnd) {
    const tag = block.varint()
    const field = tag >>> 3
    if (field === 1) texts = new Texts(block.message())
    else if (field === 2) groups.push(block.message())
    else if (field === 17) grid.granularity = block.varint()
    else if (field === 19) grid.latitudeOffset = signed(block.varint())
    else if (field === 20) grid.longitudeOffset = signed(block.varint())
    else block.skip(tag & 7)
  }
  for (const group of groups) readGroup(group, texts, grid, sink)
}

function readGroup(group: Cursor, texts: Texts, grid: Grid, sink: ObjectSink): void {
  while (!group.isAtEnd) {
    const tag = group.varint()
    const field = tag >>> 3
    if (field === 1) readNode(group.message(), texts, grid, sink)
    else if (field === 2) readDenseNodes(group.message(), texts, grid, sink)
    else if (field === 3) readWay(group.message(), texts, sink)
    else if (field === 4) readRelation(group.message(), texts, sink)
    else group.skip(tag & 7)
  }
}

function readNode(node: Cursor, texts: Texts, grid: Grid, sink: ObjectSink): void {
  let id = 0
  let latitude = NaN
  let longitude = NaN
  let keys: Cursor | undefined
  let values: Cursor | undefined
  while (!node.isAtEnd) {
    const tag = node.varint()
    const field = tag >>> 3
    if (field === 1) id = node.zigzag()
    else if (field === 2) keys = node.message()
    else if (field === 3) values = node.message()
    else if (field === 8) latitude = node.zigzag()
    else if (field === 9) longitude = node.zigzag()
    else node.skip(tag & 7)
  }
  const tags = tagsOf(keys, values, texts)
  placeNode(sink, id, longitude, latitude, grid, tags.size === 0 ? undefined : tags)
}

function readDenseNodes(dense: Cursor, texts: Texts, grid: Grid, sink: ObjectSink): void {
  let ids = new Cursor(EMPTY)
  let latitudes = ids
  let longitudes = ids
  let pairs = ids
  while (!dense.isAtEnd) {
    const tag = dense.varint()
    const field = tag >>> 3
    if (field === 1) ids = dense.message()
    else if (field === 8) latitudes = dense.message()
    else if (field === 9) longitudes = dense.message()
    else if (field === 10) pairs = dense.message()
    else dense.skip(tag & 7)
  }
  let id = 0
  let latitude = 0
  let longitude = 0
  while (!ids.isAtEnd) {
    id += ids.zigzag()
    latitude += latitudes.isAtEnd ? NaN : latitudes.zigzag()
    longitude += longitudes.isAtEnd ? NaN : longitudes.zigzag()
    let tags: Map<string, string> | undefined
    // There are pairs of key and value, and a key of 0 ends those of a node. If no node has tags, the column is empty.
    while (!pairs.isAtEnd) {
      const key = pairs.varint()
      if (key === 0) break
      tags ??= new Map()
      tags.set(texts.at(key), texts.at(pairs.varint()))
    }
    placeNode(sink, id, longitude, latitude, grid, tags)
  }
}

function placeNode(
  sink: ObjectSink,
  id: number,
  longitude: number,
  latitude: number,
  { granularity, latitudeOffset, longitudeOffset }: Grid,
  tags: Tags | undefined,
): void {
  const y = (latitudeOffset + granularity * latitude) / 1e9
  const x = (longitudeOffset + granularity * longitude) / 1e9
  if (Math.abs(y) <= 90 && Math.abs(x) <= 180) sink.node(id, x, y, tags)
}

function readWay(way: Cursor, texts: Texts, sink: ObjectSink): void {
  let id = 0
  let keys: Cursor | undefined
  let values: Cursor | undefined
  const nodes: number[] = []
  while (!way.isAtEnd) {
    const tag = way.varint()
    const field = tag >>> 3
    if (field === 1) id = way.varint()
    else if (field === 2) keys = way.message()
    else if (field === 3) values = way.message()
    else if (field === 8) {
      const differences = way.message()
      for (let node = 0; !differences.isAtEnd;) nodes.push((node += differences.zigzag()))
    } else way.skip(tag & 7)
  }
  sink.way(id, nodes, tagsOf(keys, values, texts))
}

function readRelation(relation: Cursor, texts: Texts, sink: ObjectSink): void {
  let id = 0
  let keys: Cursor | undefined
  let values: Cursor | undefined
  let roles = new Cursor(EMPTY)
  let ids = roles
  let types = roles
  while (!relation.isAtEnd) {
    const tag = relation.varint()
    const field = tag >>> 3
    if (field === 1) id = relation.varint()
    else if (field === 2) keys = relation.message()
    else if (field === 3) values = relation.message()
    else if (field === 8) roles = relation.message()
    else if (field === 9) ids = relation.message()
    else if (field === 10) types = relation.message()
    else relation.skip(tag & 7)
  }
  const members: RelationMember[] = []
  for (let member = 0; !ids.isAtEnd && !roles.isAtEnd && !types.isAtEnd;) {
    member += ids.zigzag()
    const type = MEMBER_TYPES[types.varint()]
    const role = texts.at(roles.varint())
    if (type !== undefined) members.push({ type, id: member, role })
  }
  sink.relation(id, members, tagsOf(keys, values, texts))
}

function tagsOf(keys: Cursor | undefined, values: Cursor | undefined, texts: Texts): Tags {
  if (keys === undefined || values === undefined) return NO_TAGS
  const tags = new Map<string, string>()
  while (!keys.isAtEnd && !values.isAtEnd) tags.set(texts.at(keys.varint()), texts.at(values.varint()))
  return tags
}

/** A number of 64 bits that was written without the zigzag form, as far as doubles can hold it. */
function signed(value: number): number {
  return value >= 2 ** 63 ? value - 2 ** 64 : value
}
