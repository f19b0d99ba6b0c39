/** The events that the dashboard offers and how it names what they are about. */
import t from 'tap'
import { EVENT_TYPES } from '../../dashboard/src/pages/events/eventTypes.ts'
import { eventKind } from '../../dashboard/src/ui/words.ts'
import type { Transition } from '../../src/model/event.ts'
import { TRIP_EVENTS } from '../../src/trips/machine/table.ts'

/** Every type of the engine: the compiler finds one that is missing here. */
const TRANSITIONS: Readonly<Record<Transition['type'], string>> = {
  'user.entered_geofence': 'in',
  'user.exited_geofence': 'out',
  'user.dwelled_in_geofence': 'stay',
  'user.entered_beacon': 'in',
  'user.exited_beacon': 'out',
  'user.entered_region_country': 'in',
  'user.exited_region_country': 'out',
  'user.entered_region_state': 'in',
  'user.exited_region_state': 'out',
  'user.entered_region_dma': 'in',
  'user.exited_region_dma': 'out',
  'user.entered_region_postal_code': 'in',
  'user.exited_region_postal_code': 'out',
  'user.entered_place': 'in',
  'user.exited_place': 'out',
  'user.nearby_place_chain': 'stay',
  'user.failed_fraud': 'bad',
}

t.test('the filter of events offers every type that the server makes', async (t) => {
  t.strictSame(
    EVENT_TYPES.toSorted(),
    [...Object.keys(TRANSITIONS), ...Object.values(TRIP_EVENTS)].toSorted(),
  )
})

t.test('the sign of an event tells what it means', async (t) => {
  for (const [type, kind] of Object.entries(TRANSITIONS)) t.equal(eventKind(type), kind, type)
  t.equal(eventKind('user.arrived_at_wrong_trip_destination'), 'bad')
  t.equal(eventKind('user.delayed_during_trip'), 'bad')
  t.equal(eventKind('signed up'), 'other')
})
