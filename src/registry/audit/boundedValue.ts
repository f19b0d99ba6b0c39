/** The bytes that an entry of the audit keeps of what a record was before, and as many of what it became, as JSON. */
export const MOST_VALUE_BYTES = 256 * 1024

/** UTF-8 has at most three bytes for each unit of a text. */
const BYTES_PER_UNIT = 3

type Value = Readonly<Record<string, unknown>>

/** What is kept of a record. */
export interface Kept {
  readonly json: string
  /** The members that were left out because they are too long. Without them, the record cannot be restored. */
  readonly leftOut: readonly string[]
}

/**
 * As much of a record as an entry keeps: all of it, unless it is too long. Then the longest members are left out, until
 * the rest fits.
 *
 * Why not everything: an entry stays for a year, and each change of a long record makes one. Two records of a megabyte
 * do not fit into one message of the distributed registry either, so a long record could not be changed any more.
 * @param json of the record
 */
export function boundedValue(value: Value, json: string): Kept {
  if (json.length * BYTES_PER_UNIT <= MOST_VALUE_BYTES || Buffer.byteLength(json) <= MOST_VALUE_BYTES)
    return { json, leftOut: [] }
  const sizes = Object.entries(value)
    .map(([name, member]) => ({ name, bytes: bytesOf(name, member) }))
    // Made of the coordinates, so nothing is lost with it.
    .toSorted(
      (a, b) => Number(isDerived(b.name, value)) - Number(isDerived(a.name, value)) || b.bytes - a.bytes,
    )
  let bytes = Buffer.byteLength(json)
  const gone = new Set<string>()
  for (const member of sizes) {
    if (bytes <= MOST_VALUE_BYTES) break
    gone.add(member.name)
    bytes -= member.bytes
  }
  return {
    json: JSON.stringify(Object.fromEntries(Object.entries(value).filter(([name]) => !gone.has(name)))),
    leftOut: [...gone].filter((name) => !isDerived(name, value)).toSorted(),
  }
}

/** With its name and the comma. */
function bytesOf(name: string, member: unknown): number {
  return member === undefined ? 0 : Buffer.byteLength(JSON.stringify({ [name]: member })) - 1
}

/** A geofence has its area twice: as answers have it, and as a definition has it. */
function isDerived(name: string, value: Value): boolean {
  return name === 'geometry' && value['coordinates'] !== undefined
}
