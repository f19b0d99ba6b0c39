/** A device in very many geofences: what its trips are told must fit into a message. */
import t from 'tap'
import type { FeedRow } from '../../src/actor/feedTable.ts'
import { drawTripId } from '../../src/trips/tripDelivery.ts'
import { aGeofence, SALT } from '../actor/kit.ts'
import { NAME, scene } from './deliveryKit.ts'
import { call, tripsOf } from './tripKit.ts'

/** NATS accepts no larger message, unless its operator raises the limit. */
const MESSAGE_BYTES = 1024 * 1024
/** Geofences that no trip goes to. */
const STRANGERS = Array.from({ length: 50_000 }, (_, i) => (i + 1000).toString(16).padStart(24, '0'))

/** The same update, of a device that has also entered all strangers. */
function inCrowd(row: FeedRow, ...first: readonly string[]): FeedRow {
  const update = row.update!
  const others = [...first, ...STRANGERS]
  return {
    ...row,
    update: {
      ...update,
      inside: [...others, ...update.inside],
      entered: [...others.map((id) => ({ id, confidence: 2 as const })), ...update.entered],
    },
  }
}

const typesOf = (events: readonly string[]) => events.map((event) => JSON.parse(event).type)

t.test('the trip that an update makes arrives, by a message that fits', async (t) => {
  const { delivery, sent, update, statuses } = scene()
  const row = inCrowd(await update())
  t.ok(JSON.stringify(row).length > MESSAGE_BYTES, 'the row alone would not fit')
  const told = await delivery.tell(row, false)
  t.strictSame(typesOf(told.events), ['user.started_trip', 'user.arrived_at_trip_destination'])
  t.match(JSON.parse(told.events[1]!), { confidence: 3 }, 'that of its own entry')
  t.strictSame(statuses(), ['arrived'])
  t.ok(Math.max(...sent) < 10_000, `${Math.max(...sent)} bytes`)
  t.same(await delivery.tell(row, true), told, 'told again: the same answer')
})

t.test(
  'so does the leg of a trip of the user; geofences of its tag that are no stop are wrong',
  async (t) => {
    const { clock, world, engine, directory, delivery, sent, update } = scene()
    world.set(0, { tripWrongDestinationEvents: true, tripUpdateSeconds: 0 })
    const shops = Array.from({ length: 150 }, (_, i) =>
      aGeofence(i + 2, { tag: 'store', externalId: `shop-${i}` }),
    )
    for (const shop of shops) world.put(shop)
    const draw = () => drawTripId({ partitions: 1, salt: SALT }, clock, NAME, 'mia')
    const { id } = await directory.edit(() => directory.reserve(0, NAME, 'mia', draw))
    const legs = ['shop-1', 'home'].map((externalId, i) => ({
      newId: `${i + 1}`.padStart(24, '0'),
      destination: { type: 'geofence', tag: 'store', externalId } as const,
      stopDuration: undefined,
      metadata: undefined,
    }))
    const create = { externalId: NAME, userId: 'mia', revision: Number.MAX_SAFE_INTEGER }
    await call(engine, id, NAME, { create, change: { legs } })
    const row = await update()
    const mine = { ...row, user: { ...row.user, userId: 'mia' } }
    const { options: _, named: __, ...plain } = row.update!
    const wrong = shops.slice(2).map((shop) => shop.id)
    const atHome = inCrowd({ ...mine, update: { ...plain, trips: [id], inside: [], entered: [] } }, ...wrong)
    const lost = await delivery.tell(atHome, false)
    t.strictSame(typesOf(lost.events), [
      'user.started_trip',
      ...wrong.slice(0, 100).map(() => WRONG),
      'user.approaching_trip_destination',
    ])
    t.equal(JSON.parse(lost.events[1]!).geofence.externalId, 'shop-2', 'the first hundred, in order')
    t.equal(JSON.parse(lost.events[100]!).geofence.externalId, 'shop-101')
    const atShop = { ...row.update!, number: row.number + 1, inside: [shops[1]!.id], entered: [] }
    const next = inCrowd({ ...mine, number: row.number + 1, update: { ...plain, ...atShop, trips: [id] } })
    t.strictSame(typesOf((await delivery.tell(next, false)).events), ['user.arrived_at_trip_destination'])
    t.match(tripsOf(engine.partitions), [{ status: 'arrived', currentLegId: legs[0]!.newId }])
    t.ok(Math.max(...sent) < 20_000, `${Math.max(...sent)} bytes`)
  },
)

const WRONG = 'user.arrived_at_wrong_trip_destination'
