/** Writes files in MaxMind's format, version 2, as GeoLite2 City has them: https://maxmind.github.io/MaxMind-DB/ */
import { writeFileSync } from 'node:fs'
import ipaddr from 'ipaddr.js'

type Value = string | number | boolean | readonly Value[] | { readonly [name: string]: Value | undefined }

const RECORD_BITS = 32
const METADATA_MARK = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')

/** A file with a record for each CIDR range; IPv4 ranges lie in `::/96`. Later ranges must not contain earlier ones. */
export function writeMmdb(
  path: string,
  databaseType: string,
  records: Readonly<Record<string, Value>>,
): void {
  const data: Buffer[] = []
  let dataSize = 0
  type Node = [number | Leaf | undefined, number | Leaf | undefined]
  interface Leaf {
    readonly offset: number
  }
  const nodes: Node[] = [[undefined, undefined]]
  for (const [cidr, value] of Object.entries(records)) {
    const [address, bits] = ipaddr.parseCIDR(cidr)
    const isFour = address.kind() === 'ipv4'
    const bytes = [...(isFour ? Array<number>(12).fill(0) : []), ...address.toByteArray()]
    const length = isFour ? bits + 96 : bits
    const bitAt = (i: number) => ((bytes[i >> 3]! >> (7 - (i % 8))) & 1) as 0 | 1
    let at = 0
    for (let i = 0; i < length - 1; i++) {
      const next = nodes[at]![bitAt(i)]
      if (typeof next === 'number') at = next
      else {
        const leaf = next
        nodes.push([leaf, leaf])
        nodes[at]![bitAt(i)] = nodes.length - 1
        at = nodes.length - 1
      }
    }
    nodes[at]![bitAt(length - 1)] = { offset: dataSize }
    const encoded = encode(value)
    data.push(encoded)
    dataSize += encoded.length
  }
  const tree = Buffer.alloc(nodes.length * 8)
  nodes.forEach((node, i) =>
    node.forEach((next, side) => {
      const record =
        next === undefined ? nodes.length : typeof next === 'number' ? next : nodes.length + 16 + next.offset
      tree.writeUInt32BE(record, i * 8 + side * 4)
    }),
  )
  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_780_000_000,
    database_type: databaseType,
    description: { en: 'of a test' },
    ip_version: 6,
    languages: ['en'],
    node_count: nodes.length,
    record_size: RECORD_BITS,
  })
  writeFileSync(path, Buffer.concat([tree, Buffer.alloc(16), ...data, METADATA_MARK, metadata]))
}

function encode(value: Value): Buffer {
  if (typeof value === 'string') return Buffer.concat([head(2, Buffer.byteLength(value)), Buffer.from(value)])
  if (typeof value === 'boolean') return head(14, value ? 1 : 0)
  if (typeof value === 'number') {
    if (Number.isInteger(value) && value >= 0) {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(value)
      return Buffer.concat([head(6, 4), bytes])
    }
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleBE(value)
    return Buffer.concat([head(3, 8), bytes])
  }
  if (Array.isArray(value)) return Buffer.concat([head(11, value.length), ...value.map(encode)])
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return Buffer.concat([
    head(7, fields.length),
    ...fields.flatMap(([name, field]) => [encode(name), encode(field as Value)]),
  ])
}

/** The control bytes of a value: its type, and its size or number of items, below 285. */
function head(type: number, size: number): Buffer {
  const short = Math.min(size, 29)
  const first = type > 7 ? [short, type - 7] : [(type << 5) | short]
  return Buffer.from([...first, ...(size >= 29 ? [size - 29] : [])])
}
