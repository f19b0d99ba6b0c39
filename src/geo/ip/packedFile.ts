import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliDecompress, brotliDecompressSync } from 'node:zlib'

/** The ending of a file that is compressed with Brotli: install/packIpData.ts makes such files for the image. */
export const PACKED = '.br'

const unpack = promisify(brotliDecompress)

/** The contents of a file. That of a compressed one is decompressed in a thread. */
export async function readPacked(path: string): Promise<Buffer> {
  const bytes = await readFile(path)
  return path.endsWith(PACKED) ? unpack(bytes) : bytes
}

/** Like {@link readPacked}, but as text, and decompressed in this thread. */
export function readPackedText(path: string): string {
  const bytes = readFileSync(path)
  return (path.endsWith(PACKED) ? brotliDecompressSync(bytes) : bytes).toString('utf8')
}
