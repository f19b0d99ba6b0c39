import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { commentsOf, invariantsOf, pagesNamedIn, rowsOf, titlesOf } from './invariants.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/spec.md'), 'utf8')

/** Only few rules may have no test. */
const MOST_EXEMPT = 3

const sources = globSync('src/**/*.ts', { cwd: ROOT })
  .toSorted()
  .map((path) => ({ path, comments: commentsOf(path, read(path)) }))

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

t.test('every invariant of a module is in docs/spec.md, in the same words', async (t) => {
  const inSource = new Map<string, string>()
  const faults: string[] = []
  for (const { path, comments } of sources) {
    for (const comment of comments) {
      const found = invariantsOf(comment)
      faults.push(...found.faults.map((fault) => `${path}: ${fault}`))
      for (const [id, sentence] of found.invariants) {
        if (inSource.has(id)) faults.push(`${path}: ${id} is there twice`)
        inSource.set(id, sentence)
      }
    }
  }
  t.ok(inSource.size > 100, 'the invariants were found')
  const rows = new Map(rowsOf(PAGE).rows.map(({ id, sentence }) => [id, sentence]))
  for (const [id, sentence] of inSource) {
    if (rows.get(id) !== sentence) faults.push(`docs/spec.md needs: | ${id} | ${sentence} | tests |`)
  }
  for (const id of rows.keys()) {
    if (!/^G\d+$/.test(id) && !inSource.has(id)) faults.push(`${id} of docs/spec.md is in no source file`)
  }
  t.strictSame(faults, [])
})

t.test('docs/spec.md lists each invariant below the file that states it', async (t) => {
  const pathOf = new Map<string, string>()
  for (const { path, comments } of sources)
    for (const comment of comments) for (const [id] of invariantsOf(comment).invariants) pathOf.set(id, path)
  const faults: string[] = []
  let module = ''
  for (const line of PAGE.split('\n')) {
    module = /^`(src\/[^`]+)`$/.exec(line)?.[1] ?? module
    const id = /^\| ([A-Z][A-Z0-9-]*-\d+) \|/.exec(line)?.[1]
    if (id !== undefined && pathOf.get(id) !== module) faults.push(`${id} is stated in ${pathOf.get(id)}`)
  }
  t.strictSame(faults, [])
})

t.test('every guarantee and invariant names tests that exist', async (t) => {
  const { rows, faults } = rowsOf(PAGE)
  const titles = new Map<string, Set<string>>()
  const missing = [...faults]
  for (const { id, tests, exempt } of rows) {
    if (tests.length === 0 && exempt === undefined) missing.push(`${id} has no test`)
    for (const { file, title } of tests) {
      if (!titles.has(file)) {
        const isThere = file.startsWith('test/') && existsSync(join(ROOT, file))
        titles.set(file, isThere ? titlesOf(file, read(file)) : new Set())
      }
      if (!titles.get(file)!.has(title)) missing.push(`${id}: ${file} has no test "${title}"`)
    }
  }
  t.strictSame(missing, [])
  const exempt = rows.filter((row) => row.exempt !== undefined).map(({ id }) => id)
  t.ok(exempt.length <= MOST_EXEMPT, `held by no test: ${exempt.join(', ')}`)
})

t.test('the guarantees G1 to G10 are in docs/spec.md, and comments name no other', async (t) => {
  const guarantees = rowsOf(PAGE).rows.filter(({ id }) => /^G\d+$/.test(id))
  const ids = guarantees.map(({ id }) => id)
  t.strictSame(
    ids,
    Array.from({ length: 10 }, (_, i) => `G${i + 1}`),
  )
  for (const { path, comments } of sources) {
    const named = comments.flat().flatMap((line) => line.match(/\bG\d+\b/g) ?? [])
    t.strictSame(
      named.filter((id) => !ids.includes(id)),
      [],
      path,
    )
  }
})

t.test('comments name pages that are in the repository', async (t) => {
  const records = globSync('docs/adr/*.md', { cwd: ROOT })
  const missing: string[] = []
  const others = globSync('{workers,config,cluster,test,bench,demo,install,sdk/src,sdk/test}/**/*.ts', {
    cwd: ROOT,
  })
  const all = [...sources, ...others.map((path) => ({ path, comments: commentsOf(path, read(path)) }))]
  for (const { path, comments } of all) {
    for (const page of pagesNamedIn(comments.flat().join('\n'))) {
      const isThere = page.endsWith('.md')
        ? existsSync(join(ROOT, page))
        : records.some((record) => record.startsWith(page))
      if (!isThere) missing.push(`${path}: ${page}`)
    }
  }
  t.strictSame(missing, [])
})

t.test('comments name source files that are in the repository', async (t) => {
  const files = globSync(
    '{src,workers,config,cluster,test,bench,demo,install,facts,proto,docs,sdk,dashboard}/**/*.*',
    {
      cwd: ROOT,
      exclude: (path) => path.includes('node_modules'),
    },
  )
  const ends = new Set(
    files.flatMap((file) => {
      const parts = file.replaceAll('\\', '/').split('/')
      return parts.map((_, i) => parts.slice(i).join('/'))
    }),
  )
  const missing: string[] = []
  for (const { path, comments } of sources) {
    const named = comments
      .flat()
      .join(' ')
      .matchAll(/[\w./-]*\w\.tsx?\b/g)
    for (const [name] of named)
      if (!ends.has(name.replace(/^(?:\.{1,2}\/)+/, ''))) missing.push(`${path}: ${name}`)
  }
  t.strictSame(missing, [])
})

t.test('faults are noticed', async (t) => {
  const comment = (text: string) => invariantsOf(commentsOf('a.ts', `/**${text}\n */`)[0]!)
  t.strictSame(
    comment('\n * Says.\n *\n * Invariants\n * - A-1: One\n *   sentence.\n * - A-2: {@link X}.'),
    {
      invariants: [
        ['A-1', 'One sentence.'],
        ['A-2', '`X`.'],
      ],
      faults: [],
    },
  )
  for (const text of [
    ' Invariant: it holds.',
    '\n * 1. It holds.',
    '\n * Invariants\n * 1. It holds.',
    '\n * Invariants\n * - It holds.',
    '\n * Invariants',
    '\n * Invariants\n * - A-1: One.\n * Two.',
  ])
    t.ok(comment(text).faults.length > 0, text)
  const page = '| A-1 | One. | `a.ts`: b<br>`c.ts`: `d` |\n| A-2 | Two. | |\n| A-3 | Three. | by type: d |'
  t.strictSame(rowsOf(page).rows[0]!.tests, [
    { file: 'a.ts', title: 'b' },
    { file: 'c.ts', title: '`d`' },
  ])
  t.strictSame(rowsOf(page).rows[1]!.tests, [])
  t.strictSame(
    rowsOf(page).rows.map(({ exempt }) => exempt),
    [undefined, undefined, 'by type: d'],
  )
  t.match(rowsOf(`${page}\n| A-1 | One. | x |`).faults, [
    'A-2 names no test',
    'A-1 is there twice',
    'A-1 names',
  ])
  const tests =
    "t.test('a', async () => {}); t.test(`b ${c}`, { skip }, () => {}); t.skip('d', () => {}); x('e')"
  t.strictSame([...titlesOf('a.ts', tests)], ['a', 'b ${c}'])
  t.strictSame(pagesNamedIn('see docs/adr/0002, docs/adr/0003-a.md and a/b.md.'), [
    'docs/adr/0002',
    'docs/adr/0003-a.md',
    'a/b.md',
  ])
})
