import { spawn, type ChildProcess } from 'node:child_process'

/**
 * Ends the processes of a cluster when this process is gone, also if it was killed and could not do it itself. They are in
 * groups of their own, so that a Ctrl-C does not reach them, and so nothing else would end them then.
 *
 * A shell is told which processes there are, and reads on until this process is gone and its pipe closes.
 */
const PROGRAM = `
all=''
while read -r what pid; do
  rest=''
  for one in $all; do [ "$one" = "$pid" ] || rest="$rest $one"; done
  all="$rest"
  [ "$what" = came ] && all="$all $pid"
done
[ -z "$all" ] || kill -9 $all
`

let keeper: ChildProcess | undefined

/** A process has started, and is ended with this one. */
export function keep(pid: number): void {
  tell(`came ${pid}`)
}

/** A process has ended. Its number may become that of another one. */
export function forget(pid: number): void {
  tell(`went ${pid}`)
}

function tell(line: string): void {
  keeper ??= start()
  keeper.stdin!.write(`${line}\n`)
}

function start(): ChildProcess {
  // Detached, so that what kills the group of this process does not kill it.
  const child = spawn('/bin/sh', ['-c', PROGRAM], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  // A system without a shell has no keeper.
  child.on('error', () => {})
  child.stdin.on('error', () => {})
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  return child
}
