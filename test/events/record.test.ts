import t from 'tap'
import { TextCache } from '../../src/runtime/textCache.ts'
import { EventTexts, eventJson, type EventContext } from '../../src/events/record.ts'
import type { Transition } from '../../src/model/event.ts'
import { runs } from '../geometry/shapes.ts'
import fc from '../kit/fastCheck.ts'
import { aBeacon, aGeofence } from '../actor/kit.ts'

const metadata = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.boolean()))
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const degrees = fc.double({ min: -180, max: 180, noNaN: true })
const time = fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) })

const outline = { center: [13.5, -0.25], radius: 100 } as const
const context: fc.Arbitrary<EventContext> = fc.record({
  outlineOf: fc.constant(() => outline),
  live: fc.boolean(),
  user: fc.record({
    id: fc.string(),
    deviceId: fc.string(),
    userId: maybe(fc.string()),
    metadata: maybe(metadata),
  }),
  latitude: degrees,
  longitude: degrees,
  accuracy: maybe(fc.double({ min: 0, max: 1e21, noNaN: true })),
  foreground: fc.boolean(),
  stopped: fc.boolean(),
  replayed: fc.boolean(),
  time,
  receivedAt: time,
})

const more = { tag: maybe(fc.string()), description: fc.string(), metadata: maybe(metadata) }
const confidence = fc.constantFrom(1, 2, 3)
const duration = maybe(fc.double({ min: 0, max: 1e9, noNaN: true }))
const transition = fc.oneof(
  fc.record({
    type: fc.constantFrom('user.entered_geofence', 'user.exited_geofence', 'user.dwelled_in_geofence'),
    geofence: fc.record(more).map((change) => aGeofence(1, change as object)),
    confidence,
    duration,
    currentlyOperating: maybe(fc.boolean()),
    at: maybe(fc.record({ time, latitude: degrees, longitude: degrees })),
  }),
  fc.record({
    type: fc.constantFrom('user.entered_beacon', 'user.exited_beacon'),
    beacon: fc.record(more).map((change) => aBeacon(1, change as object)),
    confidence,
    duration,
  }),
) as fc.Arbitrary<Transition>

t.test('the texts of events of one update equal those of each event alone', (t) => {
  fc.assert(
    fc.property(context, fc.array(transition, { maxLength: 4 }), (update, transitions) => {
      const texts = new EventTexts(update, new TextCache(1000))
      for (const [i, one] of transitions.entries()) {
        const expected = eventJson(`id${i}`, one, update)
        if (texts.json(`id${i}`, one) !== expected)
          throw new Error(`${texts.json(`id${i}`, one)}, not ${expected}`)
        const whole = eventJson('f'.repeat(24), one, update)
        if (texts.lengthOf(one, texts.partOf(one)) !== whole.length)
          throw new Error(`${texts.lengthOf(one, texts.partOf(one))} characters of ${whole}`)
      }
    }),
    runs(1000),
  )
  t.end()
})
