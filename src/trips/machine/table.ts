import type { ActiveStatus, EndedStatus, TripStatus } from '../../model/trip.ts'

/**
 * What happens to a trip, as one table: by input and by the status before, the status after and the events. The
 * functions beside this file look up their case here; what the inputs mean is theirs.
 *
 * | letter | event |
 * |---|---|
 * | S | `user.started_trip` |
 * | W | `user.arrived_at_wrong_trip_destination` |
 * | A | `user.approaching_trip_destination` |
 * | R | `user.arrived_at_trip_destination` |
 * | D | `user.delayed_during_trip` |
 * | U | `user.updated_trip` |
 * | X | `user.stopped_trip` |
 */
export const TRIP_EVENTS = {
  S: 'user.started_trip',
  W: 'user.arrived_at_wrong_trip_destination',
  A: 'user.approaching_trip_destination',
  R: 'user.arrived_at_trip_destination',
  D: 'user.delayed_during_trip',
  U: 'user.updated_trip',
  X: 'user.stopped_trip',
} as const

/** An event. Within one answer, events are in the order of {@link TRIP_EVENTS}. */
export type Letter = keyof typeof TRIP_EVENTS

/** The status that a call wants. */
export type WantedStatus = ActiveStatus | Exclude<EndedStatus, 'expired'>

/** What an update finds out about a trip that has not ended. */
export type UpdateInput = 'outside' | 'near' | 'inside' | 'wrong' | 'left'

/**
 * One case. `to` is the status after it, or `same` if it stays. With `restart`, the previous run is cleared first.
 * With `refused`, the answer is 400, and nothing changes.
 */
export interface Cell {
  readonly to: TripStatus | 'same'
  readonly events: readonly Letter[]
  readonly is?: 'restart' | 'refused'
}

type Row<S extends string> = Readonly<Record<S, Cell>>

const SAME = cell('same')

/**
 * The cases of PATCH with a status. `changed` is POST for a trip that exists, and PATCH without a status, if a field
 * changes.
 */
export const CALLS: Readonly<Record<WantedStatus | 'changed', Row<TripStatus>>> = {
  changed: {
    pending: SAME,
    started: cell('same', 'U'),
    approaching: cell('same', 'U'),
    arrived: cell('same', 'U'),
    ...ended(SAME),
  },
  pending: {
    pending: SAME,
    started: cell('pending', 'U'),
    approaching: cell('pending', 'U'),
    arrived: cell('pending', 'U'),
    ...ended(restart('pending')),
  },
  started: {
    pending: cell('started', 'S'),
    started: SAME,
    approaching: cell('started', 'U'),
    arrived: cell('started', 'U'),
    ...ended(restart('started', 'S')),
  },
  approaching: {
    pending: cell('approaching', 'S', 'A'),
    started: cell('approaching', 'A'),
    approaching: SAME,
    arrived: cell('approaching', 'U'),
    ...ended(restart('approaching', 'S', 'A')),
  },
  arrived: {
    pending: cell('arrived', 'S', 'R'),
    started: cell('arrived', 'R'),
    approaching: cell('arrived', 'R'),
    arrived: SAME,
    ...ended(restart('arrived', 'S', 'R')),
  },
  completed: { ...active(cell('completed', 'X')), ...endOf('completed', 'canceled') },
  canceled: { ...active(cell('canceled', 'X')), ...endOf('canceled', 'completed') },
}

/**
 * The cases of an update. `near`: it is outside, and the ETA is within the threshold. `wrong`: it entered another
 * geofence of the destination's tag. `left`: it is outside, and the previous update was in the destination. A trip
 * that has ended is not moved.
 */
export const UPDATES: Readonly<Record<UpdateInput, Row<ActiveStatus>>> = {
  outside: {
    pending: cell('started', 'S'),
    started: cell('same', 'U'),
    approaching: cell('same', 'U'),
    arrived: cell('same', 'U'),
  },
  near: {
    pending: cell('approaching', 'S', 'A'),
    started: cell('approaching', 'A'),
    approaching: cell('same', 'U'),
    arrived: cell('same', 'U'),
  },
  inside: {
    pending: cell('arrived', 'S', 'R'),
    started: cell('arrived', 'R'),
    approaching: cell('arrived', 'R'),
    arrived: cell('same', 'U'),
  },
  wrong: {
    pending: cell('started', 'S', 'W'),
    started: cell('same', 'W'),
    approaching: cell('same', 'W'),
    arrived: cell('same', 'U'),
  },
  left: {
    pending: cell('started', 'S'),
    started: cell('same', 'U'),
    approaching: cell('same', 'U'),
    // If it has legs, the next leg begins.
    arrived: cell('same', 'U'),
  },
}

/** The cases of time, and of the removal of the user's record. */
export const ENDS: Readonly<Record<'due' | 'userRemoved', Row<TripStatus>>> = {
  due: { ...active(cell('expired', 'X')), ...ended(SAME) },
  userRemoved: { ...active(cell('canceled', 'X')), ...ended(SAME) },
}

/**
 * The events of one step in their order. Each occurs once, except W. U only occurs if no other of its rank was made.
 */
export function inOrder(letters: readonly Letter[]): readonly Letter[] {
  const sorted = ORDER.flatMap((letter) =>
    letter === 'W' ? letters.filter((one) => one === 'W') : letters.includes(letter) ? [letter] : [],
  )
  return sorted.some((letter) => BEFORE_UPDATED.has(letter)) ? sorted.filter((one) => one !== 'U') : sorted
}

const ORDER = Object.keys(TRIP_EVENTS) as Letter[]
const BEFORE_UPDATED: ReadonlySet<Letter> = new Set(['S', 'W', 'A', 'R'])

function cell(to: Cell['to'], ...events: Letter[]): Cell {
  return { to, events }
}

function restart(to: ActiveStatus, ...events: Letter[]): Cell {
  return { to, events, is: 'restart' }
}

function active(one: Cell): Row<ActiveStatus> {
  return { pending: one, started: one, approaching: one, arrived: one }
}

function ended(one: Cell): Row<EndedStatus> {
  return { completed: one, canceled: one, expired: one }
}

/** The case of an end. It stays as it is, except that a trip that has expired by itself may be given another one. */
function endOf(to: WantedStatus & EndedStatus, other: WantedStatus & EndedStatus): Row<EndedStatus> {
  const cells: Record<string, Cell> = {
    [to]: SAME,
    [other]: { to: 'same', events: [], is: 'refused' },
    expired: cell(to, 'X'),
  }
  return cells as Row<EndedStatus>
}
