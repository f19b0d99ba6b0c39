/**
 * Prints the table of docs/adr/0002: files and lines of src/ by its first folders at two commits, how many pairs of
 * folders import each other, and how many names two files export.
 *
 *     npm run house -- 552d1f0 HEAD
 */
import { execFileSync } from 'node:child_process'
import { doubleNames, mutualImports } from './layers.ts'

/** The present folders of files in folders that no longer exist. */
const MOVED: Readonly<Record<string, string>> = {
  api: 'now http',
  backup: 'now in cli',
  client: 'now sdk/ at the root',
  context: 'now in sdk',
  control: 'now in cli',
  engine: 'now rules',
  geodata: 'now in geo',
  routing: 'now in geo',
}

/** The TypeScript files of src/ at a commit: a map from the path, relative to the repository's root, to the text. */
function sourcesAt(commit: string): Map<string, string> {
  const options = { encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 } as const
  const names = execFileSync('git', ['ls-tree', '-r', '--name-only', commit, 'src/'], options)
  const paths = names.split('\n').filter((path) => path.endsWith('.ts'))
  const input = paths.map((path) => `${commit}:${path}\n`).join('')
  const output = execFileSync('git', ['cat-file', '--batch'], { input, maxBuffer: options.maxBuffer })
  const sources = new Map<string, string>()
  let at = 0
  for (const path of paths) {
    const headEnd = output.indexOf('\n', at)
    const bytes = Number(output.toString('latin1', at, headEnd).split(' ')[2])
    sources.set(path, output.toString('utf8', headEnd + 1, headEnd + 1 + bytes))
    at = headEnd + 1 + bytes + 1
  }
  return sources
}

interface Size {
  files: number
  lines: number
}

function sizes(sources: ReadonlyMap<string, string>): Map<string, Size> {
  const byFolder = new Map<string, Size>()
  for (const [path, text] of sources) {
    const folder = path.split('/').length === 2 ? '' : path.split('/')[1]!
    for (const name of [folder, 'all']) {
      const size = byFolder.get(name) ?? { files: 0, lines: 0 }
      byFolder.set(name, { files: size.files + 1, lines: size.lines + text.split('\n').length - 1 })
    }
  }
  return byFolder
}

function sizeText(size: Size | undefined): string {
  return size === undefined ? '' : `${size.files} / ${size.lines}`
}

const [before = '', after = ''] = process.argv
  .slice(2)
  .map((name) => execFileSync('git', ['rev-parse', '--short=7', name], { encoding: 'utf8' }).trim())
if (before === '' || after === '') throw new TypeError('npm run house -- COMMIT COMMIT')
const sources = [sourcesAt(before), sourcesAt(after)] as const
const [old, now] = [sizes(sources[0]), sizes(sources[1])]
const folders = [...new Set([...old.keys(), ...now.keys()])].filter((folder) => folder !== 'all').sort()
console.log(`| folder | ${before} | ${after} |\n|---|---|---|`)
for (const folder of folders) {
  const moved = now.has(folder) ? undefined : MOVED[folder]
  const name = folder === '' ? 'files directly in src' : moved === undefined ? folder : `${folder}, ${moved}`
  console.log(`| ${name} | ${sizeText(old.get(folder))} | ${sizeText(now.get(folder))} |`)
}
console.log(`| **all** | ${sizeText(old.get('all'))} | ${sizeText(now.get('all'))} |`)
const pairs = sources.map(mutualImports)
console.log(`| pairs of folders that import each other | ${pairs[0]!.length} | ${pairs[1]!.length} |`)
const names = sources.map((each) => doubleNames(each).length)
console.log(`| names that two files export | ${names[0]} | ${names[1]} |`)
for (const [i, found] of pairs.entries())
  if (found.length > 0) console.log(`\nPairs at ${[before, after][i]}: ${found.join(', ')}`)
