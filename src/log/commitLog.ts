import { basename } from 'node:path'
import { inSlices, Slice } from '../runtime/slices.ts'
import type { CommitLog, Committed, CopyableLog, LogEvent, LogFiles, LogFrame } from './port.ts'
import type { Files } from './files.ts'
import type { FrameHeader } from './frame.ts'
import type { Store } from './store.ts'
import { LogDamaged, LogTrimmed } from './errors.ts'
import {
  readAt,
  replaceFile,
  syncFolder,
  syncFolderBlocking,
  synced,
  systemFiles,
  writeAll,
} from './files.ts'
import {
  FrameEncoder,
  frameBytes,
  FRAME_HEADER_BYTES,
  isBodyWhole,
  MAX_PAYLOAD_BYTES,
  readHeader,
  readPayload,
  storeSeed,
} from './frame.ts'
import { recoverLog, Segment } from './recovery.ts'
import type { RecoveredLog } from './recovery.ts'
import {
  encodeLogManifest,
  encodeSegmentHeader,
  logFolder,
  logManifestPath,
  SEGMENT_HEADER_BYTES,
} from './segments.ts'

export interface CommitLogOptions {
  readonly store: Pick<Store, 'folder' | 'storeId'>
  /**
   * When a frame counts as durable. With `fsync` it has been flushed to the disk. With `os` it has been handed to the
   * system, so it survives `kill -9` but not a loss of power.
   */
  readonly durability: 'fsync' | 'os'
  /** A segment is closed before the frame that would make it larger. At least 4096. */
  readonly segmentBytes: number
  /**
   * Called once, with the first error of a write or a flush. The log accepts nothing afterwards and the process must
   * end. A failed flush is never tried again: the system marks the pages clean when it reports the error, so a second
   * flush succeeds without having written them. The next start writes the frame again before it counts.
   */
  readonly failed: (error: Error) => void
  readonly files?: Files
}

/** Encoding such a frame takes milliseconds, and writing it more, so both are done in turns with other work. */
const LARGE_FRAME_BYTES = 1024 * 1024
/** How many bytes of a large frame are written at a time at most. A write ends where its file has a multiple of them. */
const PIECE_BYTES = 1024 * 1024
const READ_BYTES = 64 * 1024
/**
 * Zeros that a segment is extended by before its frames reach its end. A flush then has neither a size nor a new
 * block to record: measured on ext4 beside plain appending, medians, 2 KB / 16 KB frames: 171 / 169 µs until durable
 * instead of 219 / 256, CPU 73 / 78 µs instead of 88 / 98. Allocating a file of full size without blocks gains half
 * of that, and less on a busy disk. The price is that a byte is written once more; without flushes there is no gain,
 * and no zeros.
 */
const EXTENSION_BYTES = 256 * 1024
const ZEROS = Buffer.alloc(EXTENSION_BYTES)

/**
 * Opens the log of a store that {@link openStore} has created and locked; reads and checks all of it.
 * Throws {@link LogDamaged} with the file's name where an acknowledged frame may be lost.
 */
export function openCommitLog(options: CommitLogOptions): CommitLog & CopyableLog {
  if (!(options.segmentBytes >= 4096)) {
    throw new RangeError(`segmentBytes: ${options.segmentBytes} is less than 4096`)
  }
  const files = options.files ?? systemFiles
  const folder = logFolder(options.store.folder)
  const recovered = recoverLog(files, folder, options.store.storeId)
  // A MANIFEST that a killed process had just renamed may not be durable yet. The files that it no longer names must
  // not be removed before it is.
  syncFolderBlocking(files, folder)
  for (const path of recovered.leftovers) files.unlink(path)
  const newest = recovered.segments.at(-1)!
  const descriptor = files.open(newest.path, 'r+')
  if (recovered.torn) files.truncate(descriptor, newest.end)
  // A flush that failed before a crash left the last frame in the system's cache, clean but not on the disk: written
  // again, it is flushed for certain. Every earlier frame was flushed before the last one was begun.
  if (recovered.lastFrame !== undefined) {
    writeAll(files, descriptor, recovered.lastFrame, newest.end - recovered.lastFrame.length)
  }
  files.syncBlocking(descriptor)
  syncFolderBlocking(files, folder)
  return new SegmentLog(options, files, folder, recovered, descriptor)
}

/**
 * Append-only segments with one writer.
 *
 * Invariants
 * - LOG-1: A frame is written at the end of the newest segment and flushed. Only then does it count for `offset`,
 *   readers and `done`.
 * - LOG-2: A full segment is cut to its length and flushed, the next one is created and flushed, and MANIFEST names it,
 *   before the first frame is written to it. So only the newest segment can end in a torn frame.
 * - LOG-3: MANIFEST stops naming a segment before it is unlinked. Rotation and trimming never run at the same time.
 * - LOG-4: Behind the last frame of the newest segment there are only zeros.
 */
class SegmentLog implements CommitLog, CopyableLog {
  readonly #files: Files
  readonly #folder: string
  readonly #storeId: string
  readonly #seed: number
  readonly #flushes: boolean
  readonly #segmentBytes: number
  readonly #failed: (error: Error) => void
  readonly #encoder: FrameEncoder
  readonly #segments: Segment[]
  #newest: Segment
  #descriptor: number
  /** The size of the newest segment's file. */
  #allocated: number
  #offset: number
  #failure: Error | undefined
  #closed = false
  /** The callback of the frame in flight; undefined if there is none. */
  #done: ((frame: Committed<never>) => void) | undefined
  #events: readonly LogEvent[] = []
  #size = 0
  /** The rotations and trims, one after the other. It never rejects. */
  #maintenance: Promise<void> = Promise.resolve()
  #idle: (() => void) | undefined

  constructor(
    options: CommitLogOptions,
    files: Files,
    folder: string,
    recovered: RecoveredLog,
    descriptor: number,
  ) {
    this.#files = files
    this.#folder = folder
    this.#storeId = options.store.storeId
    this.#seed = storeSeed(this.#storeId)
    this.#flushes = options.durability === 'fsync'
    this.#segmentBytes = options.segmentBytes
    this.#failed = options.failed
    this.#encoder = new FrameEncoder(this.#storeId)
    this.#segments = recovered.segments
    this.#newest = recovered.segments.at(-1)!
    this.#descriptor = descriptor
    this.#allocated = files.size(descriptor)
    this.#offset = recovered.offset
  }

  get offset(): number {
    return this.#offset
  }

  /** The bytes of frames and headers, without the zeros ahead in the newest segment. */
  get bytes(): number {
    let bytes = 0
    for (const segment of this.#segments) bytes += segment.end
    return bytes
  }

  /** The parts are copied before it returns, unless they are kept. */
  append<E extends LogEvent>(
    parts: readonly Uint8Array[],
    done: (frame: Committed<E>) => void,
    events: readonly E[] = [],
    areKept = false,
  ): void {
    if (this.#failure !== undefined) throw new Error('The log has failed.', { cause: this.#failure })
    if (this.#closed) throw new Error('The log is closed.')
    if (this.#done !== undefined) throw new Error('The log has an append in flight.')
    let payloadBytes = 0
    for (let i = 0; i < parts.length; i++) payloadBytes += parts[i]!.length
    if (payloadBytes > MAX_PAYLOAD_BYTES) {
      throw new RangeError(`A frame of ${payloadBytes} bytes is over ${MAX_PAYLOAD_BYTES}.`)
    }
    const size = frameBytes(payloadBytes)
    this.#done = done
    this.#events = events
    this.#size = size
    const end = this.#newest.end
    const isRotated = end > SEGMENT_HEADER_BYTES && end + size > this.#segmentBytes
    const byteOffset = isRotated ? SEGMENT_HEADER_BYTES : end
    let write: () => void | Promise<void>
    if (size < LARGE_FRAME_BYTES) {
      const frame = this.#encoder.encode(parts, payloadBytes, this.#offset + 1, byteOffset)
      write = () => this.#write(frame)
    } else {
      const next = this.#offset + 1
      const steps = this.#encoder.encodeInSteps(parts, payloadBytes, next, byteOffset, areKept)
      steps.next()
      write = () => this.#writeLarge(steps)
    }
    if (!isRotated) void write()
    else
      this.#maintain(async () => {
        await this.#rotate()
        await write()
      })
  }

  #write(frame: Uint8Array): void {
    try {
      const end = this.#newest.end
      if (end + frame.length > this.#allocated) this.#extend(end + frame.length)
      writeAll(this.#files, this.#descriptor, frame, end)
      this.#flush()
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  /** Encodes and writes a large frame in turns. Never rejects. */
  async #writeLarge(steps: Generator<void, readonly Uint8Array[]>): Promise<void> {
    try {
      const pieces = await inSlices(steps)
      let end = this.#newest.end
      if (end + this.#size > this.#allocated) this.#extend(end + this.#size)
      const slice = new Slice()
      for (const piece of pieces) {
        for (let from = 0; from < piece.length;) {
          if (slice.isOver) await slice.next()
          const part = piece.subarray(from, from + PIECE_BYTES - (end % PIECE_BYTES))
          writeAll(this.#files, this.#descriptor, part, end)
          from += part.length
          end += part.length
        }
      }
      this.#flush()
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  #flush(): void {
    if (this.#flushes) this.#files.datasync(this.#descriptor, this.#flushed)
    else setImmediate(this.#flushed, null)
  }

  /**
   * Makes room for a frame that ends at `end`. It writes zeros, or the frame itself if it is larger than they would
   * be.
   */
  #extend(end: number): void {
    const extended = Math.min(this.#allocated + EXTENSION_BYTES, this.#segmentBytes)
    if (this.#flushes && end <= extended) {
      writeAll(this.#files, this.#descriptor, ZEROS.subarray(0, extended - this.#allocated), this.#allocated)
      this.#allocated = extended
    } else {
      this.#allocated = end
    }
  }

  readonly #flushed = (error: Error | null): void => {
    if (error !== null) {
      this.#fail(error)
      return
    }
    if (this.#failure !== undefined) return
    const done = this.#done!
    this.#done = undefined
    this.#offset++
    this.#newest.add(this.#offset, this.#size)
    done({ offset: this.#offset, events: this.#events as readonly never[] })
    if (this.#done === undefined) this.#idle?.()
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#idle?.()
    this.#failed(error)
  }

  #maintain(work: () => Promise<void>): void {
    this.#maintenance = this.#maintenance.then(async () => {
      if (this.#failure !== undefined) return
      try {
        await work()
      } catch (error) {
        this.#fail(error as Error)
      }
    })
  }

  async #rotate(): Promise<void> {
    const files = this.#files
    files.truncate(this.#descriptor, this.#newest.end)
    await synced(files, this.#descriptor)
    const next = new Segment(this.#folder, this.#offset + 1)
    const descriptor = files.open(next.path, 'wx+')
    writeAll(files, descriptor, encodeSegmentHeader(this.#storeId, next.first), 0)
    await synced(files, descriptor)
    await syncFolder(files, this.#folder)
    await this.#writeManifest(this.#segments[0]!.first, next.first)
    files.close(this.#descriptor)
    this.#segments.push(next)
    this.#newest = next
    this.#descriptor = descriptor
    this.#allocated = SEGMENT_HEADER_BYTES
  }

  #writeManifest(oldest: number, newest: number): Promise<void> {
    const bytes = encodeLogManifest(this.#storeId, { oldest, newest })
    return replaceFile(this.#files, logManifestPath(this.#folder), bytes)
  }

  /** Yields frames up to the one that is the last durable one at that time. Their payloads stay valid. */
  *read(offset: number): Generator<LogFrame, void, undefined> {
    for (let next = Math.max(1, offset); next <= this.#offset;) {
      const segment = this.#segments.findLast(({ first }) => first <= next)
      if (segment === undefined) throw new LogTrimmed(next, this.#segments[0]!.first)
      for (const frame of this.#readSegment(segment, next)) {
        yield frame
        next = frame.offset + 1
      }
    }
  }

  *#readSegment(segment: Segment, offset: number): Generator<LogFrame, void, undefined> {
    const descriptor = this.#files.open(segment.path, 'r')
    try {
      let byteOffset = segment.byteOffsetBefore(offset)
      let chunk: Buffer = Buffer.alloc(0)
      let chunkByteOffset = byteOffset
      let header: FrameHeader | undefined
      // Only durable frames are read, and the end moves while a reader runs.
      while (byteOffset < segment.end) {
        header = undefined
        let size = FRAME_HEADER_BYTES
        for (;;) {
          const at = byteOffset - chunkByteOffset
          if (at + size > chunk.length) {
            chunk = this.#readChunk(descriptor, byteOffset, Math.max(size, READ_BYTES), segment)
            chunkByteOffset = byteOffset
          } else if (header === undefined) {
            header = readHeader(chunk, at, this.#seed)
            if (header === undefined) throw damaged(segment, byteOffset)
            size = header.size
            if (byteOffset + size > segment.end) throw damaged(segment, byteOffset)
          } else {
            break
          }
        }
        const at = byteOffset - chunkByteOffset
        if (header.offset >= offset) {
          if (!isBodyWhole(chunk, at, header)) throw damaged(segment, byteOffset)
          yield { offset: header.offset, payload: readPayload(chunk, at, header) }
        }
        byteOffset += size
      }
    } finally {
      this.#files.close(descriptor)
    }
  }

  /** Reads into a new buffer each time, because the payloads that are handed out are views of it. */
  #readChunk(descriptor: number, byteOffset: number, wanted: number, segment: Segment): Buffer {
    const chunk = Buffer.allocUnsafeSlow(Math.min(wanted, segment.end - byteOffset))
    if (readAt(this.#files, descriptor, chunk, byteOffset) < chunk.length) throw damaged(segment, byteOffset)
    return chunk
  }

  /** Removes segments. The files are unlinked in the background, one call after the other. */
  trim(offset: number): void {
    this.#maintain(async () => {
      const kept = this.#segments.findIndex((_, i) => !((this.#segments[i + 1]?.first ?? Infinity) <= offset))
      if (kept <= 0) return
      await this.#writeManifest(this.#segments[kept]!.first, this.#newest.first)
      for (const segment of this.#segments.splice(0, kept)) await this.#files.unlinkBehind(segment.path)
      await syncFolder(this.#files, this.#folder)
    })
  }

  async files(): Promise<LogFiles> {
    await this.#maintenance
    const relative = (path: string): string => `${basename(this.#folder)}/${basename(path)}`
    const manifest = { oldest: this.#segments[0]!.first, newest: this.#segments.at(-1)!.first }
    return {
      offset: this.#offset,
      files: this.#segments.map(({ path, end }) => ({ name: relative(path), bytes: end })),
      manifest: {
        name: relative(logManifestPath(this.#folder)),
        text: encodeLogManifest(this.#storeId, manifest).toString(),
      },
    }
  }

  /** Waits for the append in flight. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#done !== undefined && this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve
      })
    }
    await this.#maintenance
    this.#files.close(this.#descriptor)
  }
}

function damaged(segment: Segment, byteOffset: number): LogDamaged {
  return new LogDamaged(segment.path, `the frame at byte ${byteOffset} is damaged`)
}
