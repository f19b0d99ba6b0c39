/**
 * What it costs to add a million addresses: files of invented houses in each format, each imported by a process of its
 * own, as `npm run region -- add-addresses` does.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { buildWorld } from '../src/geo/world/worldBuilder.ts'
import { WorldDatabase } from '../src/geo/world/worldDatabase.ts'
import { rounded } from './figures.ts'
import type { AddressesAdded } from './load/addAddressesChild.ts'
import { inventedHouses, type InventedHouse } from './load/inventedHouses.ts'
import { done, progress } from './progress.ts'

/** The figures that this bench must reach. */
const STATED = { seconds: 60, peakMegabytes: 1000, bytesPerAddress: 300 }
/** A house with its coordinates as they are written. */
interface Written extends InventedHouse {
  readonly longitude: string
  readonly latitude: string
}

/** The columns of the National Address Database that are read, among as many others as it has. */
const OTHERS = Array.from({ length: 40 }, (_, i) => `Other_${i}`)

const FORMATS: readonly (readonly [name: string, head: string, line: (house: Written) => string])[] = [
  [
    'OpenAddresses, GeoJSON',
    '',
    ({ number, street, city, state, postalCode, longitude, latitude }) =>
      `{"type":"Feature","properties":{"hash":"0123456789abcdef","number":"${number}","street":"${street}","unit":"","city":"${city}","district":"","region":"${state}","postcode":"${postalCode}","id":""},"geometry":{"type":"Point","coordinates":[${longitude},${latitude}]}}\n`,
  ],
  [
    'OpenAddresses, CSV',
    'LON,LAT,NUMBER,STREET,UNIT,CITY,DISTRICT,REGION,POSTCODE,ID,HASH\n',
    ({ number, street, city, state, postalCode, longitude, latitude }) =>
      `${longitude},${latitude},${number},${street},,${city},,${state},${postalCode},,0123456789abcdef\n`,
  ],
  [
    'National Address Database',
    `${OTHERS.join()},Add_Number,StNam_Full,Post_City,State,Zip_Code,Longitude,Latitude\n`,
    ({ number, street, city, state, postalCode, longitude, latitude }) =>
      `${OTHERS.map(() => 'x').join()},${number},${street},${city},${state},${postalCode},${longitude},${latitude}\n`,
  ],
]

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
  },
})
const count = options.smoke ? 10_000 : 1_000_000
const folder = mkdtempSync(join(tmpdir(), 'ringfence-bench-'))
try {
  progress('writing the data of the world')
  const world = new WorldDatabase(buildWorld(join(folder, 'world')))
  const rows = []
  for (const [name, head, line] of FORMATS) {
    const path = join(folder, 'addresses.txt')
    progress(`writing ${name}`)
    await write(path, inventedHouses(world, count, Number(options.seed)), head, line)
    progress(`adding ${name}`)
    const data = join(folder, 'regions')
    mkdirSync(data, { recursive: true })
    const child = fork(new URL('./load/addAddressesChild.ts', import.meta.url), [path, data])
    const [added] = (await once(child, 'message')) as [AddressesAdded]
    rows.push({
      case: name,
      addresses: added.addresses,
      seconds: rounded(added.seconds, 1),
      secondsOfCpu: rounded(added.secondsOfCpu, 1),
      peakMegabytes: Math.round(added.peakMegabytes),
      bytesPerAddress: Math.round(added.bytes / added.addresses),
    })
    rmSync(data, { recursive: true })
  }
  world.close()
  done('')
  console.table(rows)
  const misses = rows.filter(
    ({ seconds, peakMegabytes, bytesPerAddress }) =>
      seconds > STATED.seconds ||
      peakMegabytes > STATED.peakMegabytes ||
      bytesPerAddress > STATED.bytesPerAddress,
  )
  if (options.strict && misses.length > 0) {
    console.error(`missed: ${misses.map((row) => row.case).join(', ')}`)
    process.exitCode = 1
  }
  console.log(JSON.stringify({ bench: 'add-addresses', smoke: options.smoke, rows }))
} finally {
  rmSync(folder, { recursive: true })
}

async function write(
  path: string,
  houses: Iterable<InventedHouse>,
  head: string,
  line: (house: Written) => string,
): Promise<void> {
  const out = createWriteStream(path)
  out.write(head)
  for (const house of houses) {
    const [longitude, latitude] = house.position.map((degrees) => degrees.toFixed(7)) as [string, string]
    if (!out.write(line({ ...house, longitude, latitude }))) await once(out, 'drain')
  }
  out.end()
  await finished(out)
}
