/** Adds a file of addresses to a folder of map regions, and tells its parent what that took. */
import { importAddresses } from '../../src/geo/extract/importAddresses.ts'

export interface AddressesAdded {
  readonly addresses: number
  readonly seconds: number
  readonly secondsOfCpu: number
  readonly peakMegabytes: number
  readonly bytes: number
}

const [path, folder] = process.argv.slice(2) as [string, string]
const began = performance.now()
const record = await importAddresses({
  folder,
  paths: [path],
  name: 'bench',
  isSample: false,
  now: Date.now,
  signal: new AbortController().signal,
  onProgress() {},
  onNote() {},
})
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
process.send!({
  addresses: record.nodes,
  seconds: (performance.now() - began) / 1000,
  secondsOfCpu: (userCPUTime + systemCPUTime) / 1e6,
  peakMegabytes: maxRSS / 1024,
  bytes: record.stages.places!.bytes,
} satisfies AddressesAdded)
process.disconnect()
