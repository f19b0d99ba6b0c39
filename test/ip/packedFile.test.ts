/** Data of IP addresses that install/packData.ts has compressed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import t from 'tap'
import { isInRanges } from '../../src/geo/ip/addressRanges.ts'
import { CityFile } from '../../src/geo/ip/cityFile.ts'
import { readNetworks } from '../../src/geo/ip/networkFiles.ts'
import { parseIpAddress } from '../../src/model/ipAddress.ts'
import { writeMmdb } from './mmdb.ts'

/** 2606:4700:: */
const CLOUD = 0x2606_4700n << 96n

/** Compresses a file. Returns the path of the result. */
function packed(path: string): string {
  writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path)))
  return `${path}.br`
}

t.test('cities of a compressed file', async (t) => {
  const path = join(t.testdir(), 'cities.mmdb')
  writeMmdb(path, 'DBIP-City-Lite', {
    '8.8.8.0/24': {
      city: { names: { en: 'Mountain View' } },
      country: { iso_code: 'US' },
      location: { latitude: 37.4, longitude: -122.1 },
    },
  })
  const cities = await CityFile.open(packed(path))
  t.match(cities.placeOf(parseIpAddress('8.8.8.8')!, 'en'), { place: { city: 'Mountain View' } })
  t.equal(cities.placeOf(parseIpAddress('9.9.9.9')!, 'en'), undefined)
  writeFileSync(`${path}.br`, 'this is not compressed')
  await t.rejects(CityFile.open(`${path}.br`))
})

t.test('networks of compressed files', async (t) => {
  const folder = t.testdir({
    four: '134744064,134744319,15169,Google LLC\n151587072,151587327,19281,Quad9\n',
    six: `${CLOUD},${CLOUD + 255n},15169,Google LLC\n`,
    chosen: '# chosen\n15169 Google LLC\n',
  })
  const ranges = readNetworks({
    kind: 'networks',
    ipv4: packed(join(folder, 'four')),
    ipv6: packed(join(folder, 'six')),
    chosen: join(folder, 'chosen'),
  })
  t.equal(isInRanges(ranges, parseIpAddress('8.8.8.8')!), true)
  t.equal(isInRanges(ranges, parseIpAddress('9.9.9.9')!), false)
  t.equal(isInRanges(ranges, parseIpAddress('2606:4700::1')!), true)
})
