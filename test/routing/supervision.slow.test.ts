/** The life of the routing process, with a stand-in for Valhalla, because none of this depends on roads. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  NoRoute,
  RoutingGone,
  RoutingMissing,
  RoutingOverloaded,
  RoutingTimedOut,
} from '../../src/geo/routing/port.ts'
import type { ChildEnd } from '../../src/geo/routing/valhallaChild.ts'
import { ValhallaProcess } from '../../src/geo/routing/valhallaProcess.ts'
import { createLogger } from '../../src/runtime/logger.ts'

const MIB = 1024 * 1024
const STAND_IN = new URL('./standInChild.ts', import.meta.url)

interface Settings {
  readonly threads?: number
  readonly timeoutMs?: number
  readonly memoryBytes?: number
  readonly maxWaiting?: number
  readonly child?: URL
}

/** A supervised child, and the reasons why its children ended. */
function start(t: Test, settings: Settings = {}) {
  const ends: ChildEnd[] = []
  const valhalla = new ValhallaProcess({
    tiles: '/nowhere',
    name: 'test',
    threads: 1,
    timeoutMs: 20_000,
    memoryBytes: 1024 * MIB,
    maxWaiting: 100,
    logger: createLogger('silent'),
    ended: (end) => ends.push(end),
    child: STAND_IN,
    ...settings,
  })
  t.teardown(() => valhalla.stop())
  const ask = async (what: string, bytes?: number): Promise<{ pid: number; variables: string[] }> =>
    JSON.parse((await valhalla.call('route', JSON.stringify({ do: what, bytes }))).toString())
  return { valhalla, ask, ends }
}

/** A call whose failure is checked later. */
function settled(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'answered',
    (error: unknown) => error,
  )
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A zombie counts as dead.
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(20)
}

t.test('requests are answered by one child, which does not get our environment', async (t) => {
  process.env.RINGFENCE_KEYS = 'secret'
  t.teardown(() => delete process.env.RINGFENCE_KEYS)
  const { valhalla, ask } = start(t, { threads: 2 })
  t.equal(valhalla.condition, 'not in use')
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask('answer')))
  const { pid, variables } = answers[0]!
  t.strictSame([...new Set(answers.map((answer) => answer.pid))], [pid])
  t.not(pid, process.pid)
  t.notOk(variables.includes('RINGFENCE_KEYS'))
  t.match(await settled(ask('refuse')), { constructor: NoRoute, code: 442 }, 'a refusal is not a failure')
  t.equal((await ask('answer')).pid, pid)
  t.equal(valhalla.condition, 'running')
  if (process.platform === 'linux') {
    const nices = readdirSync(`/proc/${pid}/task`).map(
      (task) => readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8').split(') ')[1]!.split(' ')[16],
    )
    t.strictSame([...new Set(nices)], ['10'], 'all of its threads yield to ours')
  }
})

t.test('it ends after ten minutes without a request, and the next request starts another', async (t) => {
  const { valhalla, ask, ends } = start(t)
  const { pid } = await ask('answer')
  const real = performance.now.bind(performance)
  t.intercept(performance, 'now', { value: () => real() + 601_000 })
  await gone(pid)
  // The system notices the end before this process does.
  while (ends.length === 0) await sleep(20)
  t.strictSame(ends, ['idle'])
  t.equal(valhalla.condition, 'not in use')
  t.not((await ask('answer')).pid, pid)
})

t.test('killed in the middle: 503 for its requests, and the next one answers the rest', async (t) => {
  const { ask, ends } = start(t)
  const { pid } = await ask('answer')
  const lost = [settled(ask('hold')), settled(ask('hold'))]
  const waiting = [ask('answer'), ask('answer')]
  process.kill(pid, 'SIGKILL')
  for (const error of await Promise.all(lost)) {
    t.match(error, { constructor: RoutingGone, code: 503, retryAfter: 1 })
  }
  const pids = (await Promise.all(waiting)).map((answer) => answer.pid)
  t.not(pids[0], pid)
  t.equal(pids[1], pids[0])
  t.strictSame(ends, ['crashed'])
})

t.test('a request that crashes it fails alone, however often', async (t) => {
  const { ask, ends } = start(t)
  for (let i = 0; i < 3; i++) {
    t.type(await settled(ask('crash')), RoutingGone)
    await ask('answer')
  }
  t.strictSame(ends, ['crashed', 'crashed', 'crashed'])
})

t.test('an endless search is ended with its process; requests behind it are tried again', async (t) => {
  // Longer than a start takes on a busy machine.
  const { ask, ends } = start(t, { timeoutMs: 6000 })
  const { pid } = await ask('answer')
  const endless = settled(ask('hold'))
  process.kill(pid, 'SIGSTOP')
  const behind = ask('answer')
  t.match(await endless, { constructor: RoutingTimedOut, code: 503, message: /within 6 s/ })
  t.not((await behind).pid, pid)
  t.strictSame(ends, ['hung'])
  await gone(pid)
})

t.test('a process that exceeds its memory limit finishes its requests and is replaced', async (t) => {
  const { valhalla, ask, ends } = start(t, { memoryBytes: 300 * MIB })
  const { pid } = await ask('grow', 400 * MIB)
  let next = pid
  while (next === pid) next = (await ask('pause')).pid
  t.strictSame(ends, ['memory'])
  await gone(pid)
  while (valhalla.residentBytes === 0) await sleep(50)
  t.ok(valhalla.residentBytes < 300 * MIB)
})

t.test('waiting requests are limited in number and bytes', async (t) => {
  const { valhalla, ask } = start(t, { maxWaiting: 3 })
  const { pid } = await ask('answer')
  const held = [settled(ask('hold')), settled(ask('hold'))]
  const waiting = [ask('answer'), ask('answer')]
  const big = valhalla.call('route', ' '.repeat(33 * MIB))
  t.match(await settled(big), { constructor: RoutingOverloaded, code: 503, retryAfter: 1 }, 'too many bytes')
  waiting.push(ask('answer'))
  t.equal(valhalla.waiting, 3)
  t.equal(valhalla.condition, 'running, 3 requests waiting')
  t.match(await settled(ask('answer')), { constructor: RoutingOverloaded, code: 503, retryAfter: 1 })
  process.kill(pid, 'SIGKILL')
  await Promise.all([...held, ...waiting])
  t.equal(valhalla.waiting, 0)
})

t.test('a child that does not start is retried ever more slowly; waiting requests time out', async (t) => {
  const { ask, ends } = start(t, {
    child: new URL('./notThere.ts', import.meta.url),
    timeoutMs: 1500,
  })
  const refusal = { constructor: RoutingOverloaded, code: 503 }
  t.match(await settled(ask('answer')), refusal)
  // At 0, 0, 100, 300, 700 and 1500 ms, or later on a busy machine where a start takes that long.
  t.ok(ends.length <= 6, `${ends.length} starts`)
  while (ends.length < 2) t.match(await settled(ask('answer')), refusal)
  t.ok(ends.every((end) => end === 'crashed'))
})

t.test('without the package the answer says so, at once and without further starts', async (t) => {
  const { valhalla, ask, ends } = start(t, { child: new URL('./missingChild.ts', import.meta.url) })
  const both = await Promise.all([settled(ask('answer')), settled(ask('answer')), settled(ask('answer'))])
  for (const error of [...both, await settled(ask('answer'))]) {
    t.match(error, { constructor: RoutingMissing, code: 503, message: /@valhallajs\/valhallajs/ })
  }
  t.strictSame(ends, ['missing'])
  t.equal(valhalla.condition, 'cannot be loaded on this machine')
})

t.test('a stop finishes accepted requests, accepts no more, and leaves no process', async (t) => {
  const { valhalla, ask, ends } = start(t)
  const { pid } = await ask('answer')
  const taken = [ask('pause'), ask('pause'), ask('pause'), ask('answer')]
  const stopped = valhalla.stop()
  t.match(await settled(ask('answer')), { constructor: RoutingGone, code: 503 })
  t.equal((await Promise.all(taken)).length, 4)
  await stopped
  t.notOk(isAlive(pid))
  t.strictSame(ends, ['stopped'])

  const unused = start(t)
  await unused.valhalla.stop()
  t.strictSame(unused.ends, [])
})

t.test('it survives signals to the process group, but not its parent', async (t) => {
  const parent = spawn(process.execPath, [new URL('./orphanParent.ts', import.meta.url).pathname], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => parent.kill('SIGKILL'))
  const [line] = (await once(parent.stdout, 'data')) as [Buffer]
  const pid = Number(line.toString())
  process.kill(pid, 'SIGINT')
  process.kill(pid, 'SIGTERM')
  await sleep(300)
  t.ok(isAlive(pid))
  parent.kill('SIGKILL')
  await gone(pid)
  t.pass('gone')
})
