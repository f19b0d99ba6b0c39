import t from 'tap'
import { KindZones } from '../../src/actor/kindZones.ts'
import type { Update } from '../../src/model/update.ts'
import { ZONE, type SafeZone } from '../../src/rules/safeZone.ts'

const EVER = { until: Infinity, untilReceived: Infinity, accuracy: Infinity, onlyMoving: false }
/** Radii that single precision cannot store. */
const ZONES: readonly SafeZone[] = [
  { ...EVER, radiusMeters: 100.1 },
  {
    radiusMeters: 5.3,
    until: 1000,
    untilReceived: 2000,
    accuracy: 200,
    onlyMoving: true,
    passingMeters: 60.7,
  },
  { ...EVER, radiusMeters: 700.7 },
]

function update(change: Partial<Update> = {}): Update {
  const common = { scope: 1, deviceId: 'd', latitude: 0, longitude: 0, replayed: false, ip: '' }
  return { ...common, foreground: false, stopped: false, accuracy: 10, receivedAt: 500, ...change }
}

function zonesOf(zones: readonly SafeZone[] | undefined): KindZones {
  const kindZones = new KindZones()
  kindZones.set(3, zones, 8)
  return kindZones
}

t.test(
  'a radius is never stored larger than it is, and at most a micrometre in a metre smaller',
  async (t) => {
    const left = zonesOf(ZONES).left(3, 0, 400, update(), true)!
    ZONES.forEach(({ radiusMeters }, kind) => {
      const { meters } = left[kind]!
      t.ok(meters <= radiusMeters && meters > radiusMeters * (1 - 1e-6), `${meters} of ${radiusMeters} m`)
    })
    const passing = left[ZONE.places]!.passingMeters!
    t.ok(passing <= 60.7 && passing > 60.6999)
  },
)

t.test('what is left: by the way, the time and the accuracy; moving devices may pass', async (t) => {
  const zones = zonesOf(ZONES)
  const kinds = (moved: number, time: number, change: Partial<Update> = {}, mayPass = true) =>
    zones.left(3, moved, time, update(change), mayPass)?.map((one) => one?.meters)
  t.strictSame(
    kinds(5, 400)!.map((meters) => Math.floor(meters!)),
    [95, 0, 695],
  )
  t.equal(kinds(60, 400)![ZONE.places], 0, 'only the passing zone')
  t.equal(kinds(60, 400, {}, false)![ZONE.places], undefined, 'which counts for moving devices')
  t.equal(kinds(61, 400)![ZONE.places], undefined)
  t.equal(kinds(1, 1001)![ZONE.places], 0, 'its time is over')
  t.equal(kinds(1, 400, { receivedAt: 2000 })![ZONE.places], 0)
  t.equal(kinds(1, 400, { accuracy: 201 })![ZONE.places], 0)
  t.equal(kinds(800, 400), undefined, 'nothing is left')
  t.equal(zones.left(2, 0, 400, update(), true), undefined, 'another row has none')
  t.equal(zones.left(8, 0, 400, update(), true), undefined, 'and a row beyond the memory')
})

t.test('an update passes if nothing is left but another first candidate', async (t) => {
  const passes = (moved: number, change: Partial<Update> = {}, zones = zonesOf(ZONES)) =>
    zones.isPassing(3, moved, 400, update(change))
  t.equal(passes(60), true)
  t.equal(passes(61), false, 'a stay may end')
  t.equal(passes(60, {}, zonesOf(ZONES.with(ZONE.geofences, { ...ZONES[0]!, radiusMeters: 59 }))), false)
  t.equal(passes(60, {}, zonesOf(ZONES.with(ZONE.regions, { ...ZONES[2]!, radiusMeters: 59 }))), false)
  t.equal(passes(60, {}, zonesOf(undefined)), false)
  const zones = zonesOf(ZONES)
  zones.endPlaces(3)
  t.equal(
    zones.left(3, 1, 400, update(), true)![ZONE.places]!.meters,
    0,
    'the place may not be the first now',
  )
  t.equal(passes(60, {}, zones), true)
  t.ok(zones.placesRadius(3) > 5.29, 'how large it was is known')
  zones.end(3)
  t.equal(passes(1, {}, zones), false)
  t.equal(zones.left(3, 1, 400, update(), true), undefined)
})
