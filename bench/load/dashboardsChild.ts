/**
 * A program that watches and follows what open dashboards do, with the client of this project, as a separate process: so its work
 * is on the processor of the generator, like that of the machines for which it stands. Reads one JSON line per command from
 * its input, {@link DashboardsCommand}, and writes a {@link DashboardsFigures} for each.
 */
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { Ringfence } from '../../sdk/src/client.ts'
import type { RingfenceStream } from '../../sdk/src/stream/stream.ts'

/** West, south, east, north in degrees. */
export type Viewport = readonly [west: number, south: number, east: number, north: number]

export type DashboardsCommand =
  /** One dashboard for each viewport, until the next command `close`. */
  { readonly do: 'open'; readonly viewports: readonly Viewport[] } | { readonly do: 'look' | 'close' }

/** Since the command before. */
export interface DashboardsFigures {
  readonly positions: number
  readonly events: number
}

const { values } = parseArgs({ options: { url: { type: 'string' }, key: { type: 'string' } } })
let streams: readonly RingfenceStream[] = []
let stop = new AbortController()
let positions = 0
let events = 0

function open(box: Viewport): RingfenceStream {
  const stream = new Ringfence({ url: values.url!, key: values.key! }).stream()
  const { signal } = stop
  const watch = async () => {
    for await (const batch of stream.watchBatches({ type: 'box', box }, { signal })) positions += batch.length
  }
  const follow = async () => {
    for await (const _ of stream.events({}, { batch: true, signal })) events++
  }
  for (const work of [watch, follow])
    work().catch((error: unknown) => {
      if (signal.aborted) return
      console.error(error)
      process.exit(1)
    })
  return stream
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line) as DashboardsCommand
  if (command.do === 'open') {
    stop = new AbortController()
    streams = command.viewports.map(open)
  } else if (command.do === 'close') {
    stop.abort()
    await Promise.all(streams.map((stream) => stream.close()))
    streams = []
  }
  console.log(JSON.stringify({ positions, events } satisfies DashboardsFigures))
  positions = events = 0
}
