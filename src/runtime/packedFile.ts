/** Files of packages that the image holds compressed: see install/packData.ts. */
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress, brotliDecompressSync } from 'node:zlib'
import { packageFolder } from './packageFolder.ts'

/** The ending of a file that is compressed with Brotli. */
const PACKED = '.br'

const unpack = promisify(brotliDecompress)

export function isPacked(path: string): boolean {
  return path.endsWith(PACKED)
}

/** The path of a file, or that of its compressed form if only that is there. */
export function packedPath(path: string): string {
  return existsSync(path) || !existsSync(path + PACKED) ? path : path + PACKED
}

/**
 * The path of a file of a package, or of its compressed form, also if the package does not export it.
 * @param module the package and the file in it: `us-atlas/states-10m.json`
 * @throws Error if there is neither
 */
export function packedModule(module: string): string {
  const [, name, file] = /^((?:@[^/]+\/)?[^/]+)\/(.+)$/.exec(module)!
  const folder = packageFolder(name!)
  const path = folder && packedPath(join(folder, file!))
  if (path === undefined || !existsSync(path)) throw new Error(`${module} is not installed`)
  return path
}

/** The contents of a file. That of a compressed one is decompressed in a thread. */
export async function readPacked(path: string): Promise<Buffer> {
  const bytes = await readFile(path)
  return isPacked(path) ? unpack(bytes) : bytes
}

/** Like {@link readPacked}, but decompressed in this thread. */
export function readPackedNow(path: string): Buffer {
  const bytes = readFileSync(path)
  return isPacked(path) ? brotliDecompressSync(bytes) : bytes
}

/** Like {@link readPackedNow}, as text. */
export function readPackedText(path: string): string {
  return readPackedNow(path).toString('utf8')
}
