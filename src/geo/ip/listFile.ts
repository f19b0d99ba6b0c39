import { readFileSync, statSync } from 'node:fs'
import { IpRangesError, parseIpRanges } from '../../model/ipRanges.ts'
import { systemReason } from '../../runtime/errors.ts'
import { RangesBuilder, type AddressRanges } from './addressRanges.ts'

/**
 * The largest size of a file, which is some ten million lines. Larger ones are a mistake, and would not fit into one
 * text.
 */
const MOST_BYTES = 256 * 1024 * 1024

/**
 * Reads files of addresses and CIDR ranges, one per line. Empty lines are ignored, and so is everything after a `#` or
 * `;`.
 * @throws Error naming the file, the line and the entry
 */
export function readLists(paths: readonly string[]): AddressRanges {
  const builder = new RangesBuilder()
  for (const path of paths) readList(path, builder)
  return builder.build()
}

function readList(path: string, into: RangesBuilder): void {
  const text = textOf(path)
  let number = 0
  for (let start = 0; start < text.length; number++) {
    const end = text.indexOf('\n', start)
    const line = text.slice(start, end < 0 ? text.length : end)
    start = end < 0 ? text.length : end + 1
    const comment = line.search(/[#;]/)
    const entry = (comment < 0 ? line : line.slice(0, comment)).trim()
    if (entry === '') continue
    try {
      for (const { base, bits } of parseIpRanges(entry)) into.add(base, bits)
    } catch (error) {
      if (!(error instanceof IpRangesError)) throw error
      throw new Error(`${path}, line ${number + 1}: ${error.message}`, { cause: error })
    }
  }
}

function textOf(path: string): string {
  try {
    const { size } = statSync(path)
    if (size > MOST_BYTES) throw new Error(`it has ${size} bytes; at most ${MOST_BYTES}`)
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Error(`${path}: ${systemReason(cause)}.`, { cause })
  }
}
