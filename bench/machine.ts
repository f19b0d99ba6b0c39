import { execFileSync } from 'node:child_process'
import { closeSync, fdatasyncSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'

/** The machine that a figure was measured on, without which a figure means nothing. */
export function machineInfo(): Record<string, unknown> {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    processors: availableParallelism(),
    memoryGiB: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    system: `${process.platform} ${release()} ${process.arch}`,
    node: process.version,
    v8: process.versions.v8,
    uWebSockets: installedVersion('uWebSockets.js'),
    commit: commit(),
    date: new Date().toISOString(),
  }
}

function installedVersion(name: string): string {
  const path = join(import.meta.dirname, '..', 'node_modules', name, 'package.json')
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}

/** Short hash, with `+` if source files differ from it; `unknown` outside a checkout. */
function commit(): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no', '--', '../src', '../workers')
    return git('rev-parse', '--short', 'HEAD') + (changed === '' ? '' : '+')
  } catch {
    return 'unknown'
  }
}

/** CPU seconds that the whole machine has spent so far, on all processors together. */
export function machineCpuSeconds(): number {
  let milliseconds = 0
  for (const { times } of cpus()) milliseconds += times.user + times.nice + times.sys + times.irq
  return milliseconds / 1000
}

/** Median milliseconds of a 4 KiB append with fdatasync in that folder: the limit of the disk. */
export function flushMs(folder: string): number {
  const path = join(folder, 'flush.probe')
  const file = openSync(path, 'w')
  const block = Buffer.alloc(4096)
  const times: number[] = []
  for (let i = 0; i < 101; i++) {
    const start = process.hrtime.bigint()
    writeSync(file, block)
    fdatasyncSync(file)
    times.push(Number(process.hrtime.bigint() - start) / 1e6)
  }
  closeSync(file)
  unlinkSync(path)
  return times.toSorted((a, b) => a - b)[50]!
}
