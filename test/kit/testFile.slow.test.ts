/** The runner of test files: what it counts, and that it lets a file run only as long as it makes progress. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { mayShare } from './sharedFiles.ts'
import { runTestFile, runTestFiles, type FileResult } from './testFile.ts'
import { until } from './waiting.ts'

const TAP = `import t from '${import.meta.resolve('tap')}'\n`
const WAITING = fileURLToPath(new URL('waiting.ts', import.meta.url))
/** How many seconds a file may be silent. A start may take seconds on a loaded machine. */
const SILENT_SECONDS = 8

/** Runs a test file with this text. */
function run(test: Test, text: string): Promise<FileResult> {
  const folder = test.testdir({ 'one.test.ts': text })
  return runTestFile(join(folder, 'one.test.ts'), SILENT_SECONDS)
}

/** Whether the process has ended, even if nobody has collected its exit code yet. */
function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}

t.test('assertions are counted, those of nested tests too, and skips with their reasons', async (t) => {
  const result = await run(
    t,
    `${TAP}t.test('outer', async (t) => {
      t.pass()
      t.test('inner', async (t) => { t.pass(); t.equal(1, 2, 'one is two') })
    })
    t.test('without a server', { skip: 'no nats-server: install it' }, async () => {})`,
  )
  t.match(result, {
    passed: 2,
    failed: 1,
    skipped: [{ name: 'without a server', why: 'no nats-server: install it' }],
    output: /one is two/,
  })
})

t.test('a file that ends with an error or tests nothing counts as failed', async (t) => {
  const bad = [
    'process.exit(3)',
    'throw new Error("thrown")',
    'process.kill(process.pid, "SIGKILL")',
    'console.log("1..2\\nok 1")',
    '',
  ]
  for (const text of bad) t.equal((await run(t, text)).failed, 1, text)
})

t.test('a file that hangs is ended with its processes, and reports the test', async (t) => {
  const result = await run(
    t,
    `${TAP}import { spawn } from 'node:child_process'
    t.test('a wait without an end', async (t) => {
      const child = spawn('sleep', ['1000'])
      console.log('# child ' + child.pid)
      t.pass()
      await new Promise((resolve) => child.once('exit', resolve))
    })`,
  )
  t.equal(result.failed > 0, true)
  t.match(result.output, /a wait without an end/)
  t.match(result.output, `ended after ${SILENT_SECONDS} s without any progress`)
  const child = Number(/child (\d+)/.exec(result.output)![1])
  await until(() => hasEnded(child))
})

t.test('a file that computes forever is ended', async (t) => {
  const result = await run(t, `console.log('ok 1')\nfor (;;);`)
  t.equal(result.failed, 1)
})

t.test('a slow file that makes progress is not ended, however long it takes', async (t) => {
  const result = await run(
    t,
    `${TAP}import { progress } from '${WAITING}'
    import { setTimeout as sleep } from 'node:timers/promises'
    t.test('slow', async (t) => {
      for (let i = 0; i < 6; i++) { await sleep(${SILENT_SECONDS * 250}); progress() }
      t.pass()
      await sleep(${SILENT_SECONDS * 500})
      t.pass()
    })`,
  )
  t.match(result, { passed: 2, failed: 0 })
  t.ok(result.seconds > SILENT_SECONDS, 'it took longer than a file may be silent')
})

t.test('several files in one process: each has its own results and words', async (t) => {
  const folder = t.testdir({
    'a.test.ts': `${TAP}t.test('one', async (t) => { t.pass(); t.pass() })`,
    'b.test.ts': `${TAP}await t.test('two', async (t) => { t.equal(1, 2, 'one is two') })\nt.test('later', async (t) => t.pass())`,
    'c.test.ts': `${TAP}t.test('three', { skip: 'not here' }, async () => {})\nt.pass('there')`,
    'd.test.ts': '',
  })
  const paths = ['a', 'b', 'c', 'd'].map((name) => join(folder, `${name}.test.ts`))
  const [a, b, c, d] = await runTestFiles(paths, SILENT_SECONDS).results
  t.match(a, { path: paths[0], passed: 2, failed: 0 })
  t.match(b, { path: paths[1], passed: 1, failed: 1, output: /one is two/ })
  t.notMatch(c!.output, 'one is two')
  t.match(c, { path: paths[2], passed: 1, failed: 0, skipped: [{ name: 'three', why: 'not here' }] })
  t.match(d, { path: paths[3], failed: 1 }, 'it tested nothing')
})

t.test('a file that ends the process is the one that failed, and those after it did not run', async (t) => {
  const folder = t.testdir({
    'a.test.ts': `${TAP}t.pass()`,
    'b.test.ts': `${TAP}t.pass()\nawait t.test('bad', async () => process.exit(1))`,
    'c.test.ts': `${TAP}t.pass()`,
  })
  const paths = ['a', 'b', 'c'].map((name) => join(folder, `${name}.test.ts`))
  t.match(await runTestFiles(paths, SILENT_SECONDS).results, [
    { passed: 1, failed: 0 },
    { failed: 1 },
    { passed: 0, failed: 1 },
  ])
})

t.test('who may share a process', async (t) => {
  t.ok(mayShare('test/geometry/ring.test.ts'))
  for (const path of ['e2e/track', 'crash/crash', 'http/server', 'accounts/roles', 'growth/patterns'])
    t.notOk(mayShare(`test/${path}.test.ts`), path)
})
