/** Files of packages that install/packData.ts has compressed. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import t from 'tap'
import { addAirports, AIRPORT_PACKAGE, AIRPORT_SCHEMA } from '../../src/geo/world/airports.ts'
import { packageFolder } from '../../src/runtime/packageFolder.ts'
import {
  isPacked,
  packedModule,
  packedPath,
  readPacked,
  readPackedText,
} from '../../src/runtime/packedFile.ts'
import { createSqlite } from '../../src/runtime/sqlite.ts'

/** As fast as it can be. */
function packed(bytes: Buffer): Buffer {
  return brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })
}

t.test('the compressed form is taken where the file itself is not there', async (t) => {
  const folder = t.testdir({ both: 'as it is', 'both.br': 'not looked at' })
  writeFileSync(join(folder, 'only.br'), packed(Buffer.from('Montevideo – ciudad')))
  t.equal(packedPath(join(folder, 'both')), join(folder, 'both'))
  t.equal(readPackedText(join(folder, 'both')), 'as it is')
  const path = packedPath(join(folder, 'only'))
  t.equal(path, join(folder, 'only.br'))
  t.ok(isPacked(path) && !isPacked(join(folder, 'both')))
  t.equal(readPackedText(path), 'Montevideo – ciudad')
  t.equal((await readPacked(path)).toString(), 'Montevideo – ciudad')
  const neither = packedPath(join(folder, 'neither'))
  t.equal(neither, join(folder, 'neither'), 'an error names the file that should be there')
  t.throws(() => readPackedText(neither), /ENOENT/)
  t.throws(() => readPackedText(join(folder, 'both.br')), 'not compressed')
  t.throws(() => packedModule('no-such-package/file.json'), { code: 'MODULE_NOT_FOUND' })
})

t.test('airports of the compressed file are those of the file', async (t) => {
  const folder = packageFolder(AIRPORT_PACKAGE)!
  const compressed = t.testdir()
  mkdirSync(join(compressed, 'dist'))
  const bytes = readFileSync(join(folder, 'dist/airports.sqlite'))
  writeFileSync(join(compressed, 'dist/airports.sqlite.br'), packed(bytes))
  const [plain, unpacked] = [folder, compressed].map((from, i) => {
    const database = createSqlite(join(compressed, `${i}.sqlite`))
    t.teardown(() => database.close())
    database.exec(AIRPORT_SCHEMA)
    addAirports(database, from)
    return database.prepare('SELECT * FROM airport JOIN airport_box USING (id)').all()
  })
  t.ok(plain!.length > 8000, `${plain!.length} airports`)
  t.strictSame(unpacked, plain)
})
