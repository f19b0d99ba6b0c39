/** Runs test files one after the other in this process: `node test/kit/sharedChild.ts PATH …`. */
import { once } from 'node:events'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { beginOf } from './sharedFiles.ts'

for (const path of process.argv.slice(2)) {
  t.comment(beginOf(path))
  await import(pathToFileURL(resolve(path)).href)
  // Until the tests that it has added have run.
  while (!t.idle) await once(t, 'idle')
}
