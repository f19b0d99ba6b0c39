/** The folders of `npm run cluster` are accessible only to their owner, even with a umask that allows everything. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { skipWithout, NATS_SERVER } from '../kit/goServers.ts'
import { NODE_OPTIONS } from '../kit/nodeOptions.ts'
import { openTo } from './openTo.ts'

t.setTimeout(240_000)

const home = mkdtempSync(join(tmpdir(), 'ringfence-private-'))
t.teardown(() => rmSync(home, { recursive: true, force: true }))
const umask = process.umask(0)
t.teardown(() => process.umask(umask))

t.test(
  'npm run cluster: its keys, NATS, and the folders of its processes',
  { skip: await skipWithout(NATS_SERVER) },
  async (t) => {
    const folder = join(home, 'cluster')
    mkdirSync(folder, { mode: 0o755 })
    mkdirSync(join(folder, 'old'))
    const run = fileURLToPath(new URL('../../cluster/run.ts', import.meta.url))
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const child = spawn(
      'env',
      [
        `NODE_OPTIONS=${NODE_OPTIONS}`,
        process.execPath,
        run,
        '--folder',
        folder,
        '--actors',
        '1',
        '--port',
        `${port}`,
      ],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    const ended = once(child, 'close')
    t.teardown(() => child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    while (!output.includes(`http://127.0.0.1:${port}`) && child.exitCode === null)
      await Promise.race([once(child.stdout, 'data'), ended])
    t.strictSame(openTo(folder), [], output)
    t.ok(readdirSync(folder).includes('keys.json'))
    child.kill('SIGTERM')
    await ended
    t.strictSame(openTo(folder), [], 'afterwards')
  },
)
