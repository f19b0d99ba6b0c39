import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { doubleNames, layerViolations, mutualImports, tableFaults } from './kit/layers.ts'
import { ALLOWED_STATE, moduleState, stateFaults } from './kit/moduleState.ts'

const ROOT = new URL('../', import.meta.url)

/** The source files below folders of the repository, by their paths. */
function sourcesIn(...folders: readonly string[]): Map<string, string> {
  const sources = new Map<string, string>()
  for (const folder of folders) {
    const paths = readdirSync(fileURLToPath(new URL(folder, ROOT)), { recursive: true, encoding: 'utf8' })
    for (const path of paths) {
      const name = `${folder}/${path.replaceAll('\\', '/')}`
      // What browsers load is served as it is: no file of the server imports it.
      if (/\.[cm]?[jt]sx?$/.test(name) && !name.startsWith('src/reference/browser/'))
        sources.set(name, readFileSync(new URL(name, ROOT), 'utf8'))
    }
  }
  return sources
}

t.test('src/ follows the import rules', async (t) => {
  const sources = sourcesIn('src')
  t.ok(sources.size > 10, 'the sources were found')
  t.strictSame(layerViolations(sources), [])
  t.strictSame(tableFaults(sources), [])
  t.strictSame(mutualImports(sources), [])
})

t.test('no two files of the server, the dashboard or the SDK export the same name', async (t) => {
  t.strictSame(doubleNames(sourcesIn('src', 'workers', 'config')), [])
  t.strictSame(doubleNames(sourcesIn('dashboard/src')), [])
  t.strictSame(doubleNames(sourcesIn('sdk/src')), [])
})

t.test('modules keep nothing for the whole process but what is listed', async (t) => {
  t.strictSame(stateFaults(sourcesIn('src', 'workers', 'config')), [])
  t.ok(ALLOWED_STATE.length > 50)
})

t.test('what a module keeps for the whole process is seen', async (t) => {
  const STATE = [
    'let a = 0',
    'export let a: string | undefined',
    'var a = 1',
    'const a = new Map<string, number>()',
    'export const a = new WeakMap<object, string>()',
    'const a: Map<string, number> = new Map()',
    'const a = new LRUCache<string, string>({ max: 10 })',
    'const a = new Float64Array(8)',
    'const a = new Float64Array(8).fill(NaN)',
    'const a = Buffer.alloc(8)',
    'const a = Object.create(null)',
    'const a = new Cache()',
    'const a = new Set<string>() as Set<string>',
    'const a: string[] = []',
    'const a = []',
    'const a = {}',
    'const a: Record<string, string> = {}',
    'const a: string[] = Array.from({ length: 4 })',
  ]
  for (const source of STATE) {
    const found = moduleState(new Map([['src/model/a.ts', source]]))
    t.strictSame(found, ['src/model/a.ts a'], source)
  }
  const held = 'class Held { static kept = new Map(); static readonly MOST = 1; readonly own = new Map() }'
  t.strictSame(moduleState(new Map([['src/model/a.ts', held]])), ['src/model/a.ts Held.kept'])
  const NONE = [
    'const a: ReadonlyMap<string, number> = new Map([])',
    'const a: readonly string[] = []',
    'const a: Readonly<Record<string, string>> = {}',
    `const a = ['x']`,
    `const a = { x: 1 }`,
    `const a = new URL('./a.txt', import.meta.url)`,
    `const a = 'x y'.split(' ')`,
    'const a = 5; function f() { let b = 0; const c = new Map() }',
    'declare let a: number',
  ]
  for (const source of NONE) t.strictSame(moduleState(new Map([['src/model/a.ts', source]])), [], source)
  const one = new Map([['src/model/a.ts', 'let a = 0']])
  t.match(stateFaults(one, []), [/src\/model\/a.ts a is kept for the whole process/])
  t.match(stateFaults(one, ['src/model/a.ts a', 'src/model/a.ts b']), [/src\/model\/a.ts b is listed/])
  t.match(stateFaults(one, ['src/model/a.ts a', 'src/model/a.ts a']), [/src\/model\/a.ts a is listed/])
})

t.test('CONTRIBUTING.md says what each folder of src/ is for', async (t) => {
  const page = readFileSync(new URL('CONTRIBUTING.md', ROOT), 'utf8')
  const folders = readdirSync(new URL('src', ROOT), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )
  const missing = folders.filter(
    ({ name }) => !page.includes(`\n| \`src/${name}/`) && !page.includes(`, \`src/${name}/\``),
  )
  t.strictSame(
    missing.map(({ name }) => name),
    [],
  )
})

t.test('each rule catches a planted violation', async (t) => {
  const PLANTED: readonly (readonly [path: string, source: string, complaint: RegExp])[] = [
    ['src/model/a.ts', `import { x } from '../runtime/clock.ts'`, /model may import nothing, not runtime/],
    ['src/model/a.ts', `import type { L } from '../log/port.ts'`, /model may import nothing, not log/],
    ['src/geometry/a.ts', `export * from '../spatial/cells.ts'`, /geometry may import model, not spatial/],
    [
      'src/log/a.ts',
      `const x = await import('../actor/host.ts')`,
      /log may import model, runtime, not actor/,
    ],
    ['src/log/a.ts', `type L = import('../actor/port.ts').L`, /log may import model, runtime, not actor/],
    ['src/http/a.ts', `export type { C } from '../registry/port.ts'`, /http may import .*, not registry/],
    ['src/log/a.ts', `export {} from '../actor/port.ts'`, /log may import model, runtime, not actor/],
    ['src/log/a.ts', 'await import(`../actor/host.ts`)', /log may import model, runtime, not actor/],
    ['src/log/a.ts', `const a = '../actor/host.ts'`, /log may import model, runtime, not actor/],
    ['src/log/a.ts', `import type A = require('../actor/host.ts')`, /log may import .*, not actor/],
    ['src/log/a.ts', `declare module '../actor/host.ts' {}`, /log may import .*, not actor/],
    ['src/log/a.ts', `require('../actor/host.js')`, /log may import .*, not actor/],
    ['src/log/a.ts', 'await import(`../${folder}/host.ts`)', /a path that cannot be read/],
    ['src/log/a.ts', `/// <reference path="../actor/host.ts" />`, /a path that cannot be read/],
    ['src/log/a.ts', `import { C } from '@ringfence/client'`, /imported by a relative path/],
    ['src/log/a.ts', `import { C } from '/src/actor/host.ts'`, /imported by a relative path/],
    ['src/compose/a.ts', `import { x } from '../main.ts'`, /src\/ imports nothing outside of it/],
    ['src/cli/a.ts', `import { x } from '../../test/kit/world.ts'`, /src\/ imports nothing outside of it/],
    [
      'src/actor/a.ts',
      `import { L } from '../log/commitLog.ts'`,
      /a technology is imported by composition roots only/,
    ],
    [
      'src/actor/a.ts',
      `import { S } from '../log/store.ts'`,
      /a technology is imported by composition roots only/,
    ],
    [
      'src/stream/a.ts',
      `import { C } from '../events/eventTables.ts'`,
      /a technology is imported by composition roots only/,
    ],
    ['src/http/a.ts', `import { x } from '../../config/options.ts'`, /src\/ imports nothing outside of it/],
    ['src/http/a.ts', `import { x } from '../../workers/urls.ts'`, /src\/ imports nothing outside of it/],
    ['src/http/a.ts', `import { x } from '../main.ts'`, /src\/ imports nothing outside of it/],
    ['src/novel/a.ts', `import { x } from '../model/scope.ts'`, /no row in the import rules/],
    ['src/geometry/a.ts', `import { hash } from 'node:crypto'`, /pure code imports no node: module/],
    ['src/geometry/a.ts', `export const x = () => Date.now()`, /must not use Date/],
    ['src/events/a.ts', `export const x = new Date()`, /must not use Date/],
    ['src/events/a.ts', `export const x = Math.random() < 0.5`, /must not use Math/],
    ['src/model/a.ts', `export const x = performance.now()`, /must not use performance/],
    ['src/model/a.ts', `export const x = process.env.HOME`, /must not use process/],
    ['src/model/a.ts', `export const { now } = Date`, /must not use Date/],
    ['src/model/a.ts', `export const { random } = Math`, /must not use Math/],
    ['src/model/a.ts', `export const x = globalThis`, /must not use globalThis/],
    ['src/model/a.ts', `export const x = setTimeout(() => {})`, /must not use setTimeout/],
    ['src/model/a.ts', `import Database from 'better-sqlite3'`, /must not be a technology/],
    ['src/rules/geofenceStep.ts', `export const x = Date.now()`, /must not use Date/],
  ]
  for (const [path, source, complaint] of PLANTED) {
    const found = layerViolations(new Map([...BACKGROUND, [path, source]]))
    t.equal(found.length, 1, `${path}: ${source}`)
    t.match(found[0], complaint)
  }
})

t.test('allowed imports cause no complaint', async (t) => {
  const ALLOWED: readonly (readonly [path: string, source: string])[] = [
    [
      'src/main.ts',
      `import { L } from './log/commitLog.ts'; import { o } from '../config/options.ts'; Date.now()`,
    ],
    ['src/log/a.ts', `import { L } from './commitLog.ts'`],
    ['src/actor/a.ts', `import type { L } from '../log/port.ts'; export const x = Date.now()`],
    ['src/cluster/owner/a.ts', `import { C } from '../nats/calls.ts'; import { L } from '../nats/loss.ts'`],
    [
      'src/compose/a.ts',
      `import { L } from '../log/commitLog.ts'; import { o } from '../../config/options.ts'`,
    ],
    [
      'src/model/a.ts',
      `// Date.now()\nexport const x = [new Date(0), Math.PI, Date.UTC(1, 1), 'Math.random']`,
    ],
    ['src/model/a.ts', `export const x = (date: Date) => date.Math`],
    [
      'src/events/eventIndex.ts',
      `import { Worker } from 'node:worker_threads'; import { u } from '../../workers/urls.ts'`,
    ],
  ]
  for (const [path, source] of ALLOWED) {
    t.strictSame(layerViolations(new Map([...BACKGROUND, [path, source]])), [], `${path}: ${source}`)
  }
})

t.test('a row is above those that name it, and allows only what is used', async (t) => {
  const faults = tableFaults(
    new Map([
      ['src/model/a.ts', ''],
      ['src/runtime/a.ts', ''],
    ]),
  )
  t.ok(faults.includes('runtime does not import model'))
  t.ok(faults.includes('geometry has a row and no file'))
  t.notOk(faults.some((fault) => fault.includes('no row above')))
})

t.test('two first folders may not import each other, whatever is in them', async (t) => {
  const pair = (...files: string[]) =>
    mutualImports(new Map(files.map((file) => [file.split(' ', 1)[0]!, file.slice(file.indexOf(' '))])))
  t.strictSame(
    pair(`src/accounts/a.ts import '../registry/store/b.ts'`, `src/registry/c.ts import '../accounts/a.ts'`),
    ['accounts and registry'],
  )
  t.strictSame(
    pair(`src/cluster/a/b.ts import '../../log/port.ts'`, `src/log/port.ts import '../cluster/c/d.ts'`),
    ['cluster and log'],
  )
  t.strictSame(pair(`src/geo/a/b.ts import '../c/d.ts'`, `src/geo/c/d.ts import '../e/f.ts'`), [])
})

t.test('two files may not declare and export the same name', async (t) => {
  const declared = [
    'export interface Box {}',
    'export const Box = 1',
    'class Box {}; export { Box }',
    'class B {}; export { B as Box }',
    'export default class Box {}',
    `export { B as Box } from '../model/b.ts'`,
    `export * as Box from '../model/b.ts'`,
    `import { B as Box } from '../model/b.ts'; export { Box }`,
  ]
  for (const other of declared) {
    const found = doubleNames(
      new Map([
        ['src/model/a.ts', 'export type Box = 1'],
        ['src/http/b.ts', other],
      ]),
    )
    t.strictSame(found, ['Box is exported by src/model/a.ts and src/http/b.ts'], other)
  }
  const allowed = [
    `export type { Box } from '../model/a.ts'`,
    `export * from '../model/a.ts'`,
    `import { Box } from '../model/a.ts'; export { Box }`,
    'interface Box {}; export type Other = Box',
  ]
  for (const other of allowed) {
    const found = doubleNames(
      new Map([
        ['src/model/a.ts', 'export type Box = 1; export const Box = 1'],
        ['src/http/b.ts', other],
      ]),
    )
    t.strictSame(found, [], other)
  }
})

/** A small, valid set of files around the files that break a rule. */
const BACKGROUND: readonly (readonly [string, string])[] = [
  ['src/log/port.ts', 'export interface L {}'],
  ['src/log/commitLog.ts', `import { openSync } from 'node:fs'`],
  ['src/log/store.ts', `import { L } from './commitLog.ts'`],
  ['src/log/frames.ts', 'export interface L {}'],
  ['src/runtime/sqlite.ts', `import Database from 'better-sqlite3'`],
  ['src/events/eventTables.ts', `import { openSqlite } from '../runtime/sqlite.ts'`],
  ['src/cluster/nats/loss.ts', `import type { NatsConnection } from '@nats-io/transport-node'`],
]
