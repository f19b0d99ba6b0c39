/** `npm start` and the other commands say what to do if they are run with an unsuitable Node. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '../..')
const BINARY = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`

t.test('a clear message on every machine that cannot run it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-install-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  cpSync(join(ROOT, 'install'), join(folder, 'install'), { recursive: true })
  writeFileSync(join(folder, 'program.ts'), `console.log('ran', process.argv.slice(2).join() as string)`)
  /** @param node the version that it pretends to have */
  const run = (node?: string): { code: number | null; output: string } => {
    const fake = join(folder, 'fake.cjs')
    writeFileSync(
      fake,
      node === undefined
        ? ''
        : `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${node}' } })`,
    )
    // Without the hooks of the test runner; see test/kit/server.ts.
    const args = [
      '-u',
      'NODE_OPTIONS',
      process.execPath,
      '--require',
      fake,
      join(folder, 'install', 'run.cjs'),
      'program.ts',
      'a',
      '--b',
    ]
    const { status, stdout, stderr } = spawnSync('env', args, { encoding: 'utf8' })
    return { code: status, output: stdout + stderr }
  }
  const packages = join(folder, 'node_modules')
  t.strictSame(run(), { code: 1, output: 'The packages are not installed: run `npm install`.\n' })

  mkdirSync(join(packages, 'uWebSockets.js', 'dist', 'bin'), { recursive: true })
  t.match(run(), {
    code: 1,
    output: /^node_modules has nothing for \w+ on \w+: run `npm install`.*\.\n$/,
  })

  writeFileSync(join(packages, 'uWebSockets.js', 'dist', 'bin', BINARY), '')
  t.strictSame(run(), { code: 0, output: 'ran a,--b\n' })
  for (const version of ['18.20.0', '20.20.2', '22.17.1', '24.0.0']) {
    t.strictSame(run(version), {
      code: 1,
      output:
        `Ringfence needs Node 22.18 or a later 22, and this is Node ${version}: ` +
        'run `npm rebuild node --ignore-scripts=false`, which brings it along, or install it.\n',
    })
  }
  mkdirSync(join(packages, 'node', 'bin'), { recursive: true })
  writeFileSync(join(packages, 'node', 'bin', 'node'), '')
  t.match(run('20.20.2'), { code: 1, output: /: start it with `npm start`/ })
})

t.test('every command for users starts in this way', async (t) => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const names = 'start slim demo cluster keys import region projects backup restore'.split(' ')
  for (const name of names)
    t.match(scripts[name], /^(exec (env ([A-Z_]+=\S+ )+)?)?node (--\S+ )*install\/run\.cjs [\w/]+\.ts/, name)
})
