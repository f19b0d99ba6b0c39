import t from 'tap'
import { PLAIN_OFFSETS } from '../../src/model/zoneOffsets.ts'
import { GeofenceFinder } from '../../src/rules/geofenceFinder.ts'
import { NO_STATE } from '../../src/rules/deviceState.ts'
import { circumstancesOf } from '../../src/rules/circumstances.ts'
import { CandidateCache, CachedCandidates } from '../../src/rules/candidateCache.ts'
import { Probe } from '../../src/geometry/probe.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import fc from '../kit/fastCheck.ts'
import { Engine, runs } from '../actor/kit.ts'
import { moved, Random, randomGeofence, randomSettings } from '../actor/world.ts'

const SPREAD = 2000
const ROW = 300

t.test('remembered candidates are correct for every geofence, wherever the device went', async (t) => {
  let recalled = 0
  let forgotten = 0
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = new Random(seed)
      const engine = new Engine()
      const index = createGeofenceIndex()
      const place = { latitude: random.between(-79, 79), longitude: random.between(-180, 180) }
      for (let id = 1; id <= random.between(0, 25); id++)
        index.put(randomGeofence(random, id, place, random.magnitude(10, SPREAD), engine.clock.now()))
      const settings = randomSettings(random)
      const candidateCache = new CandidateCache(1)
      candidateCache.resize(512)
      const found = new CachedCandidates()
      const near = () => {
        const reach = random.magnitude(0.01, SPREAD)
        return moved(place, random.between(-reach, reach), random.between(-reach, reach))
      }
      for (let look = 0; look < 10; look++) {
        const from = near()
        const update = engine.update({ deviceId: 'd', ...from, accuracy: random.magnitude(1, 300) })
        const now = circumstancesOf(update, engine.clock.now(), {
          settings,
          zones: PLAIN_OFFSETS,
        })
        const finder = new GeofenceFinder()
        finder.find(NO_STATE, {
          update,
          view: {
            ...engine.world.scope(update.scope),
            revision: 1,
            index,
            geofence: () => undefined,
            geofenceNamed: () => undefined,
          },
          now,
        })
        finder.remember(candidateCache, ROW, [])
        for (let step = 0; step < 10; step++) {
          const distance = random.magnitude(0.01, SPREAD)
          const to = moved(from, random.between(-distance, distance), random.between(-distance, distance))
          const reach = random.chance(0.5) ? 0 : random.magnitude(1, 300)
          const left = candidateCache.recall(ROW, to.latitude, to.longitude, reach, found)
          if (left < 0) {
            forgotten++
            continue
          }
          recalled++
          const probe = new Probe().set(to.latitude, to.longitude)
          for (let slot = 0; slot < index.size; slot++) {
            const meters = index.distance(slot, probe)
            const at = found.slots.subarray(0, found.count).indexOf(slot)
            if (at < 0 && meters < left + reach)
              throw new Error(`${meters} m to what is not remembered, where ${left} + ${reach} are clear`)
            const least = found.meters[at]! - found.error[at]!
            if (at >= 0 && meters < least) throw new Error(`${meters} m, where it is ${least} at least`)
            const most = found.meters[at]! + found.error[at]!
            if (at >= 0 && found.meters[at]! < 0 && meters > most)
              throw new Error(`${meters} m, where it is ${most} at most`)
          }
        }
      }
    }),
    { ...runs(60), endOnFailure: true },
  )
  t.ok(recalled > 1000, `${recalled} recalled`)
  t.ok(forgotten > 1000, `${forgotten} looks were too far away`)
})

t.test('nothing is known about a row that was never queried, or was forgotten', async (t) => {
  const candidateCache = new CandidateCache(8)
  const found = new CachedCandidates()
  t.equal(candidateCache.recall(5, 0, 0, 0, found), -1)
  candidateCache.remember(5, 50, 10, 100, 1, [7], [40])
  candidateCache.setStays(5, 1, [7])
  t.ok(candidateCache.recall(5, 50, 10, 0, found) > 99)
  t.equal(candidateCache.stay(5, 0), 7)
  t.equal(candidateCache.recall(4, 50, 10, 0, found), -1, 'another row')
  candidateCache.forget(5)
  t.equal(candidateCache.recall(5, 50, 10, 0, found), -1)
  t.equal(candidateCache.stay(5, 0), -1)
})

t.test('the nearest are remembered, only as far as the next one', async (t) => {
  const candidateCache = new CandidateCache(8)
  const found = new CachedCandidates()
  const meters = [300, -20, 500, 70, 90, 60, 400]
  candidateCache.remember(0, 50, 10, 1000, meters.length, [0, 1, 2, 3, 4, 5, 6], meters)
  const left = candidateCache.recall(0, 50, 10, 0, found)
  t.same([...found.slots.subarray(0, found.count)], [1, 5, 3, 4])
  t.ok(left < 300 && left > 299, `${left}`)
})

t.test('nothing is remembered near the poles', async (t) => {
  const candidateCache = new CandidateCache(8)
  candidateCache.remember(0, 81, 10, 1000, 0, [], [])
  t.equal(candidateCache.recall(0, 81, 10, 0, new CachedCandidates()), -1)
})
