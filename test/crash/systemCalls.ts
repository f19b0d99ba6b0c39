/** The system calls of a running process, as recorded by strace, in the order of the trace's lines. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'

/** `began` and `ended` are line numbers. */
export interface SystemCall {
  readonly name: string
  /** The arguments as strace prints them: descriptors with their paths, texts with escapes. */
  readonly text: string
  readonly began: number
  /** Infinity if the trace ends first. */
  ended: number
  /** Empty if the trace ends first. */
  result: string
}

/** Attaches to all threads of a process. Resolves once calls are being recorded. */
export async function trace(pid: number, file: string, calls: readonly string[]) {
  const options = ['-f', '-y', '-s', '1000000', '-o', file, '-e', `trace=${calls.join()}`]
  const child = spawn('strace', [...options, '-p', String(pid)], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (/attached/.test(said)) resolve()
    })
    child.once('close', (code) => reject(new Error(`strace ended with ${code}: ${said}`)))
  })
  return {
    /** Detaches from the process, which continues to run, and returns the recorded calls. */
    async stop(): Promise<SystemCall[]> {
      child.kill('SIGTERM')
      await once(child, 'close')
      return parseTrace(readFileSync(file, 'latin1'))
    },
  }
}

/** Joins the `<unfinished ...>` and `resumed` halves of calls that overlap with calls of another thread. */
export function parseTrace(text: string): SystemCall[] {
  const calls: SystemCall[] = []
  const unfinished = new Map<string, SystemCall>()
  for (const [number, line] of text.split('\n').entries()) {
    const whole = /^(\d+)\s+(\w+)\((.*)\)\s+= (-?\d+)/.exec(line)
    const begun = /^(\d+)\s+(\w+)\((.*)<unfinished \.\.\.>$/.exec(line)
    const resumed = /^(\d+)\s+<\.\.\. (\w+) resumed>.*\)\s+= (-?\d+)/.exec(line)
    if (whole !== null) {
      calls.push({ name: whole[2]!, text: whole[3]!, began: number, ended: number, result: whole[4]! })
    } else if (begun !== null) {
      const call = { name: begun[2]!, text: begun[3]!, began: number, ended: Infinity, result: '' }
      calls.push(call)
      unfinished.set(begun[1]!, call)
    } else if (resumed !== null) {
      const call = unfinished.get(resumed[1]!)
      // The call may have begun before the trace did.
      if (call === undefined) continue
      call.ended = number
      call.result = resumed[3]!
      unfinished.delete(resumed[1]!)
    }
  }
  return calls
}

/** The reason why strace cannot be used here, or false. */
export function noTrace(): string | false {
  if (spawnSync('strace', ['-V']).error !== undefined) return 'strace is not installed'
  const tried = spawnSync('strace', ['-f', '-e', 'trace=none', 'true'])
  return tried.status !== 0 && `strace may not trace here: ${tried.stderr}`
}
