import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { processorPins } from './load.ts'
import { PROTO_FILE } from './servers.ts'
import type { StreamLoad, StreamResult } from './streamGenerator.ts'

/** The generator's process, which encodes the updates of a request file once and then takes one run after another. */
export interface StreamGenerator {
  run(load: StreamLoad): Promise<StreamResult>
  stop(): void
}

/** @param count how many updates of the file are sent, over and over */
export async function startStreamGenerator(updatesFile: string, count: number): Promise<StreamGenerator> {
  const { generator: pin } = await processorPins()
  const program = [...pin, process.execPath, join(import.meta.dirname, 'streamGenerator.ts')]
  const [command, ...args] = [
    ...program,
    '--updates',
    updatesFile,
    '--count',
    String(count),
    '--proto',
    PROTO_FILE,
  ]
  const child = spawn(command!, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async run(load) {
      child.stdin.write(`${JSON.stringify(load)}\n`)
      const line = await lines.next()
      if (line.done === true) throw new Error('the generator has ended')
      return JSON.parse(line.value) as StreamResult
    },
    stop() {
      process.off('exit', kill)
      child.kill()
    },
  }
}
