/** When the way to the destination is measured, and how it is scaled in between. */
import t from 'tap'
import { pointDistance } from '../../src/geometry/distance.ts'
import type { Position } from '../../src/model/geofence.ts'
import { asTheCrowFlies } from '../../src/trips/machine/eta.ts'
import { MINUTE, runs } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'
import { FAR, HOME, inStatus, NEXT_DOOR, TripDriver } from './machineKit.ts'

/** So many metres west of {@link FAR}. */
function west(meters: number): Position {
  return [FAR[0] - meters / 111_320, FAR[1]]
}

t.test('a way is measured at the first update, then after tripEtaSeconds and 50 m', async (t) => {
  const driver = new TripDriver()
  const asked = (at: Position, seconds: number) => {
    const before = driver.asked.length
    driver.events(at, {}, seconds)
    return driver.asked.length - before
  }
  t.equal(asked(FAR, 0), 1)
  t.equal(asked(west(1000), 29), 0)
  t.equal(asked(west(40), 60), 0, 'it has not moved far')
  t.equal(asked(west(60), 0), 1)
  t.equal(asked(west(120), 29), 0)
  t.equal(asked(west(120), 1), 1)
  driver.settings = { ...driver.settings, tripEtaSeconds: 0 }
  t.equal(asked(west(180), 1), 1)
})

t.test('a way is measured again after destination, mode or legs have changed', async (t) => {
  const driver = inStatus('started')
  driver.events(FAR)
  driver.call({ mode: 'bike' })
  t.equal(driver.asked.length, 1, 'a call measures nothing')
  driver.events(FAR, {}, 1)
  t.match(driver.asked.at(-1), {
    mode: 'bike',
    latitude: FAR[1],
    longitude: FAR[0],
    stops: [{ location: HOME }],
  })
  driver.call({ destination: { tag: 'store', externalId: 'other' } })
  driver.events(FAR, {}, 1)
  t.match(driver.asked.at(-1), { stops: [{ legId: '', location: NEXT_DOOR }] })
  driver.fences.put('other', HOME)
  driver.events(FAR, {}, 1)
  t.match(driver.asked.at(-1), { stops: [{ location: HOME }] }, 'its geofence was moved')
  driver.events(FAR, {}, 1)
  t.equal(driver.asked.length, 4)
})

t.test('in between it is scaled with the straight line, by two at most', async (t) => {
  const driver = inStatus('started')
  driver.roads = [60]
  driver.settings = { ...driver.settings, tripEtaSeconds: 100_000 }
  driver.events([0.5, 0])
  t.match(driver.trip.eta, { duration: 60, distance: 1000, source: 'road' })
  driver.events([0.25, 0])
  t.match(driver.trip.eta, { duration: 30, distance: 500 })
  driver.events([0.75, 0])
  t.match(driver.trip.eta, { duration: 90 })
  driver.events([5, 0])
  t.match(driver.trip.eta, { duration: 120 })
})

t.test('on a way that winds it is scaled along the way', async (t) => {
  const driver = inStatus('started')
  driver.settings = { ...driver.settings, tripEtaSeconds: 100_000 }
  driver.roads = [60]
  // Half of the way leads away from the stop.
  driver.ahead = { location: [0.75, 0], share: 0.5 }
  driver.events([0.5, 0])
  driver.events([0.55, 0])
  t.match(driver.trip.eta, { duration: 54, distance: 900 }, 'instead of 66')
  driver.events([0.75, 0])
  t.match(driver.trip.eta, { duration: 30, distance: 500 })
  driver.events([0.85, 0])
  t.match(driver.trip.eta, { duration: 102 }, 'beyond the point the straight line counts')
  driver.events([0.25, 0])
  t.match(driver.trip.eta, { duration: 30 }, 'beside the way, too')
  t.equal(driver.asked.length, 1)
})

t.test('on a way that is nearly straight, the straight line counts', async (t) => {
  const driver = inStatus('started')
  driver.settings = { ...driver.settings, tripEtaSeconds: 100_000 }
  driver.roads = [60]
  driver.ahead = { location: [0.4, 0], share: 0.22 }
  driver.events([0.5, 0])
  driver.events([0.4, 0])
  t.match(driver.trip.eta, { duration: 48 }, 'and not 46.8')
})

t.test('before a trip is approaching, a way that is older than 5 s is measured again', async (t) => {
  const driver = inStatus('started')
  driver.settings = { ...driver.settings, tripEtaSeconds: 100_000 }
  driver.roads = [10]
  driver.events([0.5, 0])
  driver.roads = [8]
  t.equal(driver.events([0.2, 0], {}, 60), 'U', 'four minutes by the straight line, eight by the road')
  t.equal(driver.asked.length, 2)
  driver.roads = [4]
  t.equal(driver.events([0.1, 0], {}, 5), 'A', 'the way is 5 s old')
  t.equal(driver.asked.length, 2)
  const pending = inStatus('pending')
  pending.roads = [4]
  t.equal(pending.events([0.1, 0]), 'SA')
})

t.test('the threshold: a trip’s own, else its destination’s, else the project’s', async (t) => {
  const trip = (
    own: number | undefined,
    fence: number | undefined,
    project: number | null,
    minutes: number,
  ) => {
    const driver = inStatus('started')
    driver.call({ approachingThreshold: own })
    driver.fences.put('home', HOME, { ...(fence !== undefined && { tripApproachingThreshold: fence }) })
    driver.settings = { ...driver.settings, tripApproachingThreshold: project }
    driver.roads = [minutes]
    return driver.events(FAR)
  }
  t.equal(trip(20, 10, 5, 20), 'A')
  t.equal(trip(1, 10, 5, 2), 'U')
  t.equal(trip(undefined, 10, 5, 10), 'A')
  t.equal(trip(undefined, undefined, 5, 5), 'A')
  t.equal(trip(undefined, undefined, 5, 5.1), 'U')
  t.equal(trip(undefined, undefined, null, 0.1), 'U')
})

t.test('as the crow flies: 1.3 times the line at the speed of the mode', async (t) => {
  for (const [mode, speed] of Object.entries({ car: 40, motorbike: 40, truck: 35, bike: 15, foot: 5 })) {
    const { minutes, meters } = asTheCrowFlies(mode as 'car', 10_000)
    t.equal(meters, 13_000)
    t.ok(Math.abs(minutes - (13 / speed) * 60) < 1e-9, mode)
  }
  const driver = new TripDriver()
  driver.roads = undefined
  driver.events(FAR)
  const meters = pointDistance(0, FAR[0], 0, HOME[0]) * 1.3
  t.match(driver.trip.eta, { source: 'straight', distance: Math.round(meters) })
})

t.test('property: an ETA has one decimal, is never negative, and is 0 once arrived', async (t) => {
  const place = fc.tuple(
    fc.double({ min: -3, max: 3, noNaN: true }),
    fc.double({ min: -3, max: 3, noNaN: true }),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(place, fc.nat(120), fc.boolean()), { maxLength: 20 }), (updates) => {
      const driver = new TripDriver()
      driver.roads = [12.345]
      for (const [at, seconds, isThere] of updates) {
        driver.events(at, isThere ? driver.in('home') : {}, seconds)
        const { eta, status } = driver.trip
        if (eta === undefined) throw new Error('no ETA')
        if (status === 'arrived' ? eta.duration !== 0 || eta.distance !== 0 : !(eta.duration >= 0))
          throw new Error(JSON.stringify(eta))
        if (Math.abs(eta.duration * 10 - Math.round(eta.duration * 10)) > 1e-6) throw new Error('decimals')
      }
    }),
    runs(200),
  )
  t.pass('for all updates that were drawn')
})

t.test('a leg’s ETA counts the stops before it, of an arrived one the rest', async (t) => {
  const driver = new TripDriver({})
  const leg = (name: string, stopDuration: number) => ({
    newId: name.padStart(24, '0'),
    destination: { type: 'geofence', tag: 'store', externalId: name } as const,
    stopDuration,
  })
  driver.fences.put('third', [0.2, 0])
  driver.call({ legs: [leg('home', 10), leg('other', 5), leg('third', 0)] })
  driver.roads = [20, 8, 30]
  driver.settings = { ...driver.settings, tripEtaSeconds: 100_000 }
  driver.events(FAR)
  const durations = () => driver.trip.legs!.map(({ eta }) => eta?.duration)
  t.strictSame(durations(), [20, 38, 73])
  t.equal(driver.trip.eta?.duration, 73, 'the trip’s is that of its last leg')
  driver.events(HOME, driver.in('home'))
  t.strictSame(durations(), [0, 18, 53])
  driver.now += 4 * MINUTE
  driver.events(HOME, driver.in('home', false), 0)
  t.strictSame(durations(), [0, 14, 49])
  driver.now += 20 * MINUTE
  driver.events(HOME, driver.in('home', false), 0)
  t.strictSame(durations(), [0, 8, 43])
})
