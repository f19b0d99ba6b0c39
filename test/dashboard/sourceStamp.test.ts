/** When the dashboard is built again: after a change of what it is made of, wherever that is. */
import { appendFileSync, cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sourceStamp } from '../../src/dashboard/sourceStamp.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const COPIED = ['dashboard/src', 'dashboard/build.ts', 'sdk/src', 'src/geometry', 'package-lock.json']

t.test('the stamp of the sources', (t) => {
  const copy = t.testdir()
  for (const path of COPIED) cpSync(join(ROOT, path), join(copy, path), { recursive: true })
  const stamp = () => sourceStamp(join(copy, 'dashboard'))
  const first = stamp()
  t.equal(stamp(), first)
  for (const path of [
    'dashboard/src/app.tsx',
    'dashboard/src/theme/base.css',
    'dashboard/build.ts',
    // Imported by pages, and by what pages import.
    'src/geometry/ringCrossing.ts',
    'sdk/src/client.ts',
    'sdk/src/stream/link.ts',
    'package-lock.json',
  ]) {
    const before = stamp()
    appendFileSync(join(copy, path), '\n')
    t.not(stamp(), before, `${path} has changed`)
  }
  const before = stamp()
  // The dashboard does not import these, or only for their types.
  appendFileSync(join(copy, 'src/geometry/polygonCoverage.ts'), '\n')
  appendFileSync(join(copy, 'sdk/src/webhook.ts'), '\n')
  mkdirSync(join(copy, 'dashboard', 'dist'))
  appendFileSync(join(copy, 'dashboard', 'dist', 'index.html'), '\n')
  t.equal(stamp(), before, 'what is not in a build does not change it')
  t.end()
})
