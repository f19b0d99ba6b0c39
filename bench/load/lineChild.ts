import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { killAtExit } from '../../cluster/killAtExit.ts'
import { processorPins } from './load.ts'

/** A generator as a separate process, which reads a JSON line for each command and answers each with one. */
export interface LineChild<Command> {
  /** @throws Error if it has ended; its stderr says why */
  ask<Answer>(command: Command): Promise<Answer>
  stop(): void
}

/** @param file in this folder */
export async function startLineChild<Command>(
  file: string,
  args: readonly string[],
): Promise<LineChild<Command>> {
  const { generator: pin } = await processorPins()
  const [command, ...rest] = [...pin, process.execPath, join(import.meta.dirname, file), ...args]
  const child = spawn(command!, rest, { stdio: ['pipe', 'pipe', 'inherit'] })
  killAtExit(child)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async ask(what) {
      child.stdin.write(`${JSON.stringify(what)}\n`)
      const line = await lines.next()
      if (line.done === true) throw new Error(`${file} has ended`)
      return JSON.parse(line.value)
    },
    stop() {
      child.kill()
    },
  }
}
