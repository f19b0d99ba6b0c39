import type { ChildProcess } from 'node:child_process'

/** The processes that run, and that are killed when this one exits. */
const running = new Set<ChildProcess>()

function killAll(): void {
  for (const child of running) child.kill('SIGKILL')
}

/**
 * Kills the process when this one exits, if it still runs then. That happens before earlier handlers of `exit` remove its
 * folder, to which it would write. One handler serves all processes, because Node warns of a leak when there are more than ten.
 */
export function killAtExit(child: ChildProcess): void {
  if (running.size === 0) process.prependListener('exit', killAll)
  running.add(child)
  child.once('exit', () => {
    running.delete(child)
    if (running.size === 0) process.off('exit', killAll)
  })
}
