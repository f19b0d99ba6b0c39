import t from 'tap'
import { stepBeacons } from '../../src/rules/beacons.ts'
import { CrossingFinder } from '../../src/rules/crossingFinder.ts'
import type { Probe } from '../../src/geometry/probe.ts'
import { updateFrom } from '../../src/wire/trackSchema.ts'
import { parseOperatingHours } from '../../src/model/operatingHours.ts'
import type { Beacon, RangedBeacon } from '../../src/model/beacon.ts'
import type { BeaconVisit } from '../../src/model/device.ts'
import type { Geofence } from '../../src/model/geofence.ts'
import { scopeId } from '../../src/model/scope.ts'
import type { Settings } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'
import { BeaconStore } from '../../src/registry/beacons/beaconStore.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import type { GeofenceIndex } from '../../src/spatial/port.ts'
import fc from '../kit/fastCheck.ts'
import { aBeacon, aGeofence, applied, AWAY, Engine, HERE, MINUTE, NOON, runs } from './kit.ts'
import { circumstances, rows } from '../rules/stepTable.ts'
import { moved, Random, randomGeofence, randomPlace } from './world.ts'

/** Evaluation beyond the interface: delays, crossings and beacons. */

rows(
  'entry delay: the condition must have held that long, on every update that counts',
  `
  out     | -        | -10 | 10 | 1   | entryDelay=60 | -       | near 0  | -         | entryWithheld delayed
  near 59 | -        | -10 | 10 | 1   | entryDelay=60 | -       | near 59 | -         | entryWithheld delayed
  near 60 | -        | -10 | 10 | 1   | entryDelay=60 | -       | in      | entered 3 | entered
  near 16.1 | -      | -10 | 10 | 1   | entryDelay=16.1 | -     | in      | entered 3 | entered
  near 999 | -       | -1  | 10 | 0.4 | entryDelay=60 | -       | in      | entered 1 | entered
  near 30 | -        |   1 | 10 | 0.4 | entryDelay=60 | -       | out     | -         | outside
  near 90 | -        |   1 | 10 | 0.4 | entryDelay=60 | -       | out     | -         | outside
  near 30 | -        |   1 | 10 | 0.4 | entryDelay=60 bufferEntries | - | near 30 | - | entryWithheld delayed
  near 60 | -        |  10 | 10 | 0   | entryDelay=60 bufferEntries | - | in | entered 1 | entered
  near 30 | -        |  -1 | 10 | 0.4 | entryDelay=60 minimum=2 | - | out   | -         | entryWithheld lowConfidence
  near 90 | -        |  -1 | 10 | 0.4 | entryDelay=60 minimum=2 | - | out   | -         | entryWithheld lowConfidence
  near 60 | -        |  -1 | 10 | 0.5 | entryDelay=60 minimum=2 | - | in    | entered 2 | entered
  out     | stop=on  | -10 | 10 | 1   | entryDelay=60 | -       | out     | -         | entryWithheld notStopped
  out     | stop=on  | -10 | 10 | 1   | entryDelay=60 | stopped | near 0  | -         | entryWithheld delayed
  near 90 | stop=on  | -10 | 10 | 1   | entryDelay=60 | -       | out     | -         | entryWithheld notStopped
  near 60 | stop=on  | -10 | 10 | 1   | entryDelay=60 | foreground | in   | entered 3 | entered
  near 90 | hours    | -10 | 10 | 1   | entryDelay=60 restrict | t=08:59 | out | -   | entryWithheld closed
  out     | hours    | -10 | 10 | 1   | entryDelay=60 restrict | t=09:00 | near 0 | - | entryWithheld delayed
  near 90 | disabled | -10 | 10 | 1   | entryDelay=60 | -       | out     | -         | entryWithheld disabled
  near 90 | userIds=ann | -10 | 10 | 1 | entryDelay=60 | user=bob | out   | -         | entryWithheld otherUser
  near 90 | ip=10.0.0.1 | -10 | 10 | 1 | entryDelay=60 | -      | out     | -         | entryWithheld otherAddress
  near 30 | -        | -10 | 10 | 1   | -             | -       | in      | entered 3 | entered
  near 30 | -        | -10 | 10 | 1   | entryDelay=20 | -       | in      | entered 3 | entered
  near 0  | -        | -10 | 10 | 1   | entryDelay=0.001 | -    | near 0  | -         | entryWithheld delayed
  near 5  | dwell=1  | -10 | 10 | 1   | entryDelay=5 dwellEvents | - | in   | entered 3 | entered
`,
)

rows(
  'exit delay: the device is inside until then, but does not dwell outside; coming back ends the wait',
  `
  in 9            | -       |  20 | 10 | 0   | exitDelay=60 | - | in leaving 0  | -            | exitWithheld delayed
  in 9 leaving 59 | -       |  20 | 10 | 0   | exitDelay=60 | - | in leaving 59 | -            | exitWithheld delayed
  in 9 leaving 60 | -       |  20 | 10 | 0   | exitDelay=60 | - | out           | exited 3 9min | exited
  in 9 leaving 90 | -       |   1 | 10 | 0.4 | exitDelay=60 | - | out           | exited 1 9min | exited
  in 9 leaving 90 | -       |   0 | 10 | 0.5 | exitDelay=60 | - | in            | -            | inside
  in 9 leaving 90 | -       | -50 | 10 | 1   | exitDelay=60 | - | in            | -            | inside
  in 9 leaving 90 | -       |   9 | 10 | 0   | exitDelay=60 bufferExits | - | in | -          | inside
  in 9 leaving 30 | -       |  11 | 10 | 0   | exitDelay=60 bufferExits | - | in leaving 30 | - | exitWithheld delayed
  in 9 leaving 90 | -       |   1 | 10 | 0.4 | exitDelay=60 minimum=2 | - | in  | -            | exitWithheld lowConfidence
  in 9 leaving 60 | -       |   5 | 10 | 0   | exitDelay=60 minimum=2 | - | out | exited 2 9min | exited
  in 9            | dwell=5 |  20 | 10 | 0   | exitDelay=60 dwellEvents | - | in leaving 0 | -       | exitWithheld delayed
  in 9 leaving 30 | dwell=5 |  20 | 10 | 0   | exitDelay=60 dwellEvents | - | in leaving 30 | -      | exitWithheld delayed
  in 9 leaving 30 | dwell=5 |   9 | 10 | 0.1 | exitDelay=60 dwellEvents bufferEntries | - | dwelled | dwelled 1 | dwelled
  in 9 leaving 30 | dwell=5 |  -1 | 10 | 1   | exitDelay=60 dwellEvents | - | dwelled | dwelled 2   | dwelled
  in 9 dwelled leaving 30 | dwell=5 | 20 | 10 | 0 | exitDelay=60 dwellEvents | - | dwelled leaving 30 | - | exitWithheld delayed
  in 9 dwelled leaving 30 | dwell=5 | -1 | 10 | 1 | exitDelay=60 dwellEvents | - | dwelled | - | inside
  in 9 leaving 60 | dwell=5 |  20 | 10 | 0   | exitDelay=60 dwellEvents | - | out | exited 3 9min | exited
  in 9            | hours   |  20 | 10 | 0   | exitDelay=60 restrict | t=18:00 | in leaving 0 | - | exitWithheld delayed
  in 9 leaving 60 | hours   |  20 | 10 | 0   | exitDelay=60 restrict | t=18:00 | out | -       | leftSilently closed
  in 9 leaving 60 | hours   |  20 | 10 | 0   | exitDelay=60 restrict | - | out     | exited 3 9min open | exited
  in 9 leaving 30 | ip=10.0.0.1 | 20 | 10 | 0 | exitDelay=60 | - | in leaving 30 | -           | exitWithheld delayed
  in 9 leaving 60 | ip=10.0.0.1 | 20 | 10 | 0 | exitDelay=60 | - | out           | -           | leftSilently otherAddress
  in 9 leaving 30 | disabled | 20 | 10 | 0   | exitDelay=60 | - | out           | -            | dropped
  in 9 leaving 30 | userIds=ann | 20 | 10 | 0 | exitDelay=60 | - | out          | -            | dropped
  in 9 leaving 30 | -       |  20 | 10 | 0   | -            | - | out           | exited 3 9min | exited
  in 9 leaving 30 | stop=on |  20 | 10 | 0   | exitDelay=30 stop | - | out      | exited 3 9min | exited
`,
)

/** One device that goes where it is sent, with the kinds and times of the resulting events. */
class Traveller {
  readonly engine = new Engine()
  private readonly who: Partial<Update>

  constructor(settings: Partial<Settings>, fences: readonly Geofence[], who: Partial<Update> = {}) {
    this.engine.world.set(0, settings)
    for (const fence of fences) this.engine.world.put(fence)
    this.who = who
  }

  /** `entered 1 c1 @12.3`: kind, geofence, confidence, seconds since noon. */
  async go(seconds: number, where: Partial<Update>): Promise<string[]> {
    this.engine.clock.time = NOON + seconds * 1000
    const update = this.engine.update({ deviceId: 'd', ...HERE, ...this.who, ...where })
    return applied(await this.engine.track(update)).events.map((json) => {
      const { type, geofence, beacon, confidence, createdAt } = JSON.parse(json)
      const id = Number.parseInt((geofence ?? beacon)._id.slice(-1), 16)
      const after = Math.round((Date.parse(createdAt) - NOON) / 100) / 10
      return `${type.split(/[._]/)[1]} ${id} c${confidence} @${after}`
    })
  }
}

t.test('delays: a run of updates, from its first to the event', async (t) => {
  const walk = new Traveller({ entryDelaySeconds: 30, exitDelaySeconds: 60, maxAccuracyMeters: 50 }, [
    aGeofence(1),
  ])
  t.same(await walk.go(0, AWAY), [])
  t.same(await walk.go(10, HERE), [], 'the wait begins')
  t.same(await walk.go(20, AWAY), [], 'and ends')
  t.same(await walk.go(30, HERE), [])
  t.same(await walk.go(45, { ...AWAY, accuracy: 51 }), [], 'an update too inaccurate does not end it')
  t.same(await walk.go(59, HERE), [])
  t.same(await walk.go(61, { ...HERE, accuracy: 51 }), [], 'nor does it make the event')
  t.same(await walk.go(62, HERE), ['entered 1 c3 @62'])
  t.same(await walk.go(70, AWAY), [])
  t.same(await walk.go(100, HERE), [], 'back in time')
  t.same(await walk.go(160, AWAY), [])
  t.same(await walk.go(219, AWAY), [])
  walk.engine.world.set(0, { exitDelaySeconds: 61 })
  t.same(await walk.go(220, AWAY), [], 'the delay of now counts')
  const [exited] = await walk.go(221, AWAY)
  t.equal(exited, 'exited 1 c3 @221')
  t.equal(JSON.parse(walk.engine.events.all.at(-1)!.json).duration, (221 - 62) / 60, 'since the entry')
})

t.test('a wait continues after a restart, and with the record that a user attaches to', async (t) => {
  const walk = new Traveller({ entryDelaySeconds: 30 }, [aGeofence(1)])
  t.same(await walk.go(0, HERE), [])
  t.same(await walk.go(10, { ...HERE, userId: 'ann' }), [])
  const again = walk.engine.restarted()
  again.clock.time = NOON + 30_000
  const { events } = applied(await again.track(again.update({ deviceId: 'd', ...HERE, userId: 'ann' })))
  t.equal(events.length, 1)
})

// A way of 0.02° on the equator has 2226 m. A device that takes a minute for it spends 5.4 s within a circle of 100 m
// about its middle.
const WEST = { latitude: 0, longitude: -0.01 }
const EAST = { latitude: 0, longitude: 0.01 }
const CROSSINGS: Partial<Settings> = { detectCrossings: true }

interface Crossing {
  readonly name: string
  readonly settings?: Partial<Settings>
  readonly fence?: Partial<Geofence>
  readonly who?: Partial<Update>
  readonly from?: Partial<Update>
  readonly to?: Partial<Update>
  readonly seconds?: number
  readonly expected: readonly string[]
}

const PAIR = ['entered 1 c1 @27.3', 'exited 1 c1 @32.7']
const HOURS = { week: [[], [], [], [], [], [[720, 900]], []], source: { Fri: [['12:00', '15:00']] } } as const
const FOUND: readonly Crossing[] = [
  { name: 'there and through', expected: PAIR },
  { name: 'off', settings: { detectCrossings: false }, expected: [] },
  { name: 'as far apart as allowed', seconds: 300, expected: ['entered 1 c1 @136.5', 'exited 1 c1 @163.5'] },
  { name: 'farther apart', seconds: 300.001, expected: [] },
  {
    name: 'a longer gap allowed',
    settings: { maxGapSeconds: 3600 },
    seconds: 301,
    expected: ['entered 1 c1 @137', 'exited 1 c1 @164'],
  },
  { name: 'passing by', from: { latitude: 0.001 }, to: { latitude: 0.001 }, expected: [] },
  { name: 'first in it', from: HERE, expected: ['exited 1 c3 @60'] },
  { name: 'last in it', to: HERE, expected: ['entered 1 c3 @60'] },
  {
    name: 'too inaccurate before',
    settings: { maxAccuracyMeters: 50 },
    from: { accuracy: 51 },
    expected: [],
  },
  { name: 'too inaccurate after', settings: { maxAccuracyMeters: 50 }, to: { accuracy: 51 }, expected: [] },
  { name: 'just accurate enough', settings: { maxAccuracyMeters: 50 }, to: { accuracy: 50 }, expected: PAIR },
  { name: 'stop rule on', settings: { stopDetection: true }, who: { stopped: true }, expected: [] },
  {
    name: 'stop rule off for it',
    settings: { stopDetection: true },
    fence: { stopDetection: false },
    expected: PAIR,
  },
  { name: 'stop rule on for it', fence: { stopDetection: true }, who: { stopped: true }, expected: [] },
  { name: 'minimumConfidence 2', settings: { minimumConfidence: 2 }, expected: [] },
  { name: 'inside as long as the entry delay', settings: { entryDelaySeconds: 5 }, expected: PAIR },
  { name: 'inside for less', settings: { entryDelaySeconds: 6 }, expected: [] },
  { name: 'exit delay', settings: { exitDelaySeconds: 60 }, expected: PAIR },
  { name: 'disabled', fence: { enabled: false }, expected: [] },
  { name: 'past its date', fence: { disableAfter: NOON + 60_000 }, expected: [] },
  { name: 'for another user', fence: { userIds: ['ann'] }, who: { userId: 'bob' }, expected: [] },
  { name: 'for this user', fence: { userIds: ['ann'] }, who: { userId: 'ann' }, expected: PAIR },
  { name: 'for another address', fence: { ip: '10.0.0.1' }, expected: [] },
  {
    name: 'open then, and now',
    settings: { restrictToOperatingHours: true },
    fence: { operatingHours: HOURS },
    expected: PAIR,
  },
  {
    name: 'closed when entered, open now',
    settings: { restrictToOperatingHours: true },
    fence: { operatingHours: parseOperatingHours({ friday: [['12:01', '15:00']] })! },
    expected: [],
  },
  {
    name: 'open when entered, closed now',
    settings: { restrictToOperatingHours: true },
    fence: { operatingHours: parseOperatingHours({ friday: [['11:59', '12:01']] })! },
    expected: PAIR,
  },
  {
    name: 'open when entered, closed when left',
    settings: { restrictToOperatingHours: true },
    fence: { operatingHours: parseOperatingHours({ friday: [['11:59', '12:02']] })! },
    seconds: 240,
    expected: ['entered 1 c1 @109.2'],
  },
  {
    name: 'closed when left, which restricts nothing',
    fence: { operatingHours: parseOperatingHours({ friday: [['11:59', '12:02']] })! },
    seconds: 240,
    expected: ['entered 1 c1 @109.2', 'exited 1 c1 @130.8'],
  },
  {
    name: 'through it, and near enough for a buffered entry',
    settings: { bufferEntries: true },
    to: { accuracy: 2000 },
    expected: ['entered 1 c1 @60'],
  },
  {
    name: 'the same with an entry that waits',
    settings: { bufferEntries: true, entryDelaySeconds: 5 },
    to: { accuracy: 2000 },
    expected: [],
  },
  { name: 'a jump of more than 250 km', from: { longitude: -2 }, to: { longitude: 2 }, expected: [] },
  { name: 'another user’s place is not mine', from: { userId: 'ann' }, to: { userId: 'bob' }, expected: [] },
]

for (const { name, settings, fence, who, from, to, seconds = 60, expected } of FOUND) {
  t.test(`crossing: ${name}`, async (t) => {
    const way = new Traveller({ ...CROSSINGS, ...settings }, [aGeofence(1, fence)], who)
    await way.go(0, { ...WEST, ...from })
    t.same(await way.go(seconds, { ...EAST, ...to }), expected)
    t.same(await way.go(seconds + 1, { ...EAST, ...to }), [], 'once')
  })
}

t.test('crossings: place and time, in the order of entry, before all other events', async (t) => {
  const at = (id: number, longitude: number, radius = 50) =>
    aGeofence(id, { shape: { kind: 'circle', center: [longitude, 0], radius } })
  const fences = [at(1, 0.005), at(2, -0.005), at(3, -0.01), at(4, 0.01), at(6, 0, 400), at(5, 0, 400)]
  const way = new Traveller({ ...CROSSINGS, dwellEvents: true, dwellThreshold: 0.5 }, [
    ...fences,
    aGeofence(7),
  ])
  t.same(await way.go(0, WEST), ['entered 3 c3 @0'])
  t.same(await way.go(100, EAST), [
    'entered 2 c1 @22.8',
    'exited 2 c1 @27.2',
    'entered 5 c1 @32',
    'exited 5 c1 @68',
    'entered 6 c1 @32',
    'exited 6 c1 @68',
    'entered 7 c1 @45.5',
    'exited 7 c1 @54.5',
    'entered 1 c1 @72.8',
    'exited 1 c1 @77.2',
    'exited 3 c3 @100',
    'entered 4 c3 @100',
  ])
  const exited = JSON.parse(way.engine.events.all[2]!.json)
  t.match(exited, { type: 'user.exited_geofence', locationAccuracy: 5, geofence: { _id: fences[1]!.id } })
  t.ok(Math.abs(exited.duration - 4.49 / 60) < 0.001, `${exited.duration} minutes`)
  const [longitude, latitude] = exited.location.coordinates
  t.ok(Math.abs(longitude - -0.004551) < 1e-6 && latitude === 0, 'where it left')
  const partition = way.engine.host.partitionOf('d')
  t.same(
    partition.table.peek(0).visits.map(({ geofenceId }) => geofenceId),
    [at(4, 0).id],
    'no state of it',
  )
})

t.test('crossings: an index that returns no more than it must is enough', async (t) => {
  let crossings = 0
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = new Random(seed)
      const place = randomPlace(random)
      const spread = random.magnitude(500, 60_000)
      const index = createGeofenceIndex()
      const fences = Array.from({ length: 40 }, (_, id) => randomGeofence(random, id, place, spread, NOON))
      for (const fence of fences) index.put(fence)
      const slots = fences.map(({ id }) => index.slotOf(id))
      const offering = (offered: (probe: Probe, reach: number) => number[]) => {
        const { distance, geofence } = index
        const candidates = (probe: Probe, reach: number, out: number[]) => {
          out.push(...offered(probe, reach))
          return 0
        }
        const one = { candidates, distance: distance.bind(index), geofence: geofence.bind(index) }
        return one as Partial<GeofenceIndex> as GeofenceIndex
      }
      const miser = offering((probe, reach) => slots.filter((slot) => index.distance(slot, probe) <= reach))
      const spendthrift = offering(() => slots)
      for (let i = 0; i < 10; i++) {
        const end = () => moved(place, random.between(-spread, spread), random.between(-spread, spread))
        const [from, to] = [
          { ...end(), time: 0 },
          { ...end(), time: 60_000 },
        ]
        const found = [miser, spendthrift].map((one) =>
          new CrossingFinder()
            .find(one, from, to, () => false)
            .map(({ geofence }) => geofence.id)
            .sort()
            .join(),
        )
        if (found[0] !== found[1])
          throw new Error(`${found.join(' and ')} from ${JSON.stringify([from, to])}`)
        crossings += found[0] === '' ? 0 : found[0]!.split(',').length
      }
    }),
    runs(60),
  )
  t.ok(crossings > 100, `${crossings} crossings`)
})

t.test('crossings at the antimeridian', async (t) => {
  const fence = aGeofence(1, { shape: { kind: 'circle', center: [180, 10], radius: 100 } })
  const way = new Traveller(CROSSINGS, [fence])
  await way.go(0, { latitude: 10, longitude: 179.99 })
  t.equal((await way.go(60, { latitude: 10, longitude: -179.99 })).length, 2)
})

/**
 * Beacons. A row contains: the stays before (id or -); what the update ranges (`?`: says nothing, `-`: ranges
 * nothing); metres from the place of all beacons; accuracy; then the stays after and the events. Beacons 1 and 2 send
 * the same identifiers, 3 is an Eddystone, 4 is disabled and 5 is unknown.
 */
const SENDS: Readonly<Record<string, RangedBeacon>> = {
  a: { type: 'ibeacon', uuid: 'F7826DA6-4FA2-4E98-8024-BC5B71E0893E', major: '1', minor: '2' },
  b: { type: 'ibeacon', uuid: 'f7826da6-4fa2-4e98-8024-bc5b71e0893e', major: '1', minor: '3' },
  e: { type: 'eddystone', uid: 'AABB', instance: '0f' },
  x: { type: 'ibeacon', uuid: 'f7826da6-4fa2-4e98-8024-bc5b71e0893e', major: '2', minor: '1' },
}
const BEACONS: readonly Beacon[] = [
  aBeacon(2),
  aBeacon(1),
  aBeacon(3, {
    ...SENDS.e!,
    uid: 'aabb',
    instance: '0F',
    uuid: undefined,
    major: undefined,
    minor: undefined,
  }),
  aBeacon(4, { ...SENDS.b!, enabled: false }),
]

t.test('beacons', async (t) => {
  const store = new BeaconStore()
  for (const beacon of BEACONS) store.put(beacon)
  const table = `
    -     | ?     |   0 |  5 | -     | -
    -     | -     |   0 |  5 | -     | -
    -     | a     |   0 |  5 | 1 2   | entered 1, entered 2
    -     | a     | 9e6 |  5 | 1 2   | entered 1, entered 2
    -     | a a   |   0 |  5 | 1 2   | entered 1, entered 2
    -     | e a   |   0 |  5 | 1 2 3 | entered 1, entered 2, entered 3
    -     | x     |   0 |  5 | -     | -
    -     | b     |   0 |  5 | -     | -
    3     | a e   |   0 |  5 | 3 1 2 | entered 1, entered 2
    1 2   | a     | 9e6 |  5 | 1 2   | -
    2     | a     |   0 |  5 | 2 1   | entered 1
    3 1   | -     |   0 |  5 | -     | exited 3, exited 1
    3 1   | x     |   0 |  5 | -     | exited 3, exited 1
    3 1   | a     |   0 |  5 | 1 2   | exited 3, entered 2
    3 1   | ?     | 104 |  5 | 3 1   | -
    3 1   | ?     | 106 |  5 | -     | exited 3, exited 1
    1     | ?     |  99 |  ? | 1     | -
    1     | ?     | 101 |  ? | -     | exited 1
    1     | ?     | 50050 | 60000 | 1 | -
    1     | ?     | 50150 | 60000 | - | exited 1
    4     | b     |   0 |  5 | -     | -
    4     | ?     |   0 |  5 | -     | -
    5 4 1 | -     |   0 |  5 | -     | exited 1`
  const list = (cell: string) => (cell === '-' ? [] : cell.split(' '))
  for (const line of table.trim().split('\n')) {
    const [was, ranged, meters, accuracy, after, events] = line.split('|').map((cell) => cell.trim())
    const visits: BeaconVisit[] = list(was!).map((id) => ({
      beaconId: aBeacon(Number(id)).id,
      enteredAt: NOON - 3 * MINUTE,
    }))
    const update = {
      // On a meridian at the equator a degree is 110,574 m.
      latitude: Number(meters) / 110_574,
      longitude: 0,
      beacons: ranged === '?' ? undefined : list(ranged!).map((name) => SENDS[name]!),
    }
    if (Number(meters) > 1e6) update.latitude = 80
    const result = stepBeacons(visits, store, update, circumstances(accuracy!, '-', '-'))
    const idOf = (id: string) => `${Number.parseInt(id.slice(-1), 16)}`
    t.equal(result.visits.map(({ beaconId }) => idOf(beaconId)).join(' ') || '-', after, line)
    const told = result.transitions.map(({ type, beacon }) => `${type.split(/[._]/)[1]} ${idOf(beacon.id)}`)
    t.equal(told.join(', ') || '-', events, line)
    for (const { type, confidence, duration } of result.transitions) {
      t.equal(confidence, 3)
      t.equal(duration, type === 'user.exited_beacon' ? 3 : undefined)
    }
    if (events === '-' && was === after) t.equal(result.visits, visits, 'the same array')
  }
})

t.test('a beacon that is listed a thousand times is looked up once', (t) => {
  const uuid = SENDS.a!.uuid!
  const listed = Array.from({ length: 1000 }, (_, i): RangedBeacon => {
    return {
      type: 'ibeacon',
      uuid: i % 2 ? uuid : uuid.replaceAll('-', '').toLowerCase(),
      major: '1',
      minor: '2',
    }
  })
  let lookedUp = 0
  class Counted extends BeaconStore {
    override inRange(ranged: RangedBeacon): readonly Beacon[] {
      lookedUp += 1
      return super.inRange(ranged)
    }
  }
  const store = new Counted()
  for (let i = 1; i <= 50; i++) store.put(aBeacon(i, SENDS.a))
  const update = { latitude: 0, longitude: 0, beacons: listed }
  t.equal(stepBeacons([], store, update, circumstances('5', '-', '-')).transitions.length, 50)
  t.equal(lookedUp, 1)
  const beacons = listed.map((one) => ({ type: one.type, uuid: one.uuid!, major: 1, minor: '2' }))
  const body = { deviceId: 'd', latitude: 0, longitude: 0, accuracy: 5, beacons }
  const stamp = { scope: scopeId(1, false), ip: '127.0.0.1', receivedAt: NOON, fromSdk: false }
  t.equal(updateFrom(body, stamp).beacons!.length, 1)
  t.end()
})

t.test('beacons come after geofences, and need no accuracy of the update', async (t) => {
  const walk = new Traveller({ maxAccuracyMeters: 50 }, [aGeofence(1)])
  walk.engine.world.putBeacon(aBeacon(9))
  const beacons = [SENDS.a!]
  t.same(await walk.go(0, { ...HERE, beacons }), ['entered 1 c3 @0', 'entered 9 c3 @0'])
  t.same(await walk.go(60, { ...AWAY, accuracy: 51, beacons }), [])
  t.same(await walk.go(120, { ...AWAY, accuracy: 51, beacons: [] }), ['exited 9 c3 @120'])
  t.same(await walk.go(180, { ...HERE, accuracy: 51, beacons }), ['entered 9 c3 @180'])
  t.same(await walk.go(240, AWAY), ['exited 1 c3 @240', 'exited 9 c3 @240'])
})
