/**
 * Sends the load of some connections through the client, `node streamLoadChild.ts '{"url": …}'`, and answers each
 * message from its parent with the progress so far.
 */
import { Ringfence, type StreamEncoding } from '../../sdk/src/index.ts'
import { sdkEncoding } from '../kit/stream.ts'
import { Seeded } from './seeded.ts'
import { encodingOf, updatesOf, type Load } from './streamLoad.ts'

export interface Order {
  readonly url: string
  readonly key: string
  readonly load: Load
  readonly connections: readonly number[]
}

export interface Progress {
  /** Updates that have been sent at least once. */
  readonly sent: number
  /** Updates whose promise has resolved. */
  readonly durable: number
  /** The reasons of rejected promises as text; there should be none. */
  readonly failures: readonly string[]
  /** All promises are settled and all streams are closed. */
  readonly isDone: boolean
  /** Memory of this process. */
  readonly rssBytes: number
}

/** Updates of one connection that may be unacknowledged at least; half of them are sent at once. */
const LEAST_OPEN = 20
const MOST_OPEN = 400

const failures: string[] = []
let sent = 0
let durable = 0
let isDone = false

const { url, key, load, connections } = JSON.parse(process.argv[2]!) as Order
const client = new Ringfence({ url, key })

process.on('message', () => {
  const progress: Progress = { sent, durable, failures, isDone, rssBytes: process.memoryUsage.rss() }
  process.send!(progress)
})
process.on('disconnect', () => process.exit())

await Promise.all(connections.map(sendAll))
isDone = true

async function sendAll(connection: number): Promise<void> {
  const stream = client.stream({ encoding: counting(sdkEncoding(encodingOf(connection))) })
  const mostOpen = new Seeded(load.seed - 1 - connection).integer(LEAST_OPEN, MOST_OPEN)
  let open = 0
  let goOn = () => {}
  const settled = () => {
    open--
    if (open <= mostOpen / 2) goOn()
  }
  for (const update of updatesOf(load, connection)) {
    if (open === mostOpen) await new Promise<void>((resolve) => (goOn = resolve))
    open++
    stream.track(update).then(
      () => {
        durable++
        settled()
      },
      (error: unknown) => {
        failures.push(`${update.deviceId}: ${String(error)}`)
        settled()
      },
    )
  }
  await stream.close()
}

/** Counts the updates that are sent for the first time. */
function counting(encoding: StreamEncoding): StreamEncoding {
  let highest = 0
  return {
    ...encoding,
    encode(message) {
      if (message.type === 'track') {
        const last = message.sequence + message.updates.length - 1
        sent += Math.max(0, last - highest)
        highest = Math.max(highest, last)
      }
      return encoding.encode(message)
    },
  }
}
