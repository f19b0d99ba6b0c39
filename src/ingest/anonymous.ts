import { stepBeacons } from '../actor/beacons.ts'
import { step } from '../actor/device.ts'
import { FactFinder } from '../actor/facts.ts'
import { circumstancesOf, isTooInaccurate } from '../actor/partition.ts'
import { currentBeacons, currentGeofences } from '../actor/userRecord.ts'
import { eventJson } from '../events/record.ts'
import type { BeaconVisit, Visit } from '../model/device.ts'
import type { Transition } from '../model/event.ts'
import { isoDate } from '../model/isoDate.ts'
import { isLive } from '../model/scope.ts'
import type { Update } from '../model/update.ts'
import type { ScopeView } from '../registry/port.ts'
import { newId } from '../registry/recordList.ts'

/**
 * Anonymous tracking: an update of the deviceId `anonymous` is evaluated by the rules for every device, against the
 * state that the client carries itself, and answered. Nothing of it is kept: no actor, no log, no event list.
 *
 * What the state of a device knows beside where it stays is not known here. An exit has no duration, nobody dwells, and
 * delays and crossings, which need the update before, are off. Geofences for certain users stay closed, whatever userId
 * is sent along.
 */

/** The deviceId that all who want nothing stored of them share; also the `_id` of their user. */
export const ANONYMOUS = 'anonymous'

/** Where an anonymous client stays, as it knows from the answer before. */
export interface AnonymousStays {
  readonly visits: readonly Visit[]
  readonly beacons: readonly BeaconVisit[]
}

export interface AnonymousResult extends AnonymousStays {
  /** Finished JSON. */
  readonly user: string
  /** Finished JSON of each. */
  readonly events: readonly string[]
}

/** The stays that a client names; what the registry does not know drops out by itself. */
export function anonymousStays(body: {
  readonly geofenceIds?: readonly string[]
  readonly beaconIds?: readonly string[]
}): AnonymousStays {
  return {
    // Dwelled, so that no stay of unknown length becomes a dwell event.
    visits: [...new Set(body.geofenceIds)].map((geofenceId) => ({ geofenceId, enteredAt: 0, dwelled: true })),
    beacons: [...new Set(body.beaconIds)].map((beaconId) => ({ beaconId, enteredAt: 0 })),
  }
}

const finder = new FactFinder()

/** Evaluates one update; its `userId` does not count. */
export function trackAnonymously(stays: AnonymousStays, update: Update, view: ScopeView): AnonymousResult {
  const time = update.updatedAt ?? update.receivedAt
  const settings = { ...view.settings, entryDelaySeconds: 0, exitDelaySeconds: 0 }
  const now = circumstancesOf({ ...update, userId: undefined }, time, settings)
  const among = stepBeacons(stays.beacons, view.beacons, update, now)
  let { visits } = stays
  let transitions: readonly Transition[] = among.transitions
  if (!isTooInaccurate(update, settings)) {
    const facts = finder.find(view.index, update.latitude, update.longitude, visits, now)
    const result = step({ visits, approaches: [] }, facts, now)
    // From now on too: a replay evaluates several updates in a row.
    visits = result.visits.map((visit) => ({ ...visit, dwelled: true }))
    transitions = [...result.transitions, ...among.transitions]
  }
  const events = transitions.map((transition) => anonymousEvent(transition, update, time))
  const after = { visits, beacons: among.visits }
  return { ...after, events, user: anonymousUser(after, update, time, view) }
}

function anonymousEvent(transition: Transition, update: Update, time: number): string {
  const { duration: _, ...untimed } = transition
  return eventJson(newId(update.receivedAt), untimed, {
    live: isLive(update.scope),
    user: { id: ANONYMOUS, deviceId: ANONYMOUS },
    latitude: update.latitude,
    longitude: update.longitude,
    accuracy: update.accuracy,
    foreground: update.foreground,
    stopped: update.stopped,
    replayed: update.replayed,
    time,
    receivedAt: update.receivedAt,
  })
}

function anonymousUser(stays: AnonymousStays, update: Update, time: number, view: ScopeView): string {
  return JSON.stringify({
    _id: ANONYMOUS,
    live: isLive(update.scope),
    deviceId: ANONYMOUS,
    ip: update.ip,
    createdAt: isoDate(time),
    geofences: currentGeofences({ visits: stays.visits }, view, update.receivedAt),
    beacons: currentBeacons(stays, view),
    segments: [],
    topChains: [],
    location: { type: 'Point', coordinates: [update.longitude, update.latitude] },
    locationAccuracy: update.accuracy,
    foreground: update.foreground,
    stopped: update.stopped,
    updatedAt: isoDate(time),
  })
}
