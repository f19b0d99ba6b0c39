interface Closable {
  close(): void
}

/** The databases of a thread, by file: each is opened when it is asked for first. */
export class OpenDatabases<Opened extends Closable> {
  readonly #open: (file: string) => Opened
  readonly #opened = new Map<string, Opened>()

  constructor(open: (file: string) => Opened) {
    this.#open = open
  }

  /** Closes those of all other files. */
  keep(files: readonly string[]): void {
    for (const [file, database] of this.#opened) {
      if (files.includes(file)) continue
      database.close()
      this.#opened.delete(file)
    }
  }

  /** @throws the errors of opening it */
  at(file: string): Opened {
    let database = this.#opened.get(file)
    if (database === undefined) {
      database = this.#open(file)
      this.#opened.set(file, database)
    }
    return database
  }
}
