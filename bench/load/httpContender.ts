import { thousands } from '../figures.ts'
import { progress } from '../progress.ts'
import { requireClean, type Contender, type Offer } from './contest.ts'
import type { Generator, LoadResult } from './load.ts'
import type { ServerProcess } from './servers.ts'
import type { Workload } from './workload.ts'

/** The number of connections for which the figures of HTTP are stated. */
export const CONNECTIONS = 256
/** If the generator uses more than this share of its processor, it cannot keep to a schedule. */
const GENERATOR_SHARE = 0.95
/** A warm-up may be slow, but if nothing was answered for this long, it does not go on. */
export const WARM_UP_PATIENCE_MS = 60_000

/** A server, with its position in the endless walk through the request file. */
export class HttpContender implements Contender {
  readonly name: string
  readonly server: ServerProcess
  /** The bytes per answer of each window at a rate. */
  readonly bytesPerAnswer: number[] = []
  readonly #workload: Workload
  readonly #generator: Generator
  #offset = 0

  constructor(name: string, server: ServerProcess, workload: Workload, generator: Generator) {
    this.name = name
    this.server = server
    this.#workload = workload
    this.#generator = generator
  }

  async offer(load: Offer) {
    const result = await this.#send(load)
    this.bytesPerAnswer.push(result.bytesReceived / result.ok)
    return { ...result, generatorWasLimit: result.cpuSeconds / result.seconds > GENERATOR_SHARE }
  }

  /** Sends one round, so that every device exists and the code is compiled. It takes as long as answers come. */
  async warmUp(): Promise<void> {
    const { devices } = this.#workload
    const load = { rate: 0, count: devices, maxLagMs: 1000, patienceMs: WARM_UP_PATIENCE_MS }
    const result = await this.#send(load, (count) =>
      progress(`${this.name} warms up: ${thousands(count)} of ${thousands(devices)} devices`),
    )
    requireClean(this, { ...result, generatorWasLimit: false })
  }

  async #send(load: Offer, onProgress?: (count: number) => void): Promise<LoadResult> {
    const result = await this.#generator.run(
      {
        port: this.server.port,
        connections: CONNECTIONS,
        requests: this.#workload.trackBodies,
        head: this.#workload.trackHead,
        group: this.#workload.devices,
        offset: this.#offset,
        ...load,
      },
      onProgress,
    )
    this.#offset += result.sent
    return result
  }
}
