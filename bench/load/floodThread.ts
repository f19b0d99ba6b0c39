/** A thread that floods a server (`flood.ts`) until it is terminated. It reports when it has begun. */
import { parentPort, workerData } from 'node:worker_threads'
import { flood, type Flood } from './flood.ts'

const { port, streams, key, crossing } = workerData as Pick<Flood, 'streams' | 'key'> & {
  readonly port: number
  /**
   * Devices alternate between this place and one a degree to the north. If absent, each stays in a place without
   * geofences.
   */
  readonly crossing?: readonly [number, number]
}

await flood(port, {
  streams,
  key,
  name: 'flood',
  place: (device, n) =>
    crossing === undefined
      ? [-30 + 0.0001 * (device % 100), -30 + 0.00001 * n]
      : [crossing[0], crossing[1] + (n % 2)],
})
parentPort!.postMessage('begun')
