/**
 * An invented actor type that shows what a type is: counters to which amounts are added, each exactly once. Whenever
 * the total passes a multiple of ten, there is an event.
 */
import type { ActorTable, ActorType } from '../../src/actor/actorType.ts'
import { ACTOR_TYPES } from '../../src/actor/actorTypes.ts'
import type { CommandKind } from '../../src/actor/command.ts'
import type { FrameBytes, FrameWriter } from '../../src/actor/commitCodec.ts'
import { readEvent } from '../../src/events/record.ts'
import { deviceHash } from '../../src/model/deviceHash.ts'
import { isoDate } from '../../src/model/isoDate.ts'
import { ApiError } from '../../src/runtime/errors.ts'

export interface Addition {
  readonly counter: string
  readonly amount: number
  /** Increases with each addition of a sender to a counter, so that a repeated addition is recognised. */
  readonly sender: string
  readonly number: number
}

interface Counter {
  readonly name: string
  readonly total: number
  /** By sender, the number of its last addition and the total in its answer. */
  readonly last: Readonly<Record<string, readonly [number: number, told: number]>>
}

/** There is an event each time a counter passes a multiple of this. */
const STEP = 10

export class CounterTable implements ActorTable {
  readonly counters = new Map<string, Counter>()

  readRow({ buffer }: FrameBytes, at: number, end: number): void {
    const counter = JSON.parse(buffer.toString('utf8', at, end)) as Counter
    this.counters.set(counter.name, counter)
  }

  writeAll(writer: FrameWriter): void {
    for (const counter of this.counters.values()) writeCounter(writer, counter)
  }
}

function writeCounter(writer: FrameWriter, counter: Counter): void {
  writer.actorRow(COUNTERS, Buffer.from(JSON.stringify(counter)))
}

/** Adds to a counter. The answer is its total. */
export const ADD: CommandKind<Addition, number> = {
  name: 'counter.add',
  isBounded: true,
  isBeforeUpdates: false,
  partitionOf: ({ counter }, { partitions }) => deviceHash(counter) % partitions,
  encode: ({ counter, amount, sender, number }) => [counter, amount, sender, number],
  decode(packed) {
    const [counter, amount, sender, number] = packed as [string, number, string, number]
    return { counter, amount, sender, number }
  },
  apply(partition, { counter: name, amount, sender, number }, { writer, time }) {
    const { counters } = partition.tableOf(COUNTERS)
    if (amount < 0) return new ApiError(400, 'amount: Must be 0 or more.', { param: 'amount' })
    const before = counters.get(name) ?? { name, total: 0, last: {} }
    const [last, told] = before.last[sender] ?? [0, 0]
    if (number <= last) return told
    const total = before.total + amount
    const counter = { name, total, last: { ...before.last, [sender]: [number, total] as const } }
    counters.set(name, counter)
    writeCounter(writer, counter)
    if (Math.floor(total / STEP) > Math.floor(before.total / STEP)) {
      const now = isoDate(time)
      const user = { _id: '', deviceId: name }
      const event = {
        _id: partition.events.nextId(),
        type: 'counted',
        createdAt: now,
        actualCreatedAt: now,
        user,
        total,
      }
      partition.events.add(readEvent(0, JSON.stringify(event)))
    }
    return total
  },
  repeat: (apply) => apply(),
}

export const COUNTERS: ActorType<CounterTable> = {
  name: 'counter',
  number: 200,
  commands: [ADD],
  createTable: () => new CounterTable(),
}

export const WITH_COUNTERS: readonly ActorType[] = [...ACTOR_TYPES, COUNTERS]
