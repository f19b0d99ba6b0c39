import assert from 'node:assert/strict'
import type { Partition } from '../../src/actor/partition.ts'
import { tripId } from '../../src/events/ids.ts'
import { deviceHash } from '../../src/model/deviceHash.ts'
import type { FoundTrip, TripAnswer, TripQuestion } from '../../src/trips/port.ts'
import { TRIPS } from '../../src/trips/tripActor.ts'
import { TRIP_CALL, type TripCall, type TripCallResult } from '../../src/trips/tripCall.ts'
import { mergeTripAnswers, tripAnswerSteps } from '../../src/trips/tripQueries.ts'
import { ALL_ACTOR_TYPES } from '../../src/trips/tripTypes.ts'
import { Engine, SALT, type EngineOptions } from '../actor/kit.ts'
import { Random } from '../actor/world.ts'

/** An engine whose partitions have trips, driven by commands. */

let drawn = 0

export function engineWithTrips(options: EngineOptions = {}): Engine {
  return new Engine({ types: ALL_ACTOR_TYPES, ...options })
}

/** The `_id` of a trip of that name. */
export function newTripId(engine: Engine, externalId: string): string {
  const partition = deviceHash(externalId) % engine.partitions.length
  return tripId(SALT, engine.clock.now(), partition, [++drawn * 2048, drawn])
}

/** A call on a trip, which is created if it is not there. */
export function call(
  engine: Engine,
  id: string,
  externalId: string,
  more: Partial<TripCall> = {},
): Promise<TripCallResult> {
  // As of a registry that this one has not seen yet: there is no directory here.
  const create = { externalId, revision: Number.MAX_SAFE_INTEGER }
  return engine.host.execute(TRIP_CALL, { scope: 0, id, create, mayRestart: true, ...more }, 10)
}

/** Everything durable of the trips of all partitions, by `_id`. */
export function tripsOf(partitions: readonly Partition[]) {
  return partitions
    .flatMap((partition) => {
      const table = partition.tableOf(TRIPS)
      const rows = Array.from({ length: table.length }, (_, row) => row)
      return rows
        .filter((row) => table.exists(row))
        .map((row) => ({
          ...table.get(row),
          locations: [...(table.trail(row) ?? [])],
          partition: partition.number,
        }))
    })
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** The answer of one host. Hosts that share its partitions in any way must give the same answer. */
export function ask(engine: Engine, question: TripQuestion, random = new Random(1)): readonly FoundTrip[] {
  const parts = { registry: engine.world, clock: engine.clock }
  const answerOf = (partitions: readonly Partition[]): TripAnswer => {
    const steps = tripAnswerSteps(partitions, question, parts)
    for (;;) {
      const step = steps.next()
      if (step.done) return step.value
    }
  }
  const answer = answerOf(engine.partitions)
  const hosts = Array.from({ length: 1 + random.below(4) }, () => [] as Partition[])
  for (const partition of engine.partitions) random.pick(hosts).push(partition)
  const answers = hosts.map(answerOf)
  const merged = mergeTripAnswers(question, random.chance(0.5) ? answers : answers.reverse())
  const inOrder = ({ trips, hasMore }: TripAnswer) => ({
    hasMore,
    trips: question.ask === 'ofRecords' ? trips.toSorted((a, b) => (a.id < b.id ? -1 : 1)) : trips,
  })
  assert.deepEqual(inOrder(merged), inOrder(answer))
  return answer.trips
}
