import { open, type FileHandle } from 'node:fs/promises'
import { osmPbfBlobs } from './osmPbfBlobs.ts'
import { objectsIn, typesIn, withOnly, type OsmObject } from './osmPbfObjects.ts'
import { writeBlob } from './osmPbfWriter.ts'

/** A block of objects in a file. */
export interface ExtractBlock {
  /** The position of its first byte in the file. */
  readonly start: number
  readonly end: number
  /** The kinds of objects in it. */
  readonly types: ReadonlySet<OsmObject['type']>
  /** The indexes of the objects that are kept; undefined if all are. */
  readonly kept?: ReadonlySet<number>
}

const COPY_BYTES = 4 << 20

/** Reads the parts of an OSM PBF file, and writes new files with some of them. */
export class ExtractParts {
  readonly path: string
  readonly blocks: readonly ExtractBlock[]
  /** The position after the header. */
  readonly #headerEnd: number

  private constructor(path: string, headerEnd: number, blocks: readonly ExtractBlock[]) {
    this.path = path
    this.blocks = blocks
    this.#headerEnd = headerEnd
  }

  /**
   * Reads the file once.
   * @throws ExtractRefused, the signal's reason and the system's errors
   */
  static async of(path: string, signal: AbortSignal): Promise<ExtractParts> {
    const blocks: ExtractBlock[] = []
    let headerEnd = 0
    let start = 0
    for await (const { type, content, position } of osmPbfBlobs(path, () => {})) {
      signal.throwIfAborted()
      if (type === 'OSMHeader') headerEnd = position
      else if (type === 'OSMData') blocks.push({ start, end: position, types: typesIn(content) })
      start = position
    }
    return new ExtractParts(path, headerEnd, blocks)
  }

  /** All objects of a block, including those that are not kept. */
  async objects(block: ExtractBlock): Promise<OsmObject[]> {
    return objectsIn(await this.#content(block))
  }

  /**
   * Writes the header and these blocks, replacing what is at the path.
   * @throws the system's errors
   */
  async write(path: string, blocks: readonly ExtractBlock[]): Promise<void> {
    const from = await open(this.path)
    const to = await open(path, 'w')
    try {
      await copy(from, to, 0, this.#headerEnd)
      for (const block of blocks) {
        if (block.kept === undefined) await copy(from, to, block.start, block.end)
        else writeBlob(to.fd, 'OSMData', withOnly(await this.#content(block), block.kept))
      }
    } finally {
      await to.close()
      await from.close()
    }
  }

  async #content({ start }: ExtractBlock): Promise<Uint8Array> {
    for await (const { content } of osmPbfBlobs(this.path, () => {}, start)) return content
    throw new Error(`${this.path} has become shorter.`)
  }
}

async function copy(from: FileHandle, to: FileHandle, start: number, end: number): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, end - start))
  for (let at = start; at < end;) {
    const { bytesRead } = await from.read(buffer, 0, Math.min(buffer.length, end - at), at)
    if (bytesRead === 0) throw new Error('The extract has become shorter.')
    // Unlike write(), this writes all of it.
    await to.appendFile(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
}
