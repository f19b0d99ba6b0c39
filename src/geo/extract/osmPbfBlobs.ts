import { open, type FileHandle } from 'node:fs/promises'
import { inflateSync } from 'node:zlib'
import protobuf from 'protobufjs/minimal.js'

/** The file cannot be imported; the sentence says why. */
export class ExtractRefused extends Error {
  override name = 'ExtractRefused'
}

/** A block of an OSM PBF file, unpacked. */
export interface OsmBlob {
  /** The type: `OSMHeader` for the first block, then `OSMData`. Readers ignore other types. */
  readonly type: string
  readonly content: Uint8Array
  /** The position in the file after the block. */
  readonly position: number
}

/** The largest size that the format allows. */
const MAX_HEADER_BYTES = 64 << 10
const MAX_BLOB_BYTES = 32 << 20
/** The most bytes that {@link beginsLikeExtract} needs. */
export const MOST_BEGINNING_BYTES = MAX_HEADER_BYTES + 4

/**
 * The blocks of an OSM PBF file in order, https://wiki.openstreetmap.org/wiki/PBF_Format.
 * @param hear called with all bytes of the file in order
 * @param from where to begin: 0, or the end of a block
 * @throws {ExtractRefused} and the system's errors
 */
export async function* osmPbfBlobs(
  path: string,
  hear: (bytes: Uint8Array) => void,
  from = 0,
): AsyncGenerator<OsmBlob> {
  const file = await open(path)
  try {
    let position = from
    const take = async (bytes: number): Promise<Buffer> => {
      const part = await readFully(file, position, bytes)
      hear(part)
      position += part.length
      return part
    }
    for (let isFirst = from === 0; ; isFirst = false) {
      const refuse = (cause?: unknown): ExtractRefused => {
        if (cause instanceof ExtractRefused) return cause
        return new ExtractRefused(`${path} ${isFirst ? 'is not an OpenStreetMap PBF file' : 'is damaged'}.`, {
          cause,
        })
      }
      const cut = new ExtractRefused(`${path} is incomplete: it ends in the middle.`)
      const size = await take(4)
      if (size.length === 0 && isFirst) throw new ExtractRefused(`${path} is empty.`)
      if (size.length === 0) return
      if (size.length < 4 || size.readUInt32BE() > MAX_HEADER_BYTES)
        throw size.length < 4 && !isFirst ? cut : refuse()
      const header = await take(size.readUInt32BE())
      if (header.length < size.readUInt32BE()) throw isFirst ? refuse() : cut
      const { type, bytes } = attempt(() => blobHeader(header), refuse)
      if (bytes < 0 || bytes > MAX_BLOB_BYTES || isFirst !== (type === 'OSMHeader')) throw refuse()
      const blob = await take(bytes)
      if (blob.length < bytes) throw cut
      yield { type, content: attempt(() => unpack(blob, path), refuse), position }
    }
  } finally {
    await file.close()
  }
}

/**
 * Whether a file that begins with these bytes may be an OSM PBF file, or how many bytes are needed to decide that. So a
 * file of another kind is refused before gigabytes of it have been sent.
 */
export function beginsLikeExtract(bytes: Buffer): boolean | number {
  if (bytes.length < 4) return 4
  const size = bytes.readUInt32BE()
  if (size > MAX_HEADER_BYTES) return false
  if (bytes.length < 4 + size) return 4 + size
  try {
    return blobHeader(bytes.subarray(4, 4 + size)).type === 'OSMHeader'
  } catch {
    return false
  }
}

function attempt<Result>(action: () => Result, refuse: (cause: unknown) => Error): Result {
  try {
    return action()
  } catch (error) {
    throw refuse(error)
  }
}

/** Reads bytes. At the end of the file there may be fewer. */
async function readFully(file: FileHandle, position: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes)
  let read = 0
  while (read < bytes) {
    const { bytesRead } = await file.read(buffer, read, bytes - read, position + read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return buffer.subarray(0, read)
}

function blobHeader(header: Uint8Array): { type: string; bytes: number } {
  const reader = protobuf.Reader.create(header)
  let type = ''
  let bytes = -1
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag >>> 3 === 1) type = reader.string()
    else if (tag >>> 3 === 3) bytes = reader.int32()
    else reader.skipType(tag & 7)
  }
  return { type, bytes }
}

function unpack(blob: Uint8Array, path: string): Uint8Array {
  const reader = protobuf.Reader.create(blob)
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    const field = tag >>> 3
    if (field === 1) return reader.bytes()
    if (field === 3) return inflateSync(reader.bytes(), { maxOutputLength: MAX_BLOB_BYTES })
    if ((tag & 7) === 2) throw new ExtractRefused(`${path} is compressed with a method other than zlib.`)
    reader.skipType(tag & 7)
  }
  throw new Error('The blob holds nothing.')
}
