/** Several processes that build the dashboard at once in one clone, as the servers of two `npm start` do. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { BuiltDashboard } from '../../src/dashboard/builtDashboard.ts'
import { sourceStamp, STAMP_FILE } from '../../src/dashboard/sourceStamp.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { NODE_OPTIONS } from '../kit/nodeOptions.ts'

const ROOT = join(import.meta.dirname, '..', '..')
/** What the dashboard is made of. */
const PARTS = [
  'tsconfig.json',
  'package.json',
  'package-lock.json',
  'sdk/package.json',
  'sdk/src',
  'src',
  ...['build.ts', 'index.html', 'src', 'tsconfig.json', 'vite.config.ts'].map((name) => `dashboard/${name}`),
]
const BUILDERS = 3
const HOURS_MS = 3_600_000

// Below the checkout, so that its packages are found.
mkdirSync(join(ROOT, 'data'), { recursive: true })
const clone = mkdtempSync(join(ROOT, 'data', 'clone-'))
t.teardown(() => rmSync(clone, { recursive: true, force: true }))
for (const part of PARTS) cpSync(join(ROOT, part), join(clone, part), { recursive: true })
const folder = join(clone, 'dashboard')
const style = join(folder, 'src', 'theme', 'base.css')

/** Runs the program that makes the files. Resolves with what it said, and how it ended. */
async function build(): Promise<{ readonly code: number; readonly said: string }> {
  const child = spawn(process.execPath, [join(folder, 'build.ts')], {
    env: { ...process.env, NODE_OPTIONS },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  const [code] = (await once(child, 'close')) as [number]
  return { code, said }
}

/** What a server that has just started would serve: the page, and the names of the files that it needs. */
function served(): { readonly dashboard: BuiltDashboard; readonly names: readonly string[] } | undefined {
  const dashboard = new BuiltDashboard(folder, createLogger('silent'))
  const page = dashboard.page()?.encodings.get('identity')
  if (page === undefined) return undefined
  const text = Buffer.from(page).toString()
  return {
    dashboard,
    names: [...text.matchAll(/(?:src|href)="\/assets\/([^"]+)"/g)].map(([, name]) => name!),
  }
}

/** What lies beside the build. */
function besides(): string[] {
  return readdirSync(folder).filter((name) => name.startsWith('dist.'))
}

for (const before of ['no build', 'a build of older sources'])
  t.test(`${BUILDERS} builds at once over ${before}`, async (t) => {
    if (before !== 'no build') appendFileSync(style, '.newer {\n  top: 1px;\n}\n')
    const older = served()?.names
    const over = new AbortController()
    const builders = Promise.all(Array.from({ length: BUILDERS }, build)).finally(() => over.abort())
    let looks = 0
    while (!over.signal.aborted) {
      const now = served()
      if (now !== undefined) {
        looks++
        for (const name of now.names)
          if (now.dashboard.asset(name) === undefined) t.fail(`the page names ${name}, which is not there`)
      }
      await sleep(5)
    }
    for (const { code, said } of await builders) t.equal(code, 0, said)
    t.ok(looks > 0, `${looks} looks while they were built`)
    t.equal(readFileSync(join(folder, 'dist', STAMP_FILE), 'utf8'), sourceStamp(folder))
    t.strictSame(besides(), [])
    const { dashboard, names } = served()!
    t.ok(names.length >= 2, `the page needs ${names.join(', ')}`)
    if (older !== undefined) t.notSame(names, older)
    const all = readdirSync(join(folder, 'dist', 'assets')).filter((name) => /\.(?:js|css|svg)$/.test(name))
    t.ok(all.length > 20, `${all.length} files`)
    t.strictSame(
      all.filter((name) => !dashboard.asset(name)?.encodings.has('identity')),
      [],
    )
  })

t.test('what is built is not built again', async (t) => {
  const file = join(folder, 'dist', 'index.html')
  appendFileSync(file, '<!-- the same file -->')
  t.equal((await build()).code, 0)
  t.match(readFileSync(file, 'utf8'), 'the same file')
})

t.test('what a killed build has left is removed, and what another one makes is not', async (t) => {
  const [old, recent] = ['dist.1', 'dist.2-before'].map((name) => join(folder, name)) as [string, string]
  for (const path of [old, recent]) mkdirSync(path)
  appendFileSync(join(old, 'index.html'), 'half')
  const then = new Date(Date.now() - 2 * HOURS_MS)
  utimesSync(old, then, then)
  appendFileSync(style, '\n')
  const { code, said } = await build()
  t.equal(code, 0, said)
  t.equal(existsSync(old), false)
  t.strictSame(besides(), ['dist.2-before'])
})
