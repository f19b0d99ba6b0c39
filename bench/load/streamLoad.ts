import { startLineChild } from './lineChild.ts'
import { PROTO_FILE } from './servers.ts'
import type { SessionOptions, StreamCommand, StreamLoad, StreamResult } from './streamGenerator.ts'

/** Open streams to one server. */
export interface StreamSession {
  run(load: StreamLoad): Promise<StreamResult>
  close(): Promise<void>
}

/** The generator's process, which encodes the updates of a request file and sends them again and again. */
export interface StreamGenerator {
  open(session: SessionOptions): Promise<StreamSession>
  stop(): void
}

/** @param count how many updates of the file are sent */
export async function startStreamGenerator(updatesFile: string, count: number): Promise<StreamGenerator> {
  const args = ['--updates', updatesFile, '--count', String(count), '--proto', PROTO_FILE]
  const child = await startLineChild<StreamCommand>('streamGenerator.ts', args)
  let sessions = 0
  return {
    async open(options) {
      const session = ++sessions
      await child.ask({ do: 'open', session, ...options })
      return {
        run: (load) => child.ask<StreamResult>({ do: 'run', session, ...load }),
        async close() {
          await child.ask({ do: 'close', session })
        },
      }
    },
    stop: () => child.stop(),
  }
}
