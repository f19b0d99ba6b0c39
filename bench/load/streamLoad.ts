import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { processorPins } from './load.ts'
import { PROTO_FILE } from './servers.ts'
import type { SessionOptions, StreamCommand, StreamLoad, StreamResult } from './streamGenerator.ts'

/** Open streams to one server. */
export interface StreamSession {
  run(load: StreamLoad): Promise<StreamResult>
  close(): Promise<void>
}

/** The generator's process, which encodes the updates of a request file and sends them over and over. */
export interface StreamGenerator {
  open(session: SessionOptions): Promise<StreamSession>
  stop(): void
}

/** @param count how many updates of the file are sent */
export async function startStreamGenerator(updatesFile: string, count: number): Promise<StreamGenerator> {
  const { generator: pin } = await processorPins()
  const [command, ...args] = [
    ...pin,
    process.execPath,
    join(import.meta.dirname, 'streamGenerator.ts'),
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
  let sessions = 0
  async function ask(what: StreamCommand): Promise<StreamResult> {
    child.stdin.write(`${JSON.stringify(what)}\n`)
    const line = await lines.next()
    if (line.done === true) throw new Error('the generator has ended')
    return JSON.parse(line.value) as StreamResult
  }
  return {
    async open(options) {
      const session = ++sessions
      await ask({ do: 'open', session, ...options })
      return {
        run: (load) => ask({ do: 'run', session, ...load }),
        async close() {
          await ask({ do: 'close', session })
        },
      }
    },
    stop() {
      process.off('exit', kill)
      child.kill()
    },
  }
}
