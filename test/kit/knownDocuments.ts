/**
 * The OpenAPI documents of servers within one run of the tests. The document depends on the code and the settings alone. Writing it
 * takes a server a fifth of a second when it has just been started, and hundreds are started.
 */
import { hash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NODE_OPTIONS } from './nodeOptions.ts'

/** The folder of this run; undefined if the runner has not started this file, because the code may change until the next run. */
const FOLDER =
  NODE_OPTIONS === '' || process.env['NODE_COMPILE_CACHE'] === undefined
    ? undefined
    : join(process.env['NODE_COMPILE_CACHE'], 'documents')

/**
 * The document of a server with these settings, as another one of this run has answered it, or else as `ask` answers.
 * @param ask resolves to undefined if the server has none, which is not remembered
 */
export async function documentOf(
  settings: unknown,
  ask: () => Promise<string | undefined>,
): Promise<string | undefined> {
  if (FOLDER === undefined) return ask()
  const path = join(FOLDER, hash('sha1', JSON.stringify(settings)))
  try {
    return readFileSync(path, 'utf8')
  } catch {
    const text = await ask()
    if (text !== undefined) keep(path, text)
    return text
  }
}

/** Whole or not at all, because other processes read it. */
function keep(path: string, text: string): void {
  const own = `${path}.${process.pid}`
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(own, text)
  renameSync(own, path)
}
