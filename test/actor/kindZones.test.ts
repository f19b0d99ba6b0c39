import t from 'tap'
import { KindZones } from '../../src/actor/kindZones.ts'
import type { Update } from '../../src/model/update.ts'
import { passingRadius, ZONE, zoneRadius, type ZoneLimits } from '../../src/rules/safeZone.ts'

const EVER = { until: Infinity, untilReceived: Infinity }
/** Single precision cannot store their radii. */
const LIMITS: readonly ZoneLimits[] = [
  { ...EVER, meters: 100.1 },
  { meters: 5.3, until: 1000, untilReceived: 2000, accuracy: 200, onlyMoving: true, passingMeters: 60.7 },
  { ...EVER, meters: 700.7 },
]
const TIME = 400

function update(change: Partial<Update> = {}): Update {
  const common = { scope: 1, deviceId: 'd', latitude: 0, longitude: 0, replayed: false, ip: '' }
  return { ...common, foreground: false, stopped: false, accuracy: 10, receivedAt: 500, ...change }
}

/** The zones of row 3, on the equator by default. */
function zonesOf(limits = LIMITS, latitude = 0): KindZones {
  const kindZones = new KindZones()
  kindZones.set(3, limits, latitude, TIME, 8)
  return kindZones
}

t.test('a radius is stored no larger than it is, and hardly smaller', async (t) => {
  const left = zonesOf().left(3, 0, TIME, update(), true)!
  const isNear = (stored: number, radius: number) =>
    t.ok(stored <= radius && stored > radius * (1 - 1e-6), `${stored} of ${radius} m`)
  LIMITS.forEach((one, kind) => isNear(left[kind]!.meters, zoneRadius(one, 0, TIME)))
  isNear(left[ZONE.places]!.passingMeters!, passingRadius(LIMITS[ZONE.places]!, 0))
})

t.test('what is left: by the way, the time, the accuracy and stops', async (t) => {
  const zones = zonesOf()
  const kinds = (moved: number, time = TIME, change: Partial<Update> = {}, mayPass = true) =>
    zones.left(3, moved, time, update(change), mayPass)?.map((one) => one && Math.floor(one.meters))
  t.strictSame(kinds(5), [94, 0, 694])
  t.ok(zones.left(3, 5, TIME, update(), true)![ZONE.places]!.meters > 0.2)
  t.strictSame(kinds(60), [39, 0, 639], 'only the passing zone is left of that of places')
  t.strictSame(kinds(60, TIME, {}, false), [39, undefined, 639], 'if it counts')
  t.strictSame(kinds(61), [38, undefined, 638])
  t.strictSame(kinds(200), [undefined, undefined, 499])
  t.equal(kinds(800), undefined, 'nothing')
  const only = (time: number, change: Partial<Update>) => kinds(1, time, change, false)![ZONE.places]
  t.equal(only(1000, {}), 4)
  t.equal(only(1001, {}), undefined, 'its time is over')
  t.equal(only(TIME, { receivedAt: 2000 }), undefined)
  t.equal(only(TIME, { accuracy: 201 }), undefined)
  t.equal(only(TIME, { stopped: true }), undefined)
  t.equal(only(TIME, { foreground: true }), undefined)
  t.equal(zones.left(2, 0, TIME, update(), true), undefined, 'another row has none')
  t.equal(zones.left(8, 0, TIME, update(), true), undefined, 'nor has one beyond the memory')
  t.equal(zonesOf(LIMITS, 81).left(3, 0, TIME, update(), true), undefined, 'and none is near a pole')
})

t.test('an update passes if nothing but the first candidate may be another one', async (t) => {
  const passes = (moved: number, zones = zonesOf()) => zones.isPassing(3, moved, TIME, update())
  t.equal(passes(60), true)
  t.equal(passes(61), false, 'a stay may end')
  for (const kind of [ZONE.geofences, ZONE.regions])
    t.equal(passes(60, zonesOf(LIMITS.with(kind, { ...EVER, meters: 59 }))), false)
  const zones = zonesOf()
  zones.endPlaces(3)
  t.equal(zones.left(3, 1, TIME, update(), true)![ZONE.places]!.meters, 0, 'another one may be first')
  t.equal(passes(60, zones), true)
  t.ok(zones.placesRadius(3) > 5.2, 'how large the zone was is known')
  zones.end(3)
  t.equal(passes(1, zones), false)
  t.equal(zones.left(3, 1, TIME, update(), true), undefined)
})
