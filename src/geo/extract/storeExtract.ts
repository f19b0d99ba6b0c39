import { open } from 'node:fs/promises'
import { Writable, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ApiError } from '../../runtime/errors.ts'
import { beginsLikeExtract, MOST_BEGINNING_BYTES } from './osmPbfBlobs.ts'

/** Pieces that are smaller than this share their memory with others. */
const LARGE_PIECE_BYTES = 64 << 10

/**
 * Stores an extract while it arrives, and refuses it as soon as it is clear that it is not an extract.
 * @param path of a new file, which stays if this fails
 * @param onBytes called with the number of bytes so far, before each piece is stored. An error that it throws ends this
 * @throws ApiError 400 for a file of another kind; what the file throws, the reason of the signal, the system's errors
 */
export async function storeExtract(
  file: Readable,
  path: string,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const stored = await open(path, 'wx', 0o600)
  const beginning = new Beginning()
  let bytes = 0
  const store = async (piece: Buffer, done: (error?: Error) => void): Promise<void> => {
    try {
      bytes += piece.length
      onBytes(bytes)
      beginning.check(piece)
      await stored.appendFile(piece)
      letGo(piece)
    } catch (error) {
      done(error as Error)
      return
    }
    done()
  }
  const target = new Writable({
    // This stores one piece at a time, because a stream that is piped passes on its pieces as they came.
    highWaterMark: 1,
    write(piece: Buffer, _encoding, done) {
      void store(piece, done)
    },
    final(done) {
      if (bytes === 0) done(new ApiError(400, 'body: The file is empty.', { param: 'body' }))
      else done(beginning.isKnown ? null : notAnExtract())
    },
  })
  try {
    await pipeline(file, target, { signal })
  } finally {
    await stored.close()
  }
}

/** The first bytes of a file, until it is known whether it may be an extract. */
class Beginning {
  readonly #pieces: Buffer[] = []
  #bytes = 0
  /** 0: it may be one. */
  #needed = 1

  get isKnown(): boolean {
    return this.#needed === 0
  }

  /** @throws ApiError 400 if it is none */
  check(piece: Buffer): void {
    if (this.isKnown) return
    // Only a copy is kept, so the memory of the piece can be released.
    this.#pieces.push(Buffer.from(piece.subarray(0, MOST_BEGINNING_BYTES)))
    this.#bytes += piece.length
    while (this.#needed > 0 && this.#bytes >= this.#needed) {
      const isExtract = beginsLikeExtract(Buffer.concat(this.#pieces))
      if (isExtract === false) throw notAnExtract()
      this.#needed = isExtract === true ? 0 : isExtract
    }
  }
}

/**
 * Releases the memory of a piece at once. When this was left to the garbage collector, the pieces of a large file took
 * hundreds of megabytes on a busy machine.
 */
function letGo(piece: Buffer): void {
  const { buffer } = piece
  if (piece.length >= LARGE_PIECE_BYTES && piece.length === buffer.byteLength)
    (buffer as ArrayBuffer).transfer(0)
}

function notAnExtract(): ApiError {
  return new ApiError(400, 'body: The file is not an OpenStreetMap PBF file.', { param: 'body' })
}
