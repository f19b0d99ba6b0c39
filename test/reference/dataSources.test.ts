/** The page of data sources is of what is installed: every set is on it, with its version, and nothing else. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CHAIN_PACKAGE } from '../../src/geo/extract/chainFiles.ts'
import { IP_PACKAGES } from '../../src/geo/ip/packageFile.ts'
import { WORLD_PACKAGES } from '../../src/geo/world/schema.ts'
import { packageFolder, packageVersion } from '../../src/runtime/packageFolder.ts'

const ROOT = join(import.meta.dirname, '../..')
const page = readFileSync(join(ROOT, 'docs/guides/data.md'), 'utf8')
const rows = page.split('\n').filter((line) => line.startsWith('| `'))

/** Programs, not data. */
const PROGRAMS = new Set(['topojson-client'])

t.test('every set of data has a row with its version', async (t) => {
  const sets = [
    ...WORLD_PACKAGES,
    ...IP_PACKAGES,
    CHAIN_PACKAGE,
    '@mapbox/mvt-fixtures',
    '@rapideditor/country-coder',
    '@photostructure/tz-lookup',
    '@fragaria/address-formatter',
    '@fontsource/noto-sans',
    '@mapbox/maki',
  ].filter((name) => !PROGRAMS.has(name))
  for (const name of sets) {
    const row = rows.find((line) => line.includes(`\`${name}\``))
    const version = packageVersion(name, packageFolder(name)!).slice(name.length + 1)
    t.ok(row?.includes(version), `${name} ${version}: ${row}`)
  }
})

t.test('every row is complete, and what it names is there', async (t) => {
  t.ok(rows.length > 15)
  for (const row of rows) {
    const cells = row.split('|').slice(1, -1)
    t.equal(cells.length, 5, row)
    for (const cell of cells) t.match(cell, /\S/, row)
    for (const [, name] of cells[0]!.matchAll(/`([^`]+)`/g))
      t.ok(
        /^(?:src|facts)\//.test(name!) ? existsSync(join(ROOT, name!)) : packageFolder(name!) !== undefined,
        name!,
      )
  }
})
