/** Plain moves, and the course of a trip: they do what `moved` does, as far as they do anything. */
import assert from 'node:assert/strict'
import t from 'tap'
import { FrameWriter, readFrame } from '../../src/actor/commitCodec.ts'
import type { Trip } from '../../src/model/trip.ts'
import { created } from '../../src/trips/machine/change.ts'
import { moved, type Moved, type TripMove } from '../../src/trips/machine/move.ts'
import { plainMove } from '../../src/trips/machine/plainMove.ts'
import { seen } from '../../src/trips/machine/places.ts'
import { packTrip, unpackTrip } from '../../src/trips/tripCodec.ts'
import { courseOf, onCourse, type Course } from '../../src/trips/tripCourses.ts'
import { movingJson, movingTexts, tripContext } from '../../src/trips/tripRecord.ts'
import { TripTable } from '../../src/trips/tripTable.ts'
import { NOON, runs } from '../actor/kit.ts'
import { Random } from '../actor/world.ts'
import fc from '../kit/fastCheck.ts'
import { HOME, TripDriver } from './machineKit.ts'

/** A trip and what happens around it, at random. */
class Story {
  readonly random: Random
  readonly driver: TripDriver
  base: Trip
  course: Course | undefined
  /** Degrees east of home. */
  #longitude = 0.3

  constructor(seed: number) {
    const random = new Random(seed)
    this.random = random
    const driver = new TripDriver({
      destination: { tag: 'store', externalId: 'home' },
      approachingThreshold: random.pick([undefined, 2]),
      metadata: random.pick([undefined, { updatedAt: '","eta":{"duration":', note: 'café' }]),
      scheduledArrivalAt: random.chance(0.2) ? NOON + 600_000 : undefined,
    })
    this.driver = driver
    driver.settings = {
      ...driver.settings,
      tripUpdateSeconds: random.pick([0, 30, 3600]),
      tripEtaSeconds: random.pick([30, 3600]),
      tripApproachingThreshold: random.pick([null, 1, 5]),
      tripWrongDestinationEvents: random.chance(0.3),
      tripDelayThreshold: random.pick([null, 1]),
    }
    driver.roads = random.pick([undefined, [20]])
    this.base = driver.trip
  }

  get trip(): Trip {
    return this.course === undefined ? this.base : onCourse(this.base, this.course)
  }

  /** A call or an edit. */
  disturb(): void {
    const { driver, random } = this
    driver.trip = this.trip
    if (random.chance(0.5))
      driver.call({ status: random.pick(['started', 'approaching', 'arrived'] as const) })
    else {
      const change = { enabled: random.chance(0.7), tripApproachingThreshold: random.pick([1, 3]) }
      driver.fences.put('home', random.pick([HOME, [0.01, 0]] as const), change)
    }
    this.#written(driver.trip)
  }

  draw(): TripMove {
    const { driver, random } = this
    driver.now += 1000 * (1 + random.below(45))
    this.#longitude = Math.max(0, this.#longitude + (random.chance(0.8) ? -0.004 : 0.004) * random.below(5))
    const device = random.chance(0.95) ? 'd' : 'e'
    const isHome = this.#longitude < 0.001
    const entered = driver.fences.id(isHome ? 'home' : 'other')
    return {
      deviceId: device,
      number: ++driver.number,
      user: { id: 'a'.repeat(24), userId: 'u', deviceId: device },
      time: driver.now - (random.chance(0.05) ? 100_000 : 0),
      receivedAt: driver.now,
      longitude: this.#longitude,
      latitude: random.chance(0.5) ? 0 : 0.001,
      accuracy: random.pick([undefined, 5, 30]),
      foreground: random.chance(0.5),
      stopped: random.chance(0.5),
      isInaccurate: random.chance(0.03),
      inside: isHome ? [driver.fences.id('home')] : [],
      entered: random.chance(0.1) ? [{ id: entered, confidence: 2 }] : [],
    }
  }

  /** The move in the obvious way. */
  slowly(move: TripMove): Moved | undefined {
    const { driver } = this
    const result = moved(this.trip, move, driver.surroundings, undefined)
    if (result === undefined || !('stops' in result)) return result
    const { roads } = driver
    const sections = roads && result.stops.map(() => ({ minutes: roads[0]!, meters: 12_000 }))
    return moved(this.trip, move, driver.surroundings, { question: result, sections }) as Moved
  }

  /** The plain move; undefined if the update is not plain. */
  plainly(move: TripMove): { readonly course: Course; readonly events: string } | undefined {
    const { base, driver, course } = this
    const geofence = driver.fences.named('store', 'home')!.geofence
    if (seen(base.destination!, driver.fences) !== base.destination) return undefined
    const { movedAt, heard, toldAt } = this.trip
    const before = { movedAt, number: heard[0]?.number ?? 0, toldAt }
    const update = {
      ...move,
      hasTransitions: move.entered.length > 0,
      visits: move.inside.map((geofenceId) => ({ geofenceId })),
    }
    const plain = plainMove(base, before, update, geofence, driver.settings)
    if (plain === undefined) return undefined
    const { minutes, meters, isTold } = plain
    return {
      course: {
        updatedAt: driver.now,
        movedAt: move.time,
        latitude: move.latitude,
        longitude: move.longitude,
        accuracy: move.accuracy ?? NaN,
        minutes,
        meters,
        number: move.number,
        toldAt: isTold ? move.time : (course?.toldAt ?? base.toldAt ?? NaN),
      },
      events: isTold ? 'U' : '',
    }
  }

  /** Stores the trip as a table does. */
  store(trip: Trip): void {
    const course = courseOf(this.base, trip)
    if (course === undefined) this.#written(trip)
    else this.course = course
  }

  #written(trip: Trip): void {
    this.base = trip
    this.course = undefined
  }
}

t.test('property: a plain move leaves what `moved` leaves, and many moves are plain', async (t) => {
  let plain = 0
  let all = 0
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const story = new Story(seed)
      const { random } = story
      for (let i = 0; i < 40; i++) {
        if (random.chance(0.05)) story.disturb()
        const move = story.draw()
        const result = story.slowly(move)
        const short = story.plainly(move)
        if (result === undefined) {
          assert.equal(short, undefined)
          continue
        }
        all++
        const { trip, events } = result
        if (short !== undefined) {
          plain++
          assert.deepEqual(short, { course: courseOf(story.base, trip), events: events.join('') })
          const context = { now: story.driver.now, settings: story.driver.settings }
          const json = movingJson(movingTexts(story.base), short.course)
          assert.equal(json, JSON.stringify(tripContext(trip, context)))
        }
        story.store(trip)
        assert.deepEqual(unpackTrip(packTrip(story.trip)), unpackTrip(packTrip(trip)))
      }
    }),
    runs(300),
  )
  t.ok(plain > all / 8, `${plain} of ${all}`)
})

t.test('only what a course has makes a row of a few numbers', async (t) => {
  const story = new Story(1)
  story.store(story.slowly({ ...story.draw(), isInaccurate: false, deviceId: 'd', entered: [] })!.trip)
  const { base } = story
  const change = { updatedAt: NOON + 1, movedAt: NOON + 1, eta: { ...base.eta!, duration: 3 } }
  const heard = [{ deviceId: 'd', number: 9, time: NOON + 1 }]
  t.match(courseOf(base, { ...base, ...change, heard }), { minutes: 3, number: 9 })
  for (const more of [
    { status: 'approaching' },
    { metadata: { a: 1 } },
    { told: ['{}'] },
    { isThere: true },
    { eta: undefined },
    { eta: { ...base.eta!, source: 'elsewhere' } },
    { user: { ...base.user!, deviceId: 'e' } },
    { heard: [{ deviceId: 'e', number: 9, time: NOON + 1 }] },
    { heard: [...heard, ...heard] },
    { heard: [{ deviceId: 'd', number: 9, time: NOON }] },
    { arrivedAt: NOON },
    { something: 'new' },
  ])
    t.equal(courseOf(base, { ...base, ...change, heard, ...more } as Trip), undefined, JSON.stringify(more))
})

t.test('property: a table is the same after its rows were read, and from a snapshot', async () => {
  fc.assert(
    fc.property(fc.integer(), fc.constantFrom(0, 4000, Infinity), (seed, unpackedBytes) => {
      const story = new Story(seed)
      const { random, driver } = story
      const table = new TripTable()
      table.limitUnpacked(8 * unpackedBytes)
      const writer = new FrameWriter()
      const frame = (fill: () => void): Uint8Array => {
        writer.begin(NOON)
        writer.beginCommit(0, 1, 1)
        fill()
        writer.endCommit()
        return Uint8Array.from(writer.take())
      }
      const other = created({ id: '1'.repeat(24), scope: 0, externalId: 'other' }, undefined, NOON)
      const frames = [frame(() => [story.base, other].forEach((trip) => table.put(writer, trip)))]
      const row = table.find(0, story.base.id)
      for (let i = 0; i < 25; i++) {
        story.base = table.get(row)
        story.course = undefined
        if (random.chance(0.1)) story.disturb()
        if (random.chance(0.1)) table.packResting()
        // Another trip is looked at in between.
        if (random.chance(0.3)) table.get(table.find(0, other.id))
        const move = story.draw()
        const result = story.slowly(move)
        if (result === undefined) continue
        const { time, latitude, longitude } = move
        frames.push(frame(() => table.put(writer, result.trip, { added: { time, latitude, longitude } })))
        assert.deepEqual(unpackTrip(packTrip(table.get(row))), unpackTrip(packTrip(result.trip)))
        assert.equal(table.updatedAt(row), driver.now)
      }
      const read = (all: readonly Uint8Array[]) => {
        const again = new TripTable()
        for (const bytes of all)
          readFrame(bytes, { commit: () => true, tableOf: () => again, wantsEvents: false, event() {} })
        return again
      }
      const snapshot = frame(() => table.writeAll(writer))
      for (const again of [read(frames), read([snapshot])]) {
        const at = again.find(0, story.base.id)
        assert.deepEqual(unpackTrip(packTrip(again.get(at))), unpackTrip(packTrip(table.get(row))))
        assert.deepEqual([...(again.trail(at) ?? [])], [...(table.trail(row) ?? [])])
        assert.equal(again.updatedAt(at), table.updatedAt(row))
      }
    }),
    runs(100),
  )
})
