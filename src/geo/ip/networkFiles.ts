import { readFileSync } from 'node:fs'
import { RangesBuilder, type AddressRanges } from './addressRanges.ts'
import { networkRows } from './networkRows.ts'
import { readPackedText } from '../../runtime/packedFile.ts'
import type { RangesTask } from './rangesThread.ts'

/** The ranges of the chosen networks. Reading them takes some seconds, so it must be done in a separate thread. */
export function readNetworks(task: Extract<RangesTask, { kind: 'networks' }>): AddressRanges {
  const lines = readFileSync(task.chosen, 'utf8').split('\n')
  const chosen = new Set(lines.filter((line) => /^\d/.test(line)).map((line) => Number.parseInt(line, 10)))
  const builder = new RangesBuilder()
  for (const family of ['ipv4', 'ipv6'] as const)
    for (const { first, last } of networkRows(readPackedText(task[family]), chosen))
      builder.addSpan(family, first, last)
  return builder.build()
}
