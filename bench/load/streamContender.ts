import type { Contender } from './contest.ts'
import { BENCH_KEYS, type ServerProcess } from './servers.ts'
import type { SessionOptions } from './streamGenerator.ts'
import type { StreamGenerator } from './streamLoad.ts'

export type StreamCase = Omit<SessionOptions, 'port' | 'key'>

/** A server with streams that stay open until they are closed. */
export async function openStreams(
  name: string,
  server: ServerProcess,
  streams: StreamCase,
  generator: StreamGenerator,
): Promise<{ contender: Contender; close: () => Promise<void> }> {
  const session = await generator.open({ ...streams, port: server.port, key: BENCH_KEYS.testPublishable })
  const contender: Contender = {
    name,
    server,
    async offer(load) {
      const result = await session.run(load)
      return result.problems === 0 ? result : { ...result, ok: 0 }
    },
  }
  return { contender, close: () => session.close() }
}
