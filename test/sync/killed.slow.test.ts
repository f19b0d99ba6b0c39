/**
 * A run whose process is killed at each step, and begun again by the next process: whatever the step, in the end there is
 * what there would be without the kill. In the embedded engine the same host starts again; in the distributed engine
 * another host takes over, over a real NATS server.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer } from '../kit/nats.ts'
import { NODE_OPTIONS } from '../kit/nodeOptions.ts'
import type { ChildOrder, ChildReport } from './runChild.ts'
import { FileServer, HEADER, row } from './syncKit.ts'

const CHILD = fileURLToPath(new URL('runChild.ts', import.meta.url))
/** Each round has the test environment of a project of its own. */
const FIRST_SCOPE = 2
const SCOPES_A_PROJECT = 2

const skip = await skipWithout(NATS_SERVER)

const rows = (from: number, to: number, radius: number) =>
  Array.from({ length: to - from }, (_, i) => row('a', from + i, radius)).join('')

/** Two contents of a source, each in two transactions or more: 250 are deleted, 260 created, 20 changed. */
const CONTENTS = [
  HEADER + rows(0, 450, 100),
  HEADER + rows(250, 270, 200) + rows(270, 450, 100) + rows(450, 710, 100),
]

/** A run has at least so many points, and is killed at each of them. */
const FEWEST_POINTS = 15

t.test('killed at each step and begun again, in the embedded engine', async (t) => {
  const folder = folderOf(t)
  await killedEverywhere(t, () => ({ folder }))
})

t.test(
  'killed at each step and begun again by another host, in the distributed engine',
  { skip },
  async (t) => {
    const server = await natsServer(t)
    await killedEverywhere(t, () => ({ folder: folderOf(t), nats: server.address }))
  },
)

/** @param host where the next process is */
async function killedEverywhere(t: Test, host: () => Pick<ChildOrder, 'folder' | 'nats'>): Promise<void> {
  const web = await FileServer.start(t)
  const orderOf = (round: number, killAt: number): ChildOrder => {
    const urls = ['first', 'second'].map((name) => `${web.url}/${round}/${name}.csv`)
    return { ...host(), scope: FIRST_SCOPE + SCOPES_A_PROJECT * round, urls, killAt }
  }
  serveChanging(web, 0)
  const whole = await childOf(t, orderOf(0, 0))
  if (whole === 'killed') throw new Error('Nobody killed it.')
  const { points, ...expected } = whole
  t.match(expected, {
    runs: [{ status: 'succeeded' }, { status: 'succeeded' }],
    etags: ['"1"', '"same"'],
    files: [],
  })
  t.equal(expected.geofences.length, 460 + 3)
  t.equal(expected.geofences.filter(([, radius]) => radius === 200).length, 20)
  t.equal(expected.marks.length, 463)
  t.equal(expected.subjects.length, 2)
  t.ok(points.length >= FEWEST_POINTS, points.join(', '))

  for (const [i, name] of points.entries()) {
    const round = i + 1
    const step = `point ${round}, ${name}`
    serveChanging(web, round)
    const order = orderOf(round, round)
    const first = await childOf(t, order)
    if (first !== 'killed') {
      // Edits that were gathered into one append make fewer points than the whole run had: this one came to its end.
      const { points: passed, ...complete } = first
      t.ok(passed.length < round && round > FEWEST_POINTS, step)
      t.strictSame(complete, expected, step)
      continue
    }
    const again = await childOf(t, { ...order, ...host(), killAt: 0 })
    if (again === 'killed') throw new Error(`${step}: the next process was killed, too`)
    const { runs, points: _, ...rest } = again
    const { runs: __, ...same } = expected
    t.strictSame(rest, same, step)
    // Killed before it was taken, or once it had ended, it is the only one.
    const isRepeated = runs.length === 3
    const statuses = isRepeated ? ['succeeded', 'interrupted', 'succeeded'] : ['succeeded', 'succeeded']
    t.strictSame(
      runs.map(({ status }) => status),
      statuses,
      step,
    )
    t.equal(runs[0]?.repeats, isRepeated, step)
  }
}

/** A source that changes once it was fetched, and another one that does not. */
function serveChanging(web: FileServer, round: number): void {
  let fetched = 0
  web.files.set(`/${round}/first.csv`, (request, response) => {
    const version = Math.min(fetched++, 1)
    const etag = `"${version}"`
    if (request.headers['if-none-match'] === etag) response.writeHead(304, { etag }).end()
    else response.writeHead(200, { etag }).end(CONTENTS[version])
  })
  web.files.set(`/${round}/second.csv`, (request, response) => {
    const etag = '"same"'
    if (request.headers['if-none-match'] === etag) response.writeHead(304, { etag }).end()
    else response.writeHead(200, { etag }).end(HEADER + row('b', 1) + row('b', 2) + row('b', 3))
  })
}

async function childOf(t: Test, order: ChildOrder): Promise<ChildReport | 'killed'> {
  const args = [`NODE_OPTIONS=${NODE_OPTIONS}`, process.execPath, CHILD, JSON.stringify(order)]
  const child = spawn('env', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  await once(child, 'close')
  if (child.signalCode === 'SIGKILL') return 'killed'
  if (child.exitCode !== 0 || err !== '') throw new Error(`${child.exitCode ?? child.signalCode}: ${err}`)
  return JSON.parse(out) as ChildReport
}

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-killed-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
