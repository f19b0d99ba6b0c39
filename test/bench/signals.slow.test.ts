/** Benches of clusters that are ended early: none of their processes may stay behind, whoever gets which signal. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { until } from '../kit/waiting.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const skip = existsSync('/proc/self/stat') ? await skipWithout(NATS_SERVER) : 'there is no /proc'

interface Process {
  readonly pid: number
  readonly parent: number
  readonly words: string
}

/** The processes of this machine. */
function processes(): Process[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
      return state === 'Z' ? [] : [{ pid: Number(name), parent: Number(parent), words }]
    } catch {
      // It has ended meanwhile.
      return []
    }
  })
}

function descendantsOf(pid: number, all = processes()): Process[] {
  return all.filter(({ parent }) => parent === pid).flatMap((one) => [one, ...descendantsOf(one.pid, all)])
}

for (const [title, command, signal] of [
  ['bench soak-cluster', ['bench/run.ts', 'soak-cluster', '--minutes', '10', '--rate', '20'], 'SIGTERM'],
  ['bench cluster', ['bench/run.ts', 'cluster', '--smoke'], 'SIGINT'],
  ['test:faults', ['test/clusterFaults/run.ts', 'nats-killed'], 'SIGHUP'],
] as const)
  t.test(`${title}, ended by ${signal}, leaves no process`, { skip }, async (t) => {
    const child = spawn(process.execPath, command, { cwd: ROOT, stdio: 'ignore' })
    const ended = once(child, 'exit')
    const serving = () => descendantsOf(child.pid!).filter(({ words }) => /nats-server|src\/main/.test(words))
    await until(() => serving().length >= 3)
    // A moment later, so that it is not always the same one of them that is starting.
    await sleep(500)
    const started = descendantsOf(child.pid!)
    child.kill(signal)
    await ended
    const left = () => {
      const now = new Map(processes().map(({ pid, words }) => [pid, words]))
      return started.filter(({ pid, words }) => now.get(pid) === words)
    }
    for (let i = 0; left().length > 0 && i < 200; i++) await sleep(50)
    const stayed = left()
    for (const { pid } of stayed) process.kill(pid, 'SIGKILL')
    t.same(stayed, [])
  })
