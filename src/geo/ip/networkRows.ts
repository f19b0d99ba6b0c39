/** A range of addresses and the network (autonomous system) that announces it. */
export interface NetworkRow {
  readonly first: bigint
  readonly last: bigint
  readonly network: number
  readonly name: string
}

/**
 * The rows of a file of `@ip-location-db/asn` with numbers: first address, last address, network, name.
 * @param only the networks to read; if absent, all are read
 */
export function* networkRows(text: string, only?: ReadonlySet<number>): Generator<NetworkRow> {
  for (let start = 0; start < text.length;) {
    const end = text.indexOf('\n', start)
    const line = text.slice(start, end < 0 ? text.length : end)
    start = end < 0 ? text.length : end + 1
    const [first, last, network] = line.split(',', 3)
    const number = Number(network)
    if (last === undefined || !Number.isInteger(number) || only?.has(number) === false) continue
    const name = line.slice(first!.length + last.length + network!.length + 3).trim()
    yield {
      first: BigInt(first!),
      last: BigInt(last),
      network: number,
      name: name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name,
    }
  }
}
