/** Texts that the test files of one run make once and share, such as the OpenAPI documents of their servers. */
import { hash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NODE_OPTIONS } from './nodeOptions.ts'

/** The folder of this run; undefined if the runner has not started this file, because the code may change until the next run. */
const FOLDER =
  NODE_OPTIONS === '' || process.env['NODE_COMPILE_CACHE'] === undefined
    ? undefined
    : join(process.env['NODE_COMPILE_CACHE'], 'texts')

/** What another file of this run has kept by that name; undefined if none has. */
export function keptText(name: string): string | undefined {
  if (FOLDER === undefined) return undefined
  try {
    return readFileSync(join(FOLDER, hash('sha1', name)), 'utf8')
  } catch {
    return undefined
  }
}

/** Keeps a text for the later files of this run: whole or not at all, because other processes read it. */
export function keepText(name: string, text: string): void {
  if (FOLDER === undefined) return
  const path = join(FOLDER, hash('sha1', name))
  const own = `${path}.${process.pid}`
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(own, text)
  renameSync(own, path)
}
