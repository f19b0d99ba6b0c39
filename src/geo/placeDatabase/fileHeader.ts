import { statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileState } from './port.ts'
import { PLACE_DATABASE_VERSION } from './schema.ts'

/**
 * How many bytes are read to check a place database without opening it. The format is SQLite's,
 * https://sqlite.org/fileformat.html, section 1.3.
 */
const HEAD_BYTES = 100
const MAGIC = 'SQLite format 3\0'
const PAGE_SIZE = 16
const CHANGES = 24
const PAGES = 28
const USER_VERSION = 60
const PAGES_VALID_FOR = 92

/** A text that differs whenever the file is replaced or written. It is empty if the file cannot be checked. */
export function stampOf(file: string): string {
  try {
    return stampIn(statSync(file, { bigint: true }))
  } catch {
    return ''
  }
}

function stampIn({ ino, mtimeNs, size }: { ino: bigint; mtimeNs: bigint; size: bigint }): string {
  return `${ino}:${mtimeNs}:${size}`
}

/** Checks a place database. It never rejects. */
export async function placeFileState(file: string): Promise<FileState> {
  try {
    const handle = await open(file)
    try {
      const stats = await handle.stat({ bigint: true })
      const head = Buffer.alloc(HEAD_BYTES)
      const { bytesRead } = await handle.read(head, 0, HEAD_BYTES, 0)
      return { stamp: stampIn(stats), problem: problemOf(head, bytesRead, Number(stats.size)) }
    } finally {
      await handle.close()
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return { stamp: '', problem: code === 'ENOENT' ? 'is missing' : `cannot be read (${code})` }
  }
}

function problemOf(head: Buffer, bytesRead: number, size: number): string | undefined {
  if (size === 0) return 'is empty'
  if (bytesRead < HEAD_BYTES || head.toString('latin1', 0, MAGIC.length) !== MAGIC) return 'is damaged'
  if (head.readUInt32BE(USER_VERSION) !== PLACE_DATABASE_VERSION) return 'is of another version'
  // The value 1 stands for 65,536.
  const pageSize = head.readUInt16BE(PAGE_SIZE)
  const areCounted = head.readUInt32BE(CHANGES) === head.readUInt32BE(PAGES_VALID_FOR)
  const bytes = head.readUInt32BE(PAGES) * (pageSize === 1 ? 65_536 : pageSize)
  return areCounted && size < bytes ? 'is cut off' : undefined
}
