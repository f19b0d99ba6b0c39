/**
 * What pages say about the repository itself: the files that they name, links, the headings that links lead to,
 * titles of decisions.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '..', '..')
const FILES = globSync(
  [
    '*.*',
    '{src,workers,config,bench,test,docs,deploy,sdk,proto,demo,cluster,facts,install}/**/*.*',
    'Dockerfile',
  ],
  { cwd: ROOT, exclude: (path) => path.includes('node_modules') },
)
const PAGES = FILES.filter((file) => file.endsWith('.md'))
const FOLDERS = new Set(FILES.flatMap((file) => parents(file)))
const ENDS = new Set(FILES.flatMap((file) => suffixes(file)))
/** Names that always mean a file of this repository, wherever they occur. */
const SOURCE = /^[\w@./-]+\.(?:ts|mts|c|md)$/
/** A path from the root. */
const TOP = /^(?:src|workers|config|bench|test|docs|deploy|sdk|proto|demo|cluster|facts|install)\/[\w@./-]*$/

function parents(file: string): string[] {
  const parts = file.split('/')
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join('/'))
}

function suffixes(file: string): string[] {
  const parts = file.split('/')
  return parts.map((_, i) => parts.slice(i).join('/'))
}

/** A page without the examples in it. */
function proseOf(page: string): string {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return text.replaceAll(/^```[^]*?^```/gm, '').replaceAll(/^ {4}.*$/gm, '')
}

/** The anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .replaceAll(/`|\*\*|\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

function anchorsOf(page: string): Set<string> {
  return new Set([...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!)))
}

t.test('files that pages name exist', async (t) => {
  let named = 0
  for (const page of PAGES) {
    const quoted = [...proseOf(page).matchAll(/`([^`\n]+)`/g)].map(([, text]) => text!)
    // A command may name files, too.
    for (const word of quoted.flatMap((text) => text.split(' '))) {
      const path = word.replace(/\/$/, '')
      if (!SOURCE.test(path) && !TOP.test(path)) continue
      named++
      const isThere =
        ENDS.has(path.replace(/^\.\//, '')) ||
        FOLDERS.has(path) ||
        existsSync(join(ROOT, dirname(page), path))
      if (!isThere) t.fail(`${page} names ${word}`)
    }
  }
  t.ok(named > 100, `${named} names`)
})

t.test('links lead to files and headings', async (t) => {
  let links = 0
  for (const page of PAGES) {
    for (const [, target] of proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue
      links++
      const [path = '', anchor] = target!.split('#')
      const file = path === '' ? page : posix.join(posix.dirname(page), path)
      if (!existsSync(join(ROOT, file))) t.fail(`${page} links to ${target}`)
      else if (anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).has(anchor))
        t.fail(`${page} links to ${target}, and there is no such heading`)
    }
  }
  t.ok(links > 100, `${links} links`)
})

t.test('the list of decisions has their titles', async (t) => {
  const list = readFileSync(join(ROOT, 'docs/adr/README.md'), 'utf8')
  const rows = [...list.matchAll(/^\| \[(\d+)\]\(([^)]+)\) \| (.*) \|$/gm)]
  const decisions = FILES.filter((file) => /^docs\/adr\/\d/.test(file))
  t.equal(rows.length, decisions.length)
  for (const [, number, file, title] of rows) {
    const [heading] = readFileSync(join(ROOT, 'docs/adr', file!), 'utf8').split('\n')
    t.equal(heading, `# ${number}. ${title}`)
  }
})
