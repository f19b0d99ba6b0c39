import { openEventIndex } from '../../src/events/eventIndex.ts'
import type { StoredEvent } from '../../src/events/port.ts'
import { event } from './contract.ts'

/** The events of one frame of an invented log: none, one, two or three. */
export function framesFor(position: number): StoredEvent[] {
  return Array.from({ length: position % 4 }, (_, i) => {
    const number = position * 4 + i
    return event(number, { createdAt: number, json: JSON.stringify({ number, createdAt: number }) })
  })
}

// With a file as argument, this process indexes frames without end. It first reports where it starts, then what is
// durable.
const file = process.argv[2]
if (process.send !== undefined && file !== undefined && import.meta.filename === process.argv[1]) {
  const index = await openEventIndex({
    file,
    failed: (error) => {
      throw error
    },
  })
  process.send(index.durableLogOffset)
  let position = index.durableLogOffset
  let told = position
  setInterval(() => {
    for (let i = 0; i < 20; i++) index.add(++position, framesFor(position))
    // A query does not wait for more events to gather, so the transactions become small and many.
    if (position % 100 === 0) void index.list(0, { limit: 1 })
    if (index.durableLogOffset === told) return
    told = index.durableLogOffset
    process.send!(told)
  }, 2)
}
