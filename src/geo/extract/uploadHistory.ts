import fs from 'node:fs'
import { join } from 'node:path'

/** The status of an import over HTTP. */
export type UploadStatus = 'uploading' | 'importing' | 'completed' | 'failed' | 'canceled' | 'interrupted'

/** An import of an extract that was sent to the server. */
export interface MapRegionUpload {
  readonly id: string
  /** The name of the map region. */
  readonly name: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  readonly finishedAt?: number | undefined
  readonly status: UploadStatus
  /** The bytes of the extract that have arrived so far. */
  readonly bytes: number
  /** The present stage, while the extract is imported. */
  readonly stage?: string | undefined
  /** How much of the stage is done, from 0 to 1. */
  readonly share?: number | undefined
  /** Why it did not complete. */
  readonly message?: string | undefined
  /** The parts of the extract that the region lacks, a sentence each. */
  readonly notes: readonly string[]
}

/** How many imports are kept: the newest ones. */
const MOST = 20

/** Whether it has not ended yet. */
export function isUnderWay({ status }: MapRegionUpload): boolean {
  return status === 'uploading' || status === 'importing'
}

/**
 * The newest imports over HTTP, in the file `imports.json` beside the regions, so that it is known after a crash which
 * one was in progress. The file is replaced at the beginning and the end of each import; the progress is only in memory.
 */
export class UploadHistory {
  readonly #path: string
  readonly #failed: (error: Error) => void
  #all: readonly MapRegionUpload[] = []

  /** @param failed called if the file cannot be read or written. The imports themselves do not depend on the file */
  constructor(folder: string, failed: (error: Error) => void) {
    this.#path = join(folder, 'imports.json')
    this.#failed = failed
    try {
      if (fs.existsSync(this.#path)) this.#all = parse(fs.readFileSync(this.#path, 'utf8'))
    } catch (error) {
      failed(error as Error)
    }
  }

  /** Newest first. */
  get all(): readonly MapRegionUpload[] {
    return this.#all
  }

  get(id: string): MapRegionUpload | undefined {
    return this.#all.find((one) => one.id === id)
  }

  /** Adds an import, or replaces the one with its id. */
  put(upload: MapRegionUpload): void {
    const at = this.#all.findIndex(({ id }) => id === upload.id)
    this.#all = at < 0 ? [upload, ...this.#all].slice(0, MOST) : this.#all.with(at, upload)
  }

  /** Writes the file. */
  save(): void {
    try {
      fs.writeFileSync(`${this.#path}.tmp`, `${JSON.stringify({ format: 1, imports: this.#all }, null, 2)}\n`)
      fs.renameSync(`${this.#path}.tmp`, this.#path)
    } catch (error) {
      this.#failed(error as Error)
    }
  }
}

function parse(text: string): readonly MapRegionUpload[] {
  const { format, imports } = JSON.parse(text) as { format?: unknown; imports?: unknown }
  if (format === 1 && Array.isArray(imports)) return imports as MapRegionUpload[]
  throw new Error('it is of another format')
}
