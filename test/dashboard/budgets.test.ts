/**
 * How many bytes a browser loads, compressed with gzip: what a page imports at once, and what it loads with a map. And how many the
 * pictures of the pages have.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildDashboard, DASHBOARD } from './kit.ts'
import { MOST_PICTURE_BYTES } from './pictureCity.ts'

const KILOBYTE = 1000
const ASSETS = join(DASHBOARD, 'dist', 'assets')

t.test('the sizes of pages', async (t) => {
  buildDashboard()
  const index = readFileSync(join(DASHBOARD, 'dist', 'index.html'), 'utf8')
  const first = [...index.matchAll(/\/assets\/([^"]+)/g)].map(([, name]) => name!)
  const names = readdirSync(ASSETS).filter((name) => /\.(js|css)$/.test(name))

  /** The files that these import at once, and the styles of the same names. */
  const withImports = (roots: readonly string[]): Set<string> => {
    const found = new Set<string>()
    const visit = (name: string) => {
      if (found.has(name)) return
      found.add(name)
      if (!name.endsWith('.js')) return
      const text = readFileSync(join(ASSETS, name), 'utf8')
      for (const [, imported] of text.matchAll(/(?:from|import)\s*["'`]\.\/([\w.-]+\.js)["'`]/g))
        visit(imported!)
    }
    for (const root of roots) visit(root)
    for (const name of found) {
      const stem = name.replace(/-[\w-]{8}\.js$/, '')
      for (const style of names) if (style.endsWith('.css') && style.startsWith(`${stem}-`)) found.add(style)
    }
    return found
  }
  const sizeOf = (found: Iterable<string>) =>
    [...found].reduce((sum, name) => {
      const file = join(ASSETS, name)
      return sum + statSync(/\.(js|css)$/.test(name) ? `${file}.gz` : file).size
    }, 0)
  const pageOf = (name: string) => names.filter((file) => new RegExp(`^${name}-.*\\.js$`).test(file))

  const signIn = sizeOf(withImports(first))
  t.ok(signIn > 10 * KILOBYTE && signIn <= 60 * KILOBYTE, `sign-in: ${signIn} bytes`)
  for (const page of [
    'usersPage',
    'eventsPage',
    'settingsPage',
    'webhooksPage',
    'keysPage',
    'membersPage',
    'auditPage',
    'systemPage',
    'syncPage',
    'importsPage',
  ]) {
    const found = pageOf(page)
    t.equal(found.length, 1, page)
    const bytes = sizeOf(withImports([...first, ...found]))
    t.ok(bytes <= 150 * KILOBYTE, `${page}: ${bytes} bytes`)
  }
  // By its content: the name of a file is that of the first module in it.
  const scripts = names.filter(
    (name) => name.endsWith('.js') && readFileSync(join(ASSETS, name), 'utf8').includes('maplibregl-'),
  )
  const stems = scripts.map((name) => name.replace(/-[\w-]{8}\.js$/, ''))
  const map = names.filter(
    (name) =>
      scripts.includes(name) ||
      name.startsWith('maplibre-gl-worker-') ||
      (name.endsWith('.css') && stems.some((stem) => name.startsWith(`${stem}-`))),
  )
  t.ok(map.length >= 2, map.join(', '))
  const bytes = sizeOf(map)
  t.ok(bytes > 300 * KILOBYTE && bytes <= 460 * KILOBYTE, `the map and its thread: ${bytes} bytes`)
})

t.test('the pictures of pages are small, and none is missing', (t) => {
  const folder = join(DASHBOARD, '..', 'docs', 'images')
  const gallery = readFileSync(join(folder, 'README.md'), 'utf8')
  const named = [...gallery.matchAll(/src="([\w-]+\.webp)"/g)].map(([, name]) => name!)
  const there = readdirSync(folder).filter((name) => name.endsWith('.webp'))
  t.strictSame(there.toSorted(), named.toSorted(), 'the gallery shows each')
  t.ok(named.length >= 80, `${named.length} pictures`)
  for (const name of named) {
    const { size } = statSync(join(folder, name))
    t.ok(size > 1000 && size <= MOST_PICTURE_BYTES, `${name}: ${size} bytes`)
  }
  t.end()
})
