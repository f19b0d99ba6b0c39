/** The folder that `npm run bench -- geocode-quality --peer DIR` takes. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { addokIn, PACKAGES } from '../../bench/load/addokPeer.ts'
import { NODE_OPTIONS } from '../kit/nodeOptions.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** A folder with a program that stands for Python. */
function withPython(folder: string, script: string): string {
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin', 'python'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return folder
}

t.test('the page says how to make it', async (t) => {
  t.ok(readFileSync(join(ROOT, 'bench', 'README.md'), 'utf8').includes(`pip install ${PACKAGES}`))
})

t.test('a folder that is none ends the bench at once, with the command that makes it', async (t) => {
  const folder = t.testdir()
  const args = [join(ROOT, 'bench', 'run.ts'), 'geocode-quality', '--smoke', '--peer', folder]
  const { status, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS },
  })
  t.equal(status, 2)
  t.match(stderr, `there is no ${folder}/bin/python`)
  t.match(stderr, `python3 -m venv ${folder} && ${folder}/bin/pip install ${PACKAGES}`)
  t.notMatch(stderr, /\n\s+at .*:\d+:\d+/, 'no stack')
})

t.test('a Python without addok is named', async (t) => {
  const without = withPython(t.testdir(), 'echo "No module named \'addok\'" >&2; exit 1')
  t.throws(() => addokIn(without), { message: /No module named 'addok'/ })
})

t.test('another version is named', async (t) => {
  const other = withPython(t.testdir(), `echo '["0.1.0", "/redis-server"]'`)
  t.throws(() => addokIn(other), { message: /version 0\.1\.0/ })
})

t.test('the programs of the right version', async (t) => {
  const version = /addok==(\S+)/.exec(PACKAGES)![1]
  const folder = withPython(t.testdir(), `echo '["${version}", "/redis-server"]'`)
  t.strictSame(addokIn(folder), { python: join(folder, 'bin', 'python'), redis: '/redis-server' })
})
