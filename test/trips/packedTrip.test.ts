/** Packed trips that are read and changed in place, compared with unpacking them. */
import assert from 'node:assert/strict'
import t from 'tap'
import type { Destination, Leg, Trip } from '../../src/model/trip.ts'
import { TRAVEL_MODES, TRIP_STATUSES } from '../../src/model/trip.ts'
import { isPackedId, isPackedOfUser, packedId, packedWithoutTold } from '../../src/trips/packedTrip.ts'
import { packTrip, unpackTrip } from '../../src/trips/tripCodec.ts'
import { NOON, runs } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const id = fc.bigInt(0n, 2n ** 96n - 1n).map((bits) => bits.toString(16).padStart(24, '0'))
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.integer({ min: 0, max: 70_000 }).map((length) => 'é'.repeat(length)),
)
const time = fc.oneof(fc.constant(NOON), fc.nat(), fc.double({ noNaN: true, noDefaultInfinity: true }))
const degrees = fc.double({ min: -180, max: 180, noNaN: true })
const eta = fc.record({
  duration: degrees,
  distance: fc.nat(),
  source: fc.constantFrom('road' as const, 'straight' as const),
})
const metadata = fc.dictionary(fc.string(), fc.oneof(text, fc.boolean(), fc.double({ noNaN: true })), {
  maxKeys: 16,
})
const destination: fc.Arbitrary<Destination> = fc.record({
  type: fc.constantFrom('geofence' as const, 'address' as const, 'coordinates' as const),
  tag: maybe(text),
  externalId: maybe(text),
  geofenceId: maybe(id),
  address: maybe(text),
  location: maybe(fc.tuple(degrees, degrees)),
  radius: maybe(fc.nat()),
})
const leg: fc.Arbitrary<Leg> = fc.record({
  id,
  status: fc.constantFrom(...TRIP_STATUSES),
  createdAt: time,
  updatedAt: time,
  arrivedAt: maybe(time),
  eta: maybe(eta),
  stopDuration: fc.nat(),
  metadata: maybe(metadata),
  destination,
})
const heard = fc.record({ deviceId: text, number: fc.nat(), time })

const aTrip: fc.Arbitrary<Trip> = fc.record({
  id,
  scope: fc.nat(),
  externalId: text,
  userId: maybe(text),
  mode: fc.constantFrom(...TRAVEL_MODES),
  status: fc.constantFrom(...TRIP_STATUSES),
  createdAt: time,
  updatedAt: time,
  isThere: fc.boolean(),
  isDelayTold: fc.boolean(),
  isEstimateStale: fc.boolean(),
  destination: maybe(destination),
  metadata: maybe(metadata),
  scheduledArrivalAt: maybe(time),
  approachingThreshold: maybe(fc.nat()),
  user: maybe(fc.record({ id, userId: maybe(text), deviceId: text })),
  startedAt: maybe(time),
  movedAt: maybe(time),
  place: maybe(fc.record({ latitude: degrees, longitude: degrees, accuracy: maybe(degrees) })),
  eta: maybe(eta),
  toldAt: maybe(time),
  heard: fc.array(heard, { maxLength: 20 }),
  arrivedAt: maybe(time),
  completedAt: maybe(time),
  deviceId: maybe(text),
  restartedAt: maybe(time),
  legs: maybe(fc.array(leg, { minLength: 1, maxLength: 20 })),
  currentLegId: maybe(id),
  told: fc.array(text, { maxLength: 20 }),
  forgottenAt: maybe(time),
  called: maybe(fc.array(fc.nat(), { minLength: 1, maxLength: 8 })),
})

/** The bytes of a trip, which lie within others as in a table. */
function bytesOf(trip: Trip): { readonly bytes: Buffer; readonly at: number } {
  return { bytes: Buffer.concat([Buffer.alloc(5, 0xff), packTrip(trip), Buffer.alloc(5, 0xff)]), at: 5 }
}

t.test('property: the id and the user in a packed trip are those of the trip', async () => {
  fc.assert(
    fc.property(aTrip, aTrip, (trip, other) => {
      const { bytes, at } = bytesOf(trip)
      assert.equal(packedId(bytes, at), trip.id)
      for (const wanted of [trip.id, other.id])
        assert.equal(isPackedId(bytes, at, wanted), wanted === trip.id)
      for (const userId of [trip.userId, other.userId, undefined, '', `${trip.userId}x`])
        assert.equal(isPackedOfUser(bytes, at, userId), userId === trip.userId, `${userId}`)
    }),
    runs(100),
  )
})

t.test('property: a packed trip without what was told is the same as one that is packed so', async () => {
  fc.assert(
    fc.property(aTrip, (trip) => {
      const bytes = Buffer.from(packTrip(trip))
      const without = Buffer.from(packedWithoutTold(bytes))
      const wanted: Trip = { ...trip, told: [], called: undefined }
      assert.deepEqual(without, Buffer.from(packTrip(wanted)))
      assert.deepEqual(unpackTrip(without), unpackTrip(packTrip(wanted)))
      assert.deepEqual(bytes, Buffer.from(packTrip(trip)), 'the bytes before stay')
    }),
    runs(100),
  )
})

t.test('of the shortest trip that there may be', async (t) => {
  const least: Trip = {
    id: 'a'.repeat(24),
    scope: 0,
    externalId: 'a',
    mode: 'car',
    status: 'pending',
    createdAt: 1,
    updatedAt: 1,
    isThere: false,
    isDelayTold: false,
    isEstimateStale: false,
    heard: [],
    told: ['x'],
  }
  const { bytes, at } = bytesOf(least)
  t.ok(isPackedOfUser(bytes, at, undefined))
  const without = packedWithoutTold(Buffer.from(packTrip(least)))
  t.strictSame(Buffer.from(without), Buffer.from(packTrip({ ...least, told: [] })))
})
