/** Which threads of a server tracking goes before: a real server, and what Linux says of its threads. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import t from 'tap'
import { withoutFirst } from '../../src/runtime/threadPriority.ts'
import { startServer } from '../kit/server.ts'

const LINUX = process.platform === 'linux'

/** The nice values of all threads of a process with this name; proc(5), fields 2 and 19 of `stat`. */
function nicesOf(pid: number, name?: string): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const stat = readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8')
    const end = stat.lastIndexOf(')')
    if (name !== undefined && stat.slice(stat.indexOf('(') + 1, end) !== name) return []
    return [Number(stat.slice(end + 2).split(' ')[16])]
  })
}

/** The processors that each thread of a process may use. The main thread is the first. */
function processorsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map(
    (task) =>
      /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync(`/proc/${pid}/task/${task}/status`, 'utf8'))![1]!,
  )
}

t.test('a list of processors without its first one', async (t) => {
  for (const [list, rest] of [
    ['0', ''],
    ['0-1', '1'],
    ['0-7', '1-7'],
    ['2,5-6', '5-6'],
    ['3-4,9', '4,9'],
  ] as const)
    t.equal(withoutFirst(list), rest, list)
})

t.test(
  'a password is hashed behind tracking, and nothing else is',
  { skip: LINUX ? false : 'Linux only' },
  async (t) => {
    const server = await startServer(t)
    t.ok(nicesOf(server.pid).every((nice) => nice === 0))
    // Threads get the priority of the one that starts them, and the log is written by these.
    t.strictSame(
      nicesOf(server.pid, 'libuv-worker'),
      [0, 0, 0, 0],
      'they run before any other thread could start them',
    )
    const answer = await fetch(`${server.url}/v1/sessions`, {
      method: 'POST',
      headers: { origin: server.url, 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'nobody@example.com', password: 'a long password' }),
    })
    t.equal(answer.status, 401)
    const nices = nicesOf(server.pid)
    t.equal(nices.filter((nice) => nice === 10).length, 1, 'the thread of the password')
    t.equal(nices.filter((nice) => nice === 0).length, nices.length - 1)
    const [all, ...processors] = processorsOf(server.pid)
    const left = withoutFirst(all!)
    const expected = left === '' || spawnSync('taskset', ['--version']).error !== undefined ? 0 : 1
    t.equal(processors.filter((list) => list !== all).length, expected, 'one thread leaves one free')
    if (expected === 1)
      t.equal(
        processors.find((list) => list !== all),
        left,
      )
  },
)

const SCHED_IDLE = 5

/** The scheduling class of each thread of a process; proc(5), field 41 of `stat`. */
function classesOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).map((task) => {
    const stat = readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[38])
  })
}

t.test(
  'a search runs when nothing else wants its processor, and nothing else does',
  {
    skip:
      !LINUX || availableParallelism() === 1 || spawnSync('chrt', ['--version']).error !== undefined
        ? 'Linux only, with chrt and two processors'
        : false,
  },
  async (t) => {
    const server = await startServer(t)
    t.notOk(classesOf(server.pid).includes(SCHED_IDLE), 'no thread searches yet')
    const { status } = await server.api('GET', '/v1/geocode/forward?query=Montevideo')
    t.equal(status, 200)
    const classes = classesOf(server.pid)
    t.equal(classes.filter((one) => one === SCHED_IDLE).length, 1, 'the thread that searches')
    t.equal(classes.filter((one) => one === 0).length, classes.length - 1)
    t.equal(nicesOf(server.pid).filter((nice) => nice === 10).length, 1)
  },
)
