import { readFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'

/** Milliseconds between two writes of the file. */
const SAVE_MS = 1000

/** The file was not written by this program, or is damaged. */
export class OffsetDamaged extends Error {
  override readonly name = 'OffsetDamaged'
}

/**
 * The offset in the event log up to which NATS has acknowledged, in a small file of the data folder.
 *
 * It lags by a second, and the stream itself is more exact (see `natsBridge.ts`). It is used if the stream is empty
 * because its events have expired or were consumed.
 */
export class NatsOffset {
  readonly #file: string
  readonly #failed: (error: Error) => void
  #offset: number
  #saved: number | undefined
  #timer: NodeJS.Timeout | undefined
  #saving: Promise<void> = Promise.resolve()

  /**
   * Reads the file.
   * @param first used if there is no file: the end of the log at the first start with a bridge
   * @param failed called if the file cannot be written; the next offset tries again
   * @throws {OffsetDamaged} if the file was not written by this program
   */
  constructor(file: string, first: number, failed: (error: Error) => void) {
    this.#file = file
    this.#failed = failed
    this.#saved = readOffset(file)
    this.#offset = this.#saved ?? first
  }

  get value(): number {
    return this.#offset
  }

  /** Stores an offset. It is on the disk within a second, or after {@link save}. */
  set(offset: number): void {
    this.#offset = offset
    this.#timer ??= setTimeout(() => void this.save(), SAVE_MS)
  }

  /** Resolves once the offset is on the disk, or could not be written. */
  save(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#saving = this.#saving.then(async () => {
      if (this.#saved === this.#offset) return
      const offset = this.#offset
      try {
        await replaceFile(this.#file, `${JSON.stringify({ format: 1, place: offset })}\n`)
        this.#saved = offset
      } catch (error) {
        this.#failed(error as Error)
      }
    })
    return this.#saving
  }
}

function readOffset(file: string): number | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  let found: { readonly format?: unknown; readonly place?: unknown } | null
  try {
    found = JSON.parse(text)
  } catch {
    found = null
  }
  if (found?.format !== 1 || !Number.isSafeInteger(found.place) || (found.place as number) < 0) {
    throw new OffsetDamaged(`${file} is damaged: it must hold {"format":1,"place":<whole number>}.`)
  }
  return found.place as number
}

/** Replaces the file so that after a crash it has either the old text or the new one. */
async function replaceFile(file: string, text: string): Promise<void> {
  const handle = await open(`${file}.tmp`, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${file}.tmp`, file)
}
