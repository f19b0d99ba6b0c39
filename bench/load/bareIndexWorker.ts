/**
 * The least that makes events findable: id, device, time and position in SQLite, in a thread of its own, one transaction
 * for each message. The text of an event stays in the log.
 */
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'

/** Events that one statement inserts. */
const MANY = 40
const COLUMNS = 5

const database = new Database(workerData as string)
database.pragma('page_size = 8192')
database.pragma('journal_mode = WAL')
database.pragma('synchronous = NORMAL')
database.exec(`
  CREATE TABLE events (id TEXT NOT NULL UNIQUE, device TEXT NOT NULL, time INTEGER, latitude REAL, longitude REAL);
  CREATE INDEX eventsByTime ON events (time);
`)
const insertOne = insertOf(1)
const insertMany = insertOf(MANY)

function insertOf(events: number): Database.Statement<unknown[]> {
  return database.prepare(
    `INSERT INTO events VALUES ${Array.from({ length: events }, () => '(?, ?, ?, ?, ?)').join()}`,
  )
}

parentPort!.on('message', (values: (string | number)[]) => {
  database.exec('BEGIN')
  let at = 0
  for (; at + MANY * COLUMNS <= values.length; at += MANY * COLUMNS)
    insertMany.run(values.slice(at, at + MANY * COLUMNS))
  for (; at < values.length; at += COLUMNS) insertOne.run(values.slice(at, at + COLUMNS))
  database.exec('COMMIT')
})
