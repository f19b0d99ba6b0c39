/** Who reaches a place in time, compared with trying everybody. */
import t from 'tap'
import type { FoundUser, Users } from '../../src/actor/port.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import type { Position } from '../../src/model/geofence.ts'
import { usersWithin, type TravelTimes } from '../../src/users/travelSearch.ts'
import fc from '../kit/fastCheck.ts'

const PLACE: Position = [-56.19, -34.9]
const RUNS = 60 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)

interface Person {
  readonly id: string
  readonly position: Position
  /** Travel time; Infinity if there is no route. */
  readonly minutes: number
}

/** Distance in a straight line, and the travel time of a car that is never faster than that. */
function metersOf({ position: [lon, lat] }: Person): number {
  return pointDistance(PLACE[1], PLACE[0], lat, lon)
}

function usersOf(people: readonly Person[]): Users {
  const near = people.toSorted((a, b) => metersOf(a) - metersOf(b))
  return {
    async ask(question) {
      if (question.ask !== 'near') throw new Error(`unexpected: ${question.ask}`)
      const { radiusMeters, limit } = question.near
      const found = near.filter((person) => metersOf(person) <= radiusMeters).slice(0, limit)
      const users = found.map((person): FoundUser => {
        const user = [JSON.stringify({ location: { coordinates: person.position } })]
        return { order: [metersOf(person), 0, 0], id: person.id, deviceId: person.id, user, explanation: [] }
      })
      return { users, hasMore: false }
    },
  }
}

function timesOf(people: readonly Person[]) {
  const minutes = new Map(people.map((person) => [person.position.join(), person.minutes]))
  const asked = { most: 0, all: 0 }
  const times: TravelTimes = {
    async minutesTo(_param, _place, origins) {
      asked.most = Math.max(asked.most, origins.length)
      asked.all += origins.length
      return origins.map((origin) => minutes.get(origin.join())!)
    },
  }
  return { times, asked }
}

/** Up to some degrees away. Each route is longer than the straight line by a different factor. */
const people = fc
  .array(
    fc.record({ x: fc.double({ min: -3, max: 3 }), y: fc.double({ min: -3, max: 3 }), more: fc.nat(5) }),
    {
      maxLength: 700,
    },
  )
  .map((all) =>
    all.map(({ x, y, more }, i): Person => {
      const position: Position = [PLACE[0] + (x || 0) ** 3 / 9, PLACE[1] + (y || 0) ** 3 / 9 + i * 1e-9]
      const straight = (metersOf({ id: '', position, minutes: 0 }) / 150_000) * 60
      return { id: `${i}`, position, minutes: more === 5 ? Infinity : straight * (1 + more / 2) }
    }),
  )

const question = { scope: 0, latitude: PLACE[1], longitude: PLACE[0], mode: 'car' } as const

t.test('the same result as when everybody is measured', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      people,
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 1, max: 100 }),
      async (all, minutes, limit) => {
        const { times, asked } = timesOf(all)
        const found = await usersWithin(usersOf(all), times, { ...question, minutes, limit })
        const expected = all
          .filter((person) => person.minutes <= minutes)
          .map((person) => person.minutes)
          .toSorted((a, b) => a - b)
          .slice(0, limit)
        const minutesOf = (id: string) => all.find((person) => person.id === id)!.minutes
        t.strictSame(
          found.map(({ id }) => minutesOf(id)),
          expected,
        )
        t.ok(asked.most <= 625)
        t.ok(asked.all <= all.length, 'nobody is measured twice')
      },
    ),
    { numRuns: RUNS },
  )
})

t.test('of a crowd that no route reaches, only a part is checked', async (t) => {
  const crowd = Array.from({ length: 3000 }, (_, i): Person => {
    return { id: `${i}`, position: [PLACE[0] + i * 1e-6, PLACE[1]], minutes: Infinity }
  })
  const { times } = timesOf(crowd)
  await t.rejects(usersWithin(usersOf(crowd), times, { ...question, minutes: 10, limit: 10 }), {
    code: 400,
    param: 'radius',
  })
})
