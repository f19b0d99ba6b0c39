import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BackedUpFile } from './manifest.ts'

const CHUNK_BYTES = 1 << 20
/** Written data is flushed after this many bytes: one flush of gigabytes would delay those of the commit log. */
export const FLUSH_BYTES = 4 << 20
export interface ReadOptions {
  /** How many of its first bytes are read. If absent, all are. */
  readonly bytes?: number | undefined
  /** The highest rate. Infinity means as fast as possible. */
  readonly bytesPerSecond: number
  /** Called for each chunk that was read. */
  readonly count: (bytes: number) => void
  readonly signal: AbortSignal
}

/** Reads a file; resolves to its size and hash. */
export async function hashFile(
  path: string,
  name: string,
  options: ReadOptions,
  chunk: (bytes: Uint8Array) => Promise<void> = async () => {},
): Promise<BackedUpFile> {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  const limit = options.bytes ?? Infinity
  let byteOffset = 0
  const file = await open(path, 'r')
  try {
    while (byteOffset < limit) {
      options.signal.throwIfAborted()
      const began = performance.now()
      const { bytesRead } = await file.read(buffer, 0, Math.min(CHUNK_BYTES, limit - byteOffset), byteOffset)
      if (bytesRead === 0) break
      byteOffset += bytesRead
      const part = buffer.subarray(0, bytesRead)
      hash.update(part)
      await chunk(part)
      options.count(bytesRead)
      const wait = (bytesRead / options.bytesPerSecond) * 1000 - (performance.now() - began)
      if (wait > 0) await sleep(wait)
    }
  } finally {
    await file.close()
  }
  return { name, bytes: byteOffset, sha256: hash.digest('hex') }
}

/** Copies a file like {@link hashFile}. The new file is durable when this resolves, except for its name. */
export async function copyFile(
  from: string,
  to: string,
  name: string,
  options: ReadOptions,
): Promise<BackedUpFile> {
  const target = await open(to, 'wx', 0o600)
  try {
    let unflushed = 0
    const copied = await hashFile(from, name, options, async (bytes) => {
      await writeAll(target, bytes)
      unflushed += bytes.length
      if (unflushed < FLUSH_BYTES) return
      unflushed = 0
      await target.datasync()
    })
    await target.sync()
    return copied
  } finally {
    await target.close()
  }
}

/** Writes a new small file, which is durable except for its name. */
export async function writeText(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await writeAll(file, Buffer.from(text))
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Flushes a file that another process writes, or a folder's names. */
export async function flush(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Bytes of all files in a folder and below it; 0 if it does not exist. */
export function folderBytes(folder: string): number {
  if (!existsSync(folder)) return 0
  let bytes = 0
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    bytes += statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0
  }
  return bytes
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  let written = 0
  while (written < bytes.length) written += (await file.write(bytes, written)).bytesWritten
}
