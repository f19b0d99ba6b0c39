/**
 * npm's notes of what is installed, node_modules/.package-lock.json. Whoever changes a package in node_modules removes
 * the package's hash from these notes, so that the next `npm install` installs the package again.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of the installed packages. */
export const PACKAGES = join(import.meta.dirname, '..', 'node_modules')
const FILE = join(PACKAGES, '.package-lock.json')

/** What npm has noted: an entry for each package, by its place, such as `node_modules/tap`. */
export interface Notes {
  readonly packages: Record<string, { dev?: boolean; version?: string; integrity?: string }>
}

/** @returns undefined if npm has installed nothing here */
export function readNotes(): Notes | undefined {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Notes) : undefined
}

/**
 * To be called after the last change in node_modules: npm ignores notes that are older than a package's folder, and
 * then takes the changed packages for whole ones.
 */
export function writeNotes(notes: Notes): void {
  writeFileSync(FILE, JSON.stringify(notes, null, 2))
}
