/**
 * A program that watches an area with the client of this project, as a separate process. Reads one JSON line per
 * command from its input, {@link WatchCommand}, and writes a {@link WatchFigures} for each.
 */
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { Ringfence } from '../../sdk/src/client.ts'
import type { WatchedArea } from '../../sdk/src/stream/messages.ts'

export type WatchCommand =
  | { readonly do: 'watch'; readonly area: WatchedArea; readonly isBatched: boolean }
  | { readonly do: 'look' }
  | { readonly do: 'stop' }

/** Since the command before. */
export interface WatchFigures {
  readonly positions: number
  readonly cpuSeconds: number
}

const { values } = parseArgs({ options: { url: { type: 'string' }, key: { type: 'string' } } })
const client = new Ringfence({ url: values.url!, key: values.key! })
let stream: ReturnType<Ringfence['stream']> | undefined
let positions = 0
let last = process.cpuUsage()

async function follow(area: WatchedArea, isBatched: boolean, of: NonNullable<typeof stream>): Promise<void> {
  if (isBatched) for await (const batch of of.watchBatches(area)) positions += batch.length
  else for await (const _ of of.watch(area)) positions++
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line) as WatchCommand
  if (command.do === 'watch') {
    stream = client.stream()
    void follow(command.area, command.isBatched, stream).catch((error: unknown) => {
      console.error(error)
      process.exit(1)
    })
  } else if (command.do === 'stop') {
    await stream?.close()
    stream = undefined
  }
  const { user, system } = process.cpuUsage(last)
  last = process.cpuUsage()
  console.log(JSON.stringify({ positions, cpuSeconds: (user + system) / 1e6 } satisfies WatchFigures))
  positions = 0
}
