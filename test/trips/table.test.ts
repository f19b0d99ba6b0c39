/**
 * The table of a trip's statuses, cell by cell, as the specification has it: by input and status, the status after it
 * and the events.
 */
import t from 'tap'
import { TRIP_STATUSES, type TripStatus } from '../../src/model/trip.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import type { WantedStatus } from '../../src/trips/machine/table.ts'
import { FAR, HOME, inStatus, NEXT_DOOR, type TripDriver } from './machineKit.ts'

/** `status; events` before: pending | started | approaching | arrived | completed | canceled | expired. */
const row = (input: string, line: string): void => {
  t.test(input, async (t) => {
    const cells = line.split('|').map((cell) => cell.trim())
    t.equal(cells.length, TRIP_STATUSES.length)
    for (const [i, status] of TRIP_STATUSES.entries()) t.equal(outcome(input, status), cells[i], status)
  })
}

row('POST, the same', 'same; - | same; - | same; - | same; - | same; - | same; - | same; -')
row('a field changes', 'same; - | same; U | same; U | same; U | same; - | same; - | same; -')
row('PATCH pending', 'same; - | pending; U | pending; U | pending; U | pending; - | pending; - | pending; -')
row('PATCH started', 'started; S | same; - | started; U | started; U | started; S | started; S | started; S')
row(
  'PATCH approaching',
  'approaching; SA | approaching; A | same; - | approaching; U | approaching; SA | approaching; SA | approaching; SA',
)
row(
  'PATCH arrived',
  'arrived; SR | arrived; R | arrived; R | same; - | arrived; SR | arrived; SR | arrived; SR',
)
row(
  'PATCH completed',
  'completed; X | completed; X | completed; X | completed; X | same; - | 400 status | completed; X',
)
row(
  'PATCH canceled',
  'canceled; X | canceled; X | canceled; X | canceled; X | 400 status | same; - | canceled; X',
)
row('update, outside', 'started; S | same; U | same; U | same; U | same; - | same; - | same; -')
row('update, near', 'approaching; SA | approaching; A | same; U | same; U | same; - | same; - | same; -')
row('update, inside', 'arrived; SR | arrived; R | arrived; R | same; U | same; - | same; - | same; -')
row('update, wrong', 'started; SW | same; W | same; W | same; U | same; - | same; - | same; -')
row('update, left', 'started; S | same; U | same; U | same; U | same; - | same; - | same; -')
row('fence gone, outside', 'started; S | same; U | same; U | same; U | same; - | same; - | same; -')
row('fence gone, there', 'arrived; SR | arrived; R | arrived; R | same; U | same; - | same; - | same; -')
row('fence moved here', 'arrived; SR | arrived; R | arrived; R | same; U | same; - | same; - | same; -')
row('time', 'expired; X | expired; X | expired; X | expired; X | same; - | same; - | same; -')
row('user removed', 'canceled; X | canceled; X | canceled; X | canceled; X | same; - | same; - | same; -')

/** What the input does to a trip in that status. */
function outcome(input: string, status: TripStatus): string {
  const driver = inStatus(status)
  let events: string
  try {
    events = put(input, driver) || '-'
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return `${error.code} ${error.param}`
  }
  const after = driver.trip.status
  return `${after === status ? 'same' : after}; ${events}`
}

function put(input: string, driver: TripDriver): string {
  const { fences } = driver
  switch (input) {
    case 'POST, the same':
      return driver.call({ destination: { tag: 'store', externalId: 'home' }, mode: 'car', userId: 'u' })
    case 'a field changes':
      return driver.call({ metadata: { note: 'ring twice' } })
    case 'update, outside':
      return driver.events(FAR)
    case 'update, near':
      driver.roads = [4.9]
      return driver.events(FAR)
    case 'update, inside':
      return driver.events(HOME, driver.in('home'))
    case 'update, wrong':
      return driver.events(NEXT_DOOR, driver.in('other'))
    case 'update, left':
      driver.trip = { ...driver.trip, isThere: true }
      return driver.events(FAR)
    case 'fence gone, outside':
      fences.all.delete('home')
      return driver.events(FAR)
    case 'fence gone, there':
      fences.put('home', HOME, { enabled: false })
      return driver.events(HOME)
    case 'fence moved here':
      fences.put('home', FAR)
      return driver.events(FAR, driver.in('home'))
    case 'time':
      return driver.end('due')
    case 'user removed':
      return driver.end('userRemoved')
    default:
      return driver.call({ status: input.replace('PATCH ', '') as WantedStatus })
  }
}
