import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { openSqlite, SqliteFileForeign, SqliteFileTooNew } from '../../src/runtime/sqlite.ts'
import type { SqliteFormat } from '../../src/runtime/sqlite.ts'

const FORMAT: SqliteFormat = {
  applicationId: 0x54455354,
  schema: 'CREATE TABLE a (x); CREATE TABLE b (y); CREATE TABLE c (z)',
  upgrades: ['CREATE TABLE b (y)', 'CREATE TABLE c (z)'],
  pageBytes: 8192,
  settings: ['synchronous = FULL'],
}

let files = 0
const folder = t.testdir()
const newFile = () => join(folder, `${++files}.sqlite`)
const tablesOf = (database: Database.Database) =>
  database.prepare('SELECT name FROM sqlite_schema ORDER BY name').pluck().all()
const pragma = (database: Database.Database, name: string) => database.pragma(name, { simple: true })

t.test('a new file has the tables, the header and the settings', (t) => {
  const database = openSqlite(newFile(), FORMAT)
  t.strictSame(tablesOf(database), ['a', 'b', 'c'])
  t.strictSame(
    ['application_id', 'user_version', 'page_size', 'journal_mode', 'synchronous'].map((name) =>
      pragma(database, name),
    ),
    [0x54455354, 3, 8192, 'wal', 2],
  )
  database.close()
  t.end()
})

t.test('an older file of any version gets what it lacks', (t) => {
  for (const version of [1, 2]) {
    const file = newFile()
    openSqlite(file, {
      ...FORMAT,
      schema: ['CREATE TABLE a (x)', ...FORMAT.upgrades].slice(0, version).join(';'),
      upgrades: FORMAT.upgrades.slice(0, version - 1),
    }).close()
    const database = openSqlite(file, FORMAT)
    t.strictSame(tablesOf(database), ['a', 'b', 'c'], `from version ${version}`)
    t.equal(pragma(database, 'user_version'), 3)
    database.close()
  }
  t.end()
})

t.test('an upgrade that fails changes nothing', (t) => {
  const file = newFile()
  openSqlite(file, { ...FORMAT, schema: 'CREATE TABLE a (x)', upgrades: [] }).close()
  const broken = { ...FORMAT, upgrades: ['CREATE TABLE b (y)', 'CREATE TABLE'] }
  t.throws(() => openSqlite(file, broken), { code: 'SQLITE_ERROR' })
  const database = new Database(file)
  t.strictSame(tablesOf(database), ['a'])
  t.equal(pragma(database, 'user_version'), 1)
  database.close()
  t.end()
})

t.test('a foreign file, or one of a newer version, is refused and not changed', (t) => {
  const foreign = newFile()
  new Database(foreign).exec('CREATE TABLE theirs (x)').close()
  const newer = newFile()
  openSqlite(newer, { ...FORMAT, upgrades: [...FORMAT.upgrades, ''] }).close()
  const before = [foreign, newer].map((file) => readFileSync(file))
  t.throws(() => openSqlite(foreign, FORMAT), SqliteFileForeign)
  t.throws(() => openSqlite(newer, FORMAT), SqliteFileTooNew)
  t.throws(() => openSqlite(newer, FORMAT), { message: 'format 4 is newer than 3' })
  t.strictSame(
    [foreign, newer].map((file) => readFileSync(file)),
    before,
  )
  t.end()
})

t.test('a file that is opened exclusively is refused to others until it is closed', (t) => {
  const file = newFile()
  openSqlite(file, FORMAT, 0).close()
  const held = openSqlite(file, FORMAT, 0)
  t.throws(() => openSqlite(file, FORMAT, 0), { code: 'SQLITE_BUSY' })
  t.throws(() => new Database(file, { timeout: 0 }).prepare('SELECT * FROM a').all(), { code: 'SQLITE_BUSY' })
  held.close()
  openSqlite(file, FORMAT, 0).close()
  t.end()
})
