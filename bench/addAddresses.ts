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
import { seededRandom } from '../src/simulation/streets.ts'
import { rounded } from './figures.ts'
import type { AddressesAdded } from './load/addAddressesChild.ts'
import { done, progress } from './progress.ts'

/** The figures that this bench must reach. */
const STATED = { seconds: 60, peakMegabytes: 1000, bytesPerAddress: 300 }
const TOWNS = 100
const STREETS_PER_TOWN = 80
const NAMES = [
  'Oak',
  'Pine',
  'Maple',
  'Cedar',
  'Elm',
  'Lake',
  'Hill',
  'Park',
  'River',
  'Church',
  'Mill',
  'Spring',
]
const KINDS = ['St', 'Ave', 'Rd', 'Dr', 'Ln', 'Ct']

interface House {
  readonly number: number
  readonly street: string
  readonly city: string
  readonly postalCode: string
  readonly longitude: string
  readonly latitude: string
}

/** The columns of the National Address Database that are read, among as many others as it has. */
const OTHERS = Array.from({ length: 40 }, (_, i) => `Other_${i}`)

const FORMATS: readonly (readonly [name: string, head: string, line: (house: House) => string])[] = [
  [
    'OpenAddresses, GeoJSON',
    '',
    ({ number, street, city, postalCode, longitude, latitude }) =>
      `{"type":"Feature","properties":{"hash":"0123456789abcdef","number":"${number}","street":"${street}","unit":"","city":"${city}","district":"","region":"KS","postcode":"${postalCode}","id":""},"geometry":{"type":"Point","coordinates":[${longitude},${latitude}]}}\n`,
  ],
  [
    'OpenAddresses, CSV',
    'LON,LAT,NUMBER,STREET,UNIT,CITY,DISTRICT,REGION,POSTCODE,ID,HASH\n',
    ({ number, street, city, postalCode, longitude, latitude }) =>
      `${longitude},${latitude},${number},${street},,${city},,KS,${postalCode},,0123456789abcdef\n`,
  ],
  [
    'National Address Database',
    `${OTHERS.join()},Add_Number,StNam_Full,Post_City,State,Zip_Code,Longitude,Latitude\n`,
    ({ number, street, city, postalCode, longitude, latitude }) =>
      `${OTHERS.map(() => 'x').join()},${number},${street},${city},KS,${postalCode},${longitude},${latitude}\n`,
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
  const rows = []
  for (const [name, head, line] of FORMATS) {
    const path = join(folder, 'addresses.txt')
    progress(`writing ${name}`)
    await write(path, head, line)
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

async function write(path: string, head: string, line: (house: House) => string): Promise<void> {
  const random = seededRandom(Number(options.seed))
  const out = createWriteStream(path)
  out.write(head)
  for (let i = 0; i < count; i++) {
    const [town, street] = [i % TOWNS, Math.floor(i / TOWNS) % STREETS_PER_TOWN]
    const number = 1 + 2 * Math.floor(i / (TOWNS * STREETS_PER_TOWN))
    const x = -100 + (town % 10) / 10 + (street % 9) / 200 + number * 1e-5 + random() * 1e-5
    const y = 35 + Math.floor(town / 10) / 10 + Math.floor(street / 9) / 200 + random() * 1e-5
    const house = {
      number,
      street: `${NAMES[street % NAMES.length]} ${NAMES[Math.floor(street / 7)]} ${KINDS[street % KINDS.length]}`,
      city: `Town ${town}`,
      postalCode: String(66_000 + town),
      longitude: x.toFixed(7),
      latitude: y.toFixed(7),
    }
    if (!out.write(line(house))) await once(out, 'drain')
  }
  out.end()
  await finished(out)
}
