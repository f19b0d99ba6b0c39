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

/** An event. In one answer they are in the order of {@link TRIP_EVENTS}. */
export type Letter = keyof typeof TRIP_EVENTS

/** What a call wants the status to be. */
export type WantedStatus = ActiveStatus | Exclude<EndedStatus, 'expired'>

/** What an update finds out about a trip without an end. */
export type UpdateInput = 'outside' | 'near' | 'inside' | 'wrong' | 'left'

/**
 * One case. `to`: the status after it; `same`: it stays. `restart`: the run before is cleared first. `refused`: 400,
 * and nothing changes.
 */
export interface Cell {
  readonly to: TripStatus | 'same'
  readonly events: readonly Letter[]
  readonly is?: 'restart' | 'refused'
}

type Row<S extends string> = Readonly<Record<S, Cell>>

const SAME = cell('same')

/** PATCH with a status. `changed`: POST of a trip that exists, and PATCH without a status, where a field changes. */
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
 * An update. `near`: outside, and the ETA is within the threshold. `wrong`: it entered another geofence of the
 * destination's tag. `left`: it is outside, and the one before was in the destination. A trip that has ended is not
 * moved.
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
    // With legs, it is the next leg's turn.
    arrived: cell('same', 'U'),
  },
}

/** Time, and the removal of the user's record. */
export const ENDS: Readonly<Record<'due' | 'userRemoved', Row<TripStatus>>> = {
  due: { ...active(cell('expired', 'X')), ...ended(SAME) },
  userRemoved: { ...active(cell('canceled', 'X')), ...ended(SAME) },
}

/** Events of one step in their order, each once except W; U only where no other of its rank was made. */
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

/** An end stays as it is; only a trip that has expired by itself may be given another. */
function endOf(to: WantedStatus & EndedStatus, other: WantedStatus & EndedStatus): Row<EndedStatus> {
  const cells: Record<string, Cell> = {
    [to]: SAME,
    [other]: { to: 'same', events: [], is: 'refused' },
    expired: cell(to, 'X'),
  }
  return cells as Row<EndedStatus>
}
