/** What it costs to look up addresses that are drawn evenly over IPv4 and the used part of IPv6, in process. */
import { performance } from 'node:perf_hooks'
import { seededRandom } from '../src/simulation/streets.ts'
import { CityFiles } from '../src/geo/ip/cityFiles.ts'
import { IpGeocoder } from '../src/geo/ip/ipGeocoder.ts'
import { ProxyLists } from '../src/geo/ip/proxyLists.ts'
import { systemClock as clock } from '../src/runtime/clock.ts'
import { createLogger } from '../src/runtime/logger.ts'
import { quantile, rounded } from './figures.ts'

/** The look-ups per second that must be reached. */
export const STATED_LOOKUPS = 50_000

/** A row for the table of geocoding: the whole answer, with place, texts, clock and whether it is a proxy. */
export async function askIp(family: 'IPv4' | 'IPv6', lookups: number, seed: number) {
  const parts = { clock, logger: createLogger('fatal') }
  const proxies = new ProxyLists({ proxies: [], tor: '', allowed: '' }, parts)
  const geocoder = new IpGeocoder(new CityFiles('', parts), proxies)
  const random = seededRandom(seed)
  const part = (most: number): number => Math.floor(random() * most)
  const draw = (): string =>
    family === 'IPv4'
      ? `${1 + part(223)}.${part(256)}.${part(256)}.${part(256)}`
      : `${(0x2400 + part(0x800)).toString(16)}:${part(0x10000).toString(16)}:${part(0x10000).toString(16)}::1`
  const addresses = Array.from({ length: lookups }, draw)
  const now = clock.now()
  for (const address of addresses.slice(0, lookups / 10)) await geocoder.answer(address, 'en', now)
  const times = new Float64Array(lookups)
  let results = 0
  const before = process.cpuUsage()
  for (const [i, address] of addresses.entries()) {
    const start = performance.now()
    const answer = await geocoder.answer(address, 'en', now)
    times[i] = performance.now() - start
    if (answer.address !== undefined) results++
  }
  const { user, system } = process.cpuUsage(before)
  const micros = (user + system) / lookups
  times.sort()
  return {
    case: `${family} look-up`,
    results: rounded(results / lookups, 2),
    p50Ms: rounded(quantile(times, 0.5), 3),
    p99Ms: rounded(quantile(times, 0.99), 3),
    microsOfCpu: rounded(micros, 1),
    perSecond: Math.round(1e6 / micros),
  }
}
