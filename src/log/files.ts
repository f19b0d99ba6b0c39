import fs from 'node:fs'
import { dirname } from 'node:path'

/**
 * The file system calls of the durable state, as one page, so that tests can inject a full disk, a failed flush and
 * torn writes. Each throws (or hands over) the error of the system call.
 */
export interface Files {
  /** Opens a file. `flags` are those of fs.open. */
  open(path: string, flags: string): number
  close(descriptor: number): void
  /** Reads. Returns the number of bytes, which is 0 at the end of the file. */
  read(descriptor: number, into: Uint8Array, length: number, byteOffset: number): number
  /** Writes. Returns the number of bytes, which may be less than requested. */
  write(descriptor: number, from: Uint8Array, offset: number, length: number, byteOffset: number): number
  size(descriptor: number): number
  truncate(descriptor: number, length: number): void
  /** Flushes a file, and blocks. It is only for the start of the process. */
  syncBlocking(descriptor: number): void
  sync(descriptor: number, done: (error: Error | null) => void): void
  datasync(descriptor: number, done: (error: Error | null) => void): void
  /** The names in a folder, in no order. */
  list(folder: string): string[]
  /** Creates the folder. It is no error if it exists. */
  makeFolder(folder: string): void
  rename(from: string, to: string): void
  unlink(path: string): void
  /** Unlinks a file without blocking: to free the blocks of a large one takes the system tens of milliseconds. */
  unlinkBehind(path: string): Promise<void>
}

export const systemFiles: Files = {
  open: (path, flags) => fs.openSync(path, flags, 0o600),
  close: (descriptor) => fs.closeSync(descriptor),
  read: (descriptor, into, length, byteOffset) => fs.readSync(descriptor, into, 0, length, byteOffset),
  write: (descriptor, from, offset, length, byteOffset) =>
    fs.writeSync(descriptor, from, offset, length, byteOffset),
  size: (descriptor) => fs.fstatSync(descriptor).size,
  truncate: (descriptor, length) => fs.ftruncateSync(descriptor, length),
  syncBlocking: (descriptor) => fs.fsyncSync(descriptor),
  sync: (descriptor, done) => fs.fsync(descriptor, done),
  datasync: (descriptor, done) => fs.fdatasync(descriptor, done),
  list: (folder) => fs.readdirSync(folder),
  makeFolder: (folder) => {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  },
  rename: (from, to) => fs.renameSync(from, to),
  unlink: (path) => fs.unlinkSync(path),
  unlinkBehind: (path) => fs.promises.unlink(path),
}

/** Writes all of `bytes` at `byteOffset`, over as many calls as the system needs. */
export function writeAll(files: Files, descriptor: number, bytes: Uint8Array, byteOffset: number): void {
  let written = 0
  while (written < bytes.length) {
    const count = files.write(descriptor, bytes, written, bytes.length - written, byteOffset + written)
    if (count === 0) throw new Error(`The system wrote 0 of ${bytes.length - written} bytes.`)
    written += count
  }
}

/** The whole file as bytes. They are in `room` if they fit. */
export function readWhole(files: Files, path: string, room: Buffer = Buffer.alloc(0)): Buffer {
  const descriptor = files.open(path, 'r')
  try {
    const size = files.size(descriptor)
    const bytes = size <= room.length ? room.subarray(0, size) : Buffer.allocUnsafe(size)
    const read = readAt(files, descriptor, bytes, 0)
    return bytes.subarray(0, read)
  } finally {
    files.close(descriptor)
  }
}

/** Fills `into` from `byteOffset` on. Returns how many bytes there were before the file ended. */
export function readAt(files: Files, descriptor: number, into: Uint8Array, byteOffset: number): number {
  let read = 0
  while (read < into.length) {
    const count = files.read(descriptor, into.subarray(read), into.length - read, byteOffset + read)
    if (count === 0) break
    read += count
  }
  return read
}

/** fsync as a promise. */
export function synced(files: Files, descriptor: number): Promise<void> {
  return new Promise((resolve, reject) => {
    files.sync(descriptor, (error) => (error === null ? resolve() : reject(error)))
  })
}

/** Makes the names in a folder durable: a new, renamed or unlinked file is not durable before this. */
export async function syncFolder(files: Files, folder: string): Promise<void> {
  const descriptor = files.open(folder, 'r')
  try {
    await synced(files, descriptor)
  } finally {
    files.close(descriptor)
  }
}

/** Does the same as {@link syncFolder}, and blocks. It is only for the start of the process. */
export function syncFolderBlocking(files: Files, folder: string): void {
  const descriptor = files.open(folder, 'r')
  try {
    files.syncBlocking(descriptor)
  } finally {
    files.close(descriptor)
  }
}

/** Replaces a small file atomically: after a crash it has either the old bytes or the new ones. */
export async function replaceFile(files: Files, path: string, bytes: Uint8Array): Promise<void> {
  const descriptor = files.open(`${path}.tmp`, 'w')
  try {
    writeAll(files, descriptor, bytes, 0)
    await synced(files, descriptor)
  } finally {
    files.close(descriptor)
  }
  files.rename(`${path}.tmp`, path)
  await syncFolder(files, dirname(path))
}

/** Does the same as {@link replaceFile}, and blocks. It is only for the start of the process. */
export function replaceFileBlocking(files: Files, path: string, bytes: Uint8Array): void {
  const descriptor = files.open(`${path}.tmp`, 'w')
  try {
    writeAll(files, descriptor, bytes, 0)
    files.syncBlocking(descriptor)
  } finally {
    files.close(descriptor)
  }
  files.rename(`${path}.tmp`, path)
  syncFolderBlocking(files, dirname(path))
}
