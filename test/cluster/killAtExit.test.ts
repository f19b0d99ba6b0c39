import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'

/** Starts processes, ends one of them, prints how many handlers there are, and exits. */
const PROGRAM = `
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { killAtExit } from ${JSON.stringify(join(import.meta.dirname, '../../cluster/killAtExit.ts'))}
const children = Array.from({ length: 14 }, () => spawn('sleep', ['600'], { stdio: ['ignore', 'inherit', 'ignore'] }))
for (const child of children) killAtExit(child)
children[0].kill()
await once(children[0], 'exit')
console.log(process.listenerCount('exit'))
process.exit(0)
`

t.test('more than ten processes are killed when theirs exits, and Node warns of no leak', (t) => {
  // The call returns once every process that has the output is gone.
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
    timeout: 120_000,
  })
  t.equal(status, 0, stderr)
  t.notMatch(stderr, 'MaxListenersExceededWarning')
  t.equal(stdout, '1\n', 'one handler for all')
  t.end()
})
