/**
 * An argument that a command does not take is named, and nothing is done. For the operator's commands on a data folder:
 * operator.slow.test.ts; for files to import: test/registry/import.test.ts.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { NODE_OPTIONS } from '../kit/nodeOptions.ts'

const ROOT = new URL('../../', import.meta.url)
const SCRIPTS: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL('package.json', ROOT), 'utf8'),
).scripts

/** By the name of the script, what stands before the argument that is too much. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  start: [],
  slim: [],
  demo: ['--seconds', '1'],
  cluster: ['--nats', '1'],
  move: ['--from-radar'],
  mcp: ['--write'],
  region: ['list'],
  fuzz: ['--minutes', '1'],
  'test:faults': [],
  test: [],
  bench: [],
}
/** Their arguments are tested with what they do. */
const ELSEWHERE = new Set(['keys', 'projects', 'accounts', 'backup', 'restore', 'import'])
/** For those who work on the project: they take no arguments, or names of files and commits. */
const DEVELOPERS =
  /^(?:postinstall|dependencies|dev|check|test:slow|coverage:|house|release:|dashboard:|sdk:|facts:|examples|prove:|protobuf|pictures|servers)/

/** The program of a script and its arguments: `node install/run.cjs demo/run.ts` runs with this Node as it is. */
function programOf(script: string): string[] {
  const words = SCRIPTS[script]!.split(' ')
  return words.slice(words.findIndex((word) => word.endsWith('.ts')))
}

for (const [script, before] of Object.entries(COMMANDS))
  t.test(script, async (t) => {
    const child = spawn(process.execPath, [...programOf(script), ...before, 'surplus'], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS },
    })
    t.teardown(() => child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    const [code] = (await once(child, 'close')) as [number | null]
    t.ok(code === 1 || code === 2, `exit code ${code}`)
    t.match(output, 'surplus')
    t.notMatch(output, /\n\s+at .*:\d+:\d+/, 'no stack')
  })

t.test('every script is looked at here or elsewhere', (t) => {
  const unknown = Object.keys(SCRIPTS).filter(
    (name) => !Object.hasOwn(COMMANDS, name) && !ELSEWHERE.has(name) && !DEVELOPERS.test(name),
  )
  t.strictSame(unknown, [])
  t.end()
})
