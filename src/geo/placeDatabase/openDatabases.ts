interface Closable {
  close(): void
}

interface Open<Opened> {
  readonly database: Opened
  readonly stamp: string
}

/** The time between two checks of the files, in milliseconds. */
const LOOK_MS = 1000

/**
 * The databases of a thread, by file. Each is opened when it is first asked for, and again when its file has changed.
 * What was read of a file before it was overwritten does not fit what is read of it now.
 */
export class OpenDatabases<Opened extends Closable> {
  readonly #open: (file: string) => Opened
  readonly #stampOf: (file: string) => string
  readonly #lookMs: number
  readonly #opened = new Map<string, Open<Opened>>()
  #lookedAt = -Infinity

  /**
   * Starts without open databases.
   * @param stampOf returns a text that differs whenever the file is replaced or written
   * @param lookMs how often files are checked
   */
  constructor(open: (file: string) => Opened, stampOf: (file: string) => string, lookMs = LOOK_MS) {
    this.#open = open
    this.#stampOf = stampOf
    this.#lookMs = lookMs
  }

  /**
   * Closes the databases of all other files, and of files that have changed.
   * @returns whether it closed any
   */
  keep(files: readonly string[]): boolean {
    const now = performance.now()
    const looks = now - this.#lookedAt >= this.#lookMs
    if (looks) this.#lookedAt = now
    let hasClosed = false
    for (const [file, { stamp }] of this.#opened) {
      if (files.includes(file) && !(looks && this.#stampOf(file) !== stamp)) continue
      this.close(file)
      hasClosed = true
    }
    return hasClosed
  }

  /** Closes a database, for instance because it is damaged. */
  close(file: string): void {
    this.#opened.get(file)?.database.close()
    this.#opened.delete(file)
  }

  /**
   * The database of a file.
   * @throws the errors of opening it
   */
  at(file: string): Opened {
    let open = this.#opened.get(file)
    if (open === undefined) {
      open = { stamp: this.#stampOf(file), database: this.#open(file) }
      this.#opened.set(file, open)
    }
    return open.database
  }
}
