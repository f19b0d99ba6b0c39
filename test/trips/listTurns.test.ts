/** Questions about trips work in turns, so that requests need not wait for them (G7). */
import t from 'tap'
import { HostTrips } from '../../src/trips/hostTrips.ts'
import { TripService } from '../../src/trips/tripService.ts'
import { slowly, turnsOf } from '../kit/turns.ts'
import { call, engineWithTrips, newTripId } from './tripKit.ts'

/** As many as the parameter of a list has room for. */
const NAMES = 8000
const ROUTES = 50

t.test('a list of thousands of names', async (t) => {
  const engine = engineWithTrips({ partitions: 3 })
  const id = newTripId(engine, 'order 1')
  await call(engine, id, 'order 1', { create: { externalId: 'order 1', revision: Number.MAX_SAFE_INTEGER } })
  const trips = new HostTrips(() => [engine.host], { registry: engine.world, clock: engine.clock })
  const externalIds = Array.from({ length: NAMES }, (_, i) => `order ${i}`)
  slowly(t)
  const list = { sortBy: 'updatedAt', limit: 100, includeLocations: false, externalIds } as const
  let found: readonly { readonly id: string }[] = []
  const turns = await turnsOf(async () => {
    found = (await trips.ask({ scope: 0, ask: 'list', list })).trips
  })
  t.strictSame(
    found.map((trip) => trip.id),
    [id],
  )
  t.ok(turns >= 20, `${turns} turns`)
})

t.test('the ways of many trips at once', async (t) => {
  const trip = { status: 'completed', trip: '{"mode":"car"}', locations: '[]' }
  const trips = { ask: async () => ({ trips: [trip] }) }
  const service = new TripService({
    trips,
    directory: { of: () => ({ named: () => ({ id: 'x' }) }) },
    store: { salt: 0 },
  } as never)
  slowly(t)
  const turns = await turnsOf(() =>
    Promise.all(Array.from({ length: ROUTES }, () => service.driven(0, 'order'))),
  )
  t.ok(turns >= ROUTES / 4, `${turns} turns`)
})
