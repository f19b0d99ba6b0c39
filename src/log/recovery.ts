/**
 * What is on disk when a log is opened: every frame that was ever acknowledged, or a {@link LogDamaged}.
 *
 * One append is in flight at a time, so every frame but the last of the newest segment is known to be durable, and
 * anything wrong with one is damage. At the end of the newest segment, the frame in flight at a crash may be there in
 * part. It was never acknowledged, and is cut off if it can be recognised: the file ends before the frame does, or a
 * part of it was never written (see frame.ts), and no frame follows it.
 */
import { LogDamaged } from './errors.ts'
import { readWhole } from './files.ts'
import type { Files } from './files.ts'
import type { FrameHeader } from './frame.ts'
import {
  ALIGNMENT_BYTES,
  FRAME_HEADER_BYTES,
  isBlank,
  isBodyUnwritten,
  isBodyWhole,
  isHeaderUnwritten,
  readHeader,
  storeSeed,
} from './frame.ts'
import {
  checkSegmentHeader,
  listSegments,
  logManifestPath,
  readLogManifest,
  SEGMENT_HEADER_BYTES,
  segmentPath,
} from './segments.ts'

/**
 * How many bytes lie between two entries of a segment's index, which is what a reader scans at most before its first
 * frame.
 */
const INDEX_STRIDE_BYTES = 64 * 1024

/** A segment in use. Its frames are `first` up to the next segment's first. */
export class Segment {
  readonly first: number
  readonly path: string
  /** The offset after its last durable frame. */
  end = SEGMENT_HEADER_BYTES
  readonly #offsets: number[] = []
  readonly #byteOffsets: number[] = []

  constructor(folder: string, first: number) {
    this.first = first
    this.path = segmentPath(folder, first)
  }

  /** Adds the durable frame at the segment's end. */
  add(offset: number, size: number): void {
    const last = this.#byteOffsets.at(-1)
    if (last === undefined || this.end - last >= INDEX_STRIDE_BYTES) {
      this.#offsets.push(offset)
      this.#byteOffsets.push(this.end)
    }
    this.end += size
  }

  /** The offset of a frame at or shortly before `offset`, which must be in the segment. */
  byteOffsetBefore(offset: number): number {
    let low = 0
    let high = this.#offsets.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#offsets[middle]! <= offset) low = middle + 1
      else high = middle
    }
    return this.#byteOffsets[low - 1] ?? SEGMENT_HEADER_BYTES
  }
}

export interface RecoveredLog {
  /** The segments, oldest first. There is at least one. */
  readonly segments: Segment[]
  /** The offset of the last complete frame; 0 if there is none. */
  readonly offset: number
  /** The last frame's bytes as stored, if it is in the newest segment. */
  readonly lastFrame: Uint8Array | undefined
  /** Whether something other than zeros follows the last frame in the newest segment; it must be cut off. */
  readonly torn: boolean
  /** Unused files that a crash left behind; they must be unlinked. */
  readonly leftovers: readonly string[]
}

/** Reads and checks the whole log in `folder`. Changes nothing. */
export function recoverLog(files: Files, folder: string, storeId: string): RecoveredLog {
  const manifest = readLogManifest(files, folder, storeId)
  const firsts = listSegments(files, folder)
  const leftovers = firsts
    .filter((first) => first < manifest.oldest)
    .map((first) => segmentPath(folder, first))
  const used = firsts.filter((first) => first >= manifest.oldest && first <= manifest.newest)
  const newer = firsts.filter((first) => first > manifest.newest)
  if (used[0] !== manifest.oldest) throw new LogDamaged(segmentPath(folder, manifest.oldest), 'is missing')
  if (used.at(-1) !== manifest.newest) {
    throw new LogDamaged(segmentPath(folder, manifest.newest), 'is missing')
  }

  const seed = storeSeed(storeId)
  const segments: Segment[] = []
  let next = manifest.oldest
  let tail: Tail = { lastFrame: undefined, torn: false }
  // One buffer serves all segments, because allocating memory for each would take longer than reading them.
  let buffer: Buffer = Buffer.alloc(0)
  for (const first of used) {
    if (first !== next) {
      throw new LogDamaged(segmentPath(folder, next), `is missing, or frames ${next} to ${first - 1} are`)
    }
    const segment = new Segment(folder, first)
    const bytes = readWhole(files, segment.path, buffer)
    if (bytes.length > buffer.length) buffer = bytes
    checkSegmentHeader(bytes, segment.path, storeId, first)
    const scanned = scan(bytes, segment, seed, first === manifest.newest)
    next = scanned.next
    tail = scanned
    segments.push(segment)
  }

  for (const first of newer) {
    const path = segmentPath(folder, first)
    if (first !== next) {
      throw new LogDamaged(path, `does not follow frame ${next - 1}, the last of ${logManifestPath(folder)}`)
    }
    if (findHeader(readWhole(files, path), SEGMENT_HEADER_BYTES, seed) !== undefined) {
      throw new LogDamaged(logManifestPath(folder), `is older than ${path}, which holds frames`)
    }
    leftovers.push(path)
  }
  return { segments, offset: next - 1, lastFrame: tail.lastFrame, torn: tail.torn, leftovers }
}

interface Tail {
  readonly lastFrame: Uint8Array | undefined
  readonly torn: boolean
}

/** Checks the frames of one segment and adds them to it. */
function scan(bytes: Buffer, segment: Segment, seed: number, newest: boolean): Tail & { next: number } {
  let next = segment.first
  let lastFrame: Uint8Array | undefined
  for (;;) {
    const byteOffset = segment.end
    if (byteOffset === bytes.length) return { next, lastFrame, torn: false }
    const header =
      byteOffset + FRAME_HEADER_BYTES <= bytes.length ? readHeader(bytes, byteOffset, seed) : undefined
    if (header !== undefined && header.offset !== next) {
      throw new LogDamaged(
        segment.path,
        `frame ${header.offset} at byte ${byteOffset}, expected frame ${next}`,
      )
    }
    const whole =
      header !== undefined &&
      byteOffset + header.size <= bytes.length &&
      isBodyWhole(bytes, byteOffset, header)
    if (!whole) {
      if (!newest || !isTorn(bytes, byteOffset, header, seed)) {
        throw new LogDamaged(segment.path, `frame ${next} at byte ${byteOffset} is damaged`)
      }
      return { next, lastFrame, torn: !isBlank(bytes, byteOffset, bytes.length) }
    }
    segment.add(next, header.size)
    lastFrame = bytes.subarray(byteOffset, segment.end)
    next++
  }
}

/** Whether the incomplete frame at `offset` was being written when the process or the machine stopped. */
function isTorn(bytes: Buffer, byteOffset: number, header: FrameHeader | undefined, seed: number): boolean {
  if (byteOffset + FRAME_HEADER_BYTES > bytes.length) return true
  if (header === undefined) {
    const rest = byteOffset + ALIGNMENT_BYTES
    return isHeaderUnwritten(bytes, byteOffset) && findHeader(bytes, rest, seed) === undefined
  }
  const end = byteOffset + header.size
  if (end > bytes.length) return true
  return isBodyUnwritten(bytes, byteOffset, header) && isBlank(bytes, end, bytes.length)
}

/** The offset of the first frame header at or after `from`. */
function findHeader(bytes: Buffer, from: number, seed: number): number | undefined {
  for (
    let byteOffset = from;
    byteOffset + FRAME_HEADER_BYTES <= bytes.length;
    byteOffset += ALIGNMENT_BYTES
  ) {
    if (readHeader(bytes, byteOffset, seed) !== undefined) return byteOffset
  }
  return undefined
}
