import type { RegistryDatabase } from './database.ts'

/** Entries of the edit log that cannot be understood, until another entry has their name. */
export class UnreadableEntries {
  readonly #reasons: Map<string, string>
  readonly #insert
  readonly #delete

  constructor(database: RegistryDatabase) {
    this.#insert = database.prepare('INSERT OR REPLACE INTO unreadable VALUES (?, ?)')
    this.#delete = database.prepare('DELETE FROM unreadable WHERE entry = ?')
    const all = database.prepare('SELECT entry, reason FROM unreadable')
    const rows = database.read(() => all.all()) as { entry: string; reason: string }[]
    this.#reasons = new Map(rows.map(({ entry, reason }) => [entry, reason]))
  }

  /** The reasons, by name. */
  get all(): ReadonlyMap<string, string> {
    return this.#reasons
  }

  add(name: string, reason: string): void {
    this.#insert.run(name, reason)
    this.#reasons.set(name, reason)
  }

  remove(name: string): void {
    if (this.#reasons.delete(name)) this.#delete.run(name)
  }
}
