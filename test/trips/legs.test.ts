/** Legs: which one is current, how they are closed, replaced and ordered. */
import t from 'tap'
import assert from 'node:assert/strict'
import { currentLeg, isEnded, TRIP_STATUSES } from '../../src/model/trip.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { withLegStatus, withOrder, type LegDraft } from '../../src/trips/machine/legs.ts'
import type { WantedStatus } from '../../src/trips/machine/table.ts'
import fc from '../kit/fastCheck.ts'
import { runs } from '../actor/kit.ts'
import { FAR, HOME, NEXT_DOOR, TripDriver } from './machineKit.ts'

const [A, B, C] = ['a', 'b', 'c'].map((name) => name.repeat(24)) as [string, string, string]
const NAMES = { [A]: 'home', [B]: 'other', [C]: 'third' }

function draft(id: string, change: Partial<LegDraft> = {}): LegDraft {
  return {
    newId: id,
    destination: { type: 'geofence', tag: 'store', externalId: NAMES[id] ?? 'home' },
    ...change,
  }
}

class LegDriver extends TripDriver {
  constructor() {
    super({})
    this.fences.put('third', [0.2, 0])
    this.call({ legs: [draft(A), draft(B), draft(C)] })
  }

  leg(id: string, status: WantedStatus): string {
    return this.take(withLegStatus(this.trip, id, status, this.surroundings))
  }

  order(...ids: string[]): string {
    return this.take(withOrder(this.trip, ids, this.surroundings))
  }

  /** Each leg's letter and status; the current one is marked. */
  get legs(): string {
    return this.trip
      .legs!.map(({ id, status }) => `${id[0]}${id === this.trip.currentLegId ? '*' : ''} ${status}`)
      .join(', ')
  }
}

t.test('the current leg is the first; it arrives, and its departure starts the next', async (t) => {
  const driver = new LegDriver()
  t.equal(driver.legs, 'a* pending, b pending, c pending')
  t.equal(driver.events(FAR), 'S')
  t.equal(driver.legs, 'a* started, b pending, c pending')
  t.equal(driver.events(HOME, driver.in('home')), 'R')
  t.equal(driver.legs, 'a* arrived, b pending, c pending')
  t.equal(driver.events(HOME, driver.in('home', false)), 'U')
  driver.settings = { ...driver.settings, tripUpdateSeconds: 1000 }
  const left = driver.now + 1000
  t.equal(driver.events(FAR, {}, 1), 'U', 'however soon after the last')
  t.equal(driver.legs, 'a completed, b* started, c pending')
  t.equal(driver.trip.status, 'started')
  t.match(driver.trip.legs![0], { completedAt: left })
  t.equal(driver.trip.arrivedAt, undefined)
  t.equal(driver.events(NEXT_DOOR, driver.in('other')), 'R', 'each leg has its own arrival')
  driver.events(FAR)
  t.equal(driver.events(HOME, driver.in('third')), 'R')
  driver.events(FAR)
  t.equal(driver.legs, 'a completed, b completed, c* arrived', 'the last open one stays arrived')
  t.equal(driver.call({ status: 'completed' }), 'X')
  t.equal(driver.legs, 'a completed, b completed, c* completed')
})

t.test('ending the trip gives its open legs the same end; a restart clears them', async (t) => {
  const driver = new LegDriver()
  driver.leg(A, 'canceled')
  driver.call({ status: 'completed' })
  t.equal(driver.legs, 'a canceled, b* completed, c completed')
  driver.call({ status: 'started' })
  t.equal(driver.legs, 'a* started, b pending, c pending')
  driver.end('due')
  t.equal(driver.legs, 'a* expired, b expired, c expired')
})

t.test('PATCH of a leg: started, approaching and arrived make it current', async (t) => {
  const driver = new LegDriver()
  t.equal(driver.leg(B, 'arrived'), 'SR', 'started first on a pending trip')
  t.equal(driver.legs, 'a pending, b* arrived, c pending')
  t.equal(driver.trip.status, 'arrived')
  t.equal(driver.leg(B, 'arrived'), '')
  t.equal(driver.leg(C, 'approaching'), 'A')
  t.equal(driver.legs, 'a pending, b pending, c* approaching')
  t.match(driver.trip, { status: 'approaching', arrivedAt: undefined })
  t.equal(driver.leg(A, 'started'), 'U')
  t.equal(driver.legs, 'a* started, b pending, c pending')
  t.equal(driver.leg(A, 'arrived'), 'R')
  t.equal(driver.leg(B, 'arrived'), 'R')
  t.equal(driver.leg(B, 'started'), 'U')
  t.equal(new LegDriver().leg(A, 'started'), 'S')
})

t.test('PATCH of a leg: completed and canceled close it; the last one ends the trip', async (t) => {
  const driver = new LegDriver()
  driver.call({ status: 'started' })
  t.equal(driver.leg(B, 'canceled'), 'U')
  t.equal(driver.legs, 'a* started, b canceled, c pending')
  t.equal(driver.leg(A, 'completed'), 'U')
  t.equal(driver.legs, 'a completed, b canceled, c* started')
  t.equal(driver.leg(B, 'pending'), 'U', 'only of a leg that is not current')
  t.equal(driver.leg(B, 'canceled'), 'U')
  t.throws(() => driver.leg(C, 'pending'), { code: 400, param: 'status' })
  t.equal(driver.leg(C, 'canceled'), 'X')
  t.equal(driver.trip.status, 'completed')
  t.throws(() => driver.leg(A, 'started'), { code: 400, param: 'status' })
  t.throws(() => driver.leg('0'.repeat(24), 'started'), { code: 404 })
  const other = new LegDriver()
  for (const id of [A, B]) t.equal(other.leg(id, 'canceled'), '', 'a pending trip makes no event')
  t.equal(other.leg(C, 'canceled'), 'X')
  t.equal(other.trip.status, 'canceled', 'all are canceled')
})

t.test('PUT legs: names every open leg once; the first open one is started', async (t) => {
  const driver = new LegDriver()
  t.equal(driver.order(C, A, B), '', 'a pending trip makes no event')
  t.equal(driver.legs, 'c* pending, a pending, b pending')
  driver.call({ status: 'approaching' })
  t.equal(driver.order(C, A, B), '', 'the same')
  t.equal(driver.order(A, C, B), 'U')
  t.equal(driver.legs, 'a* started, c pending, b pending')
  t.equal(driver.trip.status, 'started')
  driver.leg(A, 'arrived')
  t.equal(driver.order(C, B, A), 'U')
  t.equal(driver.legs, 'c pending, b pending, a* arrived', 'an arrived leg stays current')
  driver.leg(B, 'completed')
  t.equal(driver.order(A, C), 'U', 'closed ones need not be named')
  t.equal(driver.order(C, B, A), 'U')
  for (const ids of [[A], [A, C, C], [A, C, 'x'], []])
    t.throws(() => driver.order(...ids), { code: 400, param: 'legs' }, JSON.stringify(ids))
  driver.call({ status: 'canceled' })
  t.throws(() => driver.order(A, C), { code: 400, param: 'legs' })
})

t.test(
  'a copy of a call that comes after updates and other calls does not begin its legs again',
  async (t) => {
    const driver = new LegDriver()
    const legs = [draft(A), draft(B), draft(C)]
    t.equal(driver.call({ legs }), '')
    t.equal(driver.events(FAR), 'S')
    const { trip } = driver
    t.equal(driver.call({ legs }), '')
    t.equal(driver.trip, trip, 'nothing is different')
    driver.leg(B, 'completed')
    t.equal(driver.call({ legs }), '')
    t.equal(driver.legs, 'a* started, b completed, c pending', 'in the same order')
    t.equal(driver.call({ legs, metadata: { note: 1 } }), 'U', 'the rest of a call counts')
  },
)

t.test('PATCH legs replaces the open ones: a known one keeps its state, closed ones stay', async (t) => {
  const driver = new LegDriver()
  driver.call({ status: 'started' })
  driver.leg(A, 'completed')
  const [D, E] = ['d'.repeat(24), 'e'.repeat(24)]
  t.equal(
    driver.call({ legs: [draft(D, { destination: point() }), { id: B, newId: 'x', stopDuration: 7 }] }),
    'U',
  )
  t.equal(driver.legs, 'a completed, d pending, b* started')
  t.match(driver.trip.legs![2], { stopDuration: 7, destination: { externalId: 'other' } })
  t.equal(
    driver.call({
      legs: [
        { ...draft(E, { destination: point() }), id: D },
        { id: B, newId: 'x' },
      ],
    }),
    '',
    'the same',
  )
  t.equal(driver.call({ legs: [{ id: D, newId: 'x' }] }), 'U')
  t.equal(driver.legs, 'a completed, d* started', 'the next one is started')
  const bad: [LegDraft[], string][] = [
    [[{ newId: 'x' }], 'legs.0.destination'],
    [
      [draft(E, { destination: { type: 'geofence', tag: 'store', externalId: 'no' } })],
      'legs.0.destination.destinationGeofenceExternalId',
    ],
    [
      [draft(E, { destination: { type: 'geofence', geofenceId: '9'.repeat(24) } })],
      'legs.0.destination.destinationGeofenceId',
    ],
    [
      [
        { id: D, newId: 'x' },
        { id: D, newId: 'y' },
      ],
      'legs.1._id',
    ],
    [[{ id: A, newId: 'x' }], 'legs'],
  ]
  for (const [legs, param] of bad) t.throws(() => driver.call({ legs }), { code: 400, param }, param)
  t.throws(() => driver.call({ destination: { tag: 'store', externalId: 'home' } }), {
    code: 400,
    param: 'destinationGeofenceTag',
  })
  const byId = draft(C, { destination: { type: 'geofence', geofenceId: driver.fences.id('third') } })
  driver.call({ legs: [byId] })
  t.match(driver.trip.legs!.at(-1), { destination: { tag: 'store', externalId: 'third' } })
  t.equal(driver.call({ destination: { tag: 'store', externalId: 'third' } }), '', 'as it was answered')
  const plain = new TripDriver()
  t.throws(() => plain.call({ legs: [draft(A)], destination: { tag: 'store', externalId: 'other' } }), {
    code: 400,
    param: 'legs',
  })
  plain.call({ legs: [draft(A)] })
  t.equal(plain.trip.destination, undefined)
})

function point() {
  return { type: 'coordinates', location: HOME, radius: 100 } as const
}

t.test('property: LEGS-1 holds whatever comes', async () => {
  const wanted = TRIP_STATUSES.filter((status): status is WantedStatus => status !== 'expired')
  const step = fc.oneof(
    fc.record({ kind: fc.constant('leg' as const), leg: fc.nat(3), status: fc.constantFrom(...wanted) }),
    fc.record({ kind: fc.constant('trip' as const), status: fc.constantFrom(...wanted) }),
    fc.record({
      kind: fc.constant('legs' as const),
      legs: fc.array(fc.nat(5), { minLength: 1, maxLength: 4 }),
    }),
    fc.record({ kind: fc.constant('order' as const), legs: fc.array(fc.nat(4), { maxLength: 4 }) }),
    fc.record({
      kind: fc.constant('move' as const),
      there: fc.constantFrom('home', 'other', 'third', undefined),
    }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const driver = new LegDriver()
      let drawn = 0
      for (const one of steps) {
        const ids = driver.trip.legs!.map(({ id }) => id)
        const before = driver.trip
        try {
          if (one.kind === 'leg') driver.leg(ids[one.leg] ?? A, one.status)
          else if (one.kind === 'trip') driver.call({ status: one.status })
          else if (one.kind === 'legs')
            driver.call({ legs: one.legs.map((i) => draft(`${++drawn}`.padStart(24, '0'), { id: ids[i] })) })
          else if (one.kind === 'order') driver.order(...one.legs.map((i) => ids[i] ?? 'x'))
          else
            driver.events(
              one.there === undefined ? FAR : HOME,
              one.there === undefined ? {} : driver.in(one.there),
            )
        } catch (error) {
          assert.ok(error instanceof ApiError)
          assert.equal(driver.trip, before)
        }
        const { trip } = driver
        if (isEnded(trip.status)) {
          assert.ok(trip.legs!.every(({ status }) => isEnded(status)))
          continue
        }
        assert.equal(currentLeg(trip)?.status, trip.status)
        for (const leg of trip.legs!)
          if (leg.id !== trip.currentLegId)
            assert.ok(leg.status === 'pending' || isEnded(leg.status), leg.status)
        assert.equal(trip.arrivedAt !== undefined, trip.status === 'arrived')
        assert.equal(trip.startedAt === undefined, trip.status === 'pending')
      }
    }),
    runs(300),
  )
})
