import { MAX_EVENT_CHARACTERS } from '../actor/refusal.ts'
import { currentBeacons, currentGeofences } from '../actor/userRecord.ts'
import { eventJson, fraudContext, outlineIn, regionMembers } from '../events/record.ts'
import { ANONYMOUS } from '../model/device.ts'
import type { Transition } from '../model/event.ts'
import type { GeofenceProperties, Outline } from '../model/geofence.ts'
import type { FraudRecord } from '../model/fraud.ts'
import { isoDate } from '../model/isoDate.ts'
import { isLive } from '../model/scope.ts'
import { shownSegments, type SegmentStays } from '../model/segment.ts'
import { shownPlace, shownStay } from '../model/place.ts'
import type { Update } from '../model/update.ts'
import { newId } from '../runtime/newId.ts'
import { fetched, Unfetched, Unknown } from '../rules/atlas.ts'
import { Barred } from '../rules/countries.ts'
import { Crowded } from '../rules/crowded.ts'
import { circumstancesOf } from '../rules/circumstances.ts'
import { NO_STATE, type DeviceState } from '../rules/deviceState.ts'
import type { Situation } from '../rules/evaluator.ts'
import { createEvaluators, evaluate, type Evaluated } from '../rules/evaluators.ts'
import { measureElsewhere, Unmeasured } from '../rules/measured.ts'
import { Unread } from '../rules/unread.ts'
import type { ScopeView } from '../rules/port.ts'
import { regionsOf } from '../rules/regions.ts'
import { countryBarred, countryUnknown } from '../runtime/countryErrors.ts'
import { ApiError } from '../runtime/errors.ts'
import { ownTurn, Slice } from '../runtime/slices.ts'
import type { Measurer } from '../spatial/port.ts'
import { readInTurns } from '../spatial/readInTurns.ts'
import type { AnonymousStays } from './anonymousStays.ts'

/**
 * Anonymous tracking: an update of the deviceId `anonymous` is evaluated by the rules for every device, against the
 * state that the client itself sends, and answered. Nothing of it is stored: no actor, no log, no event list.
 *
 * A device's other state is not known here. An exit has no duration, nobody dwells, and delays, crossings and chains
 * nearby, which need the update before, are off. A place is entered by a stop, or within a replay by a stay. Geofences for certain users stay closed, whatever userId is sent along.
 */

export interface AnonymousResult extends AnonymousStays {
  /** The fraud record of this update alone, because what was before is not known. */
  readonly fraud: FraudRecord
  readonly segments: SegmentStays
  readonly transitions: readonly Transition[]
  /** The locations of their geofences. */
  readonly outlines: Outlines
}

type Outlines = ReadonlyMap<GeofenceProperties, Outline>

const evaluators = createEvaluators()

/**
 * Evaluates one update; its `userId` is ignored. The two functions below write its result.
 * @throws ApiError 451 in a country from which nothing is accepted
 * @param measurer measures geometry in place of the main thread if there is much
 * @param crowded called before an update amid very many geofences is evaluated, which waits for it
 */
export async function trackAnonymously(
  stays: AnonymousStays,
  update: Update,
  view: ScopeView,
  measurer: Measurer | undefined,
  crowded: () => Promise<void>,
): Promise<AnonymousResult> {
  const settings = {
    ...view.settings,
    entryDelaySeconds: 0,
    exitDelaySeconds: 0,
    ...(!stays.knowsRegions && { regionEvents: [] }),
    // Which of them were near before is not known.
    nearbyPlaceChains: [],
  }
  const now = circumstancesOf({ ...update, userId: undefined }, timeOf(update), {
    settings,
    zones: view.zones,
  })
  const { metadata } = update
  const { knowsRegions, ...known } = stays
  const before = { ...NO_STATE, ...known }
  // The location may lie in thousands of geofences, and even counting them takes long.
  await ownTurn()
  const situation = { update, view, now, metadata }
  const { state, transitions } = await evaluated(before, situation, measurer, crowded)
  // They also count as dwelled from now on, because a replay evaluates several updates in a row.
  const visits = state.visits.map((visit) => ({ ...visit, dwelled: true }))
  // It is not known whether the user passed before, so failing is no event.
  const told = transitions.filter(({ fraud }) => fraud === undefined)
  const { beacons, places, regions, fraud, segments } = state
  return {
    visits,
    beacons,
    places,
    regions,
    knowsRegions,
    fraud,
    segments,
    transitions: told,
    outlines: outlinesOf(told, view),
  }
}

async function evaluated(
  before: DeviceState,
  situation: Situation,
  measurer: Measurer | undefined,
  crowded: () => Promise<void>,
): Promise<Evaluated> {
  let measuring: Situation['measuring'] = measurer && 'elsewhere'
  let reading: Situation['reading'] = 'before'
  let mayWait = true
  for (;;) {
    const result = evaluate(evaluators, before, { ...situation, measuring, reading, mayWait })
    if (result instanceof Unmeasured) measuring = await measureElsewhere(measurer!, result)
    else if (result instanceof Crowded) {
      await crowded()
      await ownTurn()
      mayWait = false
    } else if (result instanceof Unread) {
      await readInTurns(situation.view.index, result.slots)
      reading = undefined
    } else if (result instanceof Unfetched) {
      await result.fetch()
      // Hundreds may have waited for the same part of the world.
      await ownTurn()
    } else if (result instanceof Barred) throw result.isCertain ? countryBarred() : countryUnknown()
    else return result as Evaluated
  }
}

/** The outlines of the events' geofences, taken before anybody can edit them. */
function outlinesOf(transitions: readonly Transition[], view: ScopeView): Outlines {
  const outlines = new Map<GeofenceProperties, Outline>()
  for (const { geofence } of transitions)
    if (geofence !== undefined) outlines.set(geofence, outlineIn(view.index, geofence))
  return outlines
}

/**
 * The finished JSON of each event of one update, made in turns with other requests.
 * @throws ApiError 400 if they exceed {@link MAX_EVENT_CHARACTERS} together, as for every device
 */
export function anonymousEvents(
  { transitions, outlines }: AnonymousResult,
  update: Update,
): Promise<string[]> {
  return bounded(transitions, (transition) => anonymousEvent(transition, update, outlines))
}

/** @throws ApiError 400 if the texts exceed {@link MAX_EVENT_CHARACTERS} together */
async function bounded<T>(items: readonly T[], textOf: (item: T) => string): Promise<string[]> {
  const slice = new Slice()
  const texts: string[] = []
  let characters = 0
  for (const item of items) {
    if (slice.isOver) await slice.next()
    const text = textOf(item)
    characters += text.length
    if (characters > MAX_EVENT_CHARACTERS) throw tooMuchAround()
    texts.push(text)
  }
  return texts
}

function tooMuchAround(): ApiError {
  const sentence =
    'deviceId: Too many geofences and beacons are near this location for one response to anonymous tracking.'
  return new ApiError(400, sentence, { param: 'deviceId' })
}

/** In epoch milliseconds. */
function timeOf(update: Update): number {
  return update.updatedAt ?? update.receivedAt
}

function anonymousEvent(transition: Transition, update: Update, outlines: Outlines): string {
  const { duration: _, ...untimed } = transition
  return eventJson(newId(update.receivedAt), untimed, {
    outlineOf: (geofence) => outlines.get(geofence)!,
    live: isLive(update.scope),
    user: { id: ANONYMOUS, deviceId: ANONYMOUS },
    latitude: update.latitude,
    longitude: update.longitude,
    accuracy: update.accuracy,
    foreground: update.foreground,
    stopped: update.stopped,
    replayed: update.replayed,
    time: timeOf(update),
    receivedAt: update.receivedAt,
  })
}

/**
 * The user after an update, as finished JSON.
 * @throws ApiError 400 if the geofences exceed {@link MAX_EVENT_CHARACTERS}, because a client may name any
 */
export async function anonymousUser(
  stays: AnonymousResult,
  update: Update,
  view: ScopeView,
): Promise<string> {
  const createdAt = isoDate(timeOf(update))
  const geofences = await bounded(currentGeofences(stays, view, update.receivedAt), (one) =>
    JSON.stringify(one),
  )
  const beacons = await bounded(currentBeacons(stays, view), (one) => JSON.stringify(one))
  const rest = JSON.stringify({
    _id: ANONYMOUS,
    live: isLive(update.scope),
    deviceId: ANONYMOUS,
    ip: update.ip,
    createdAt,
    segments: shownSegments(stays.segments, view.settings.segments),
    topChains: [],
    location: { type: 'Point', coordinates: [update.longitude, update.latitude] },
    locationAccuracy: update.accuracy,
    foreground: update.foreground,
    stopped: update.stopped,
    source: update.source,
    updatedAt: createdAt,
    actualUpdatedAt: isoDate(update.receivedAt),
  })
  const lists = `"geofences":[${geofences.join(',')}],"beacons":[${beacons.join(',')}]`
  const fraud = view.settings.fraud.enabled ? `,"fraud":${JSON.stringify(fraudContext(stays.fraud))}` : ''
  const regions = stays.knowsRegions
    ? regionMembers(view.settings.regions ? regionsOf(stays.regions.codes, view.atlas) : [])
    : await regionsAround(update, view)
  return `${rest.slice(0, -1)},${lists}${regions}${placeMember(stays, view)}${fraud}}`
}

function placeMember({ places }: AnonymousResult, { settings }: ScopeView): string {
  const stay = shownStay(places, settings)
  return stay === undefined ? '' : `,"place":${JSON.stringify(shownPlace(stay.place, settings))}`
}

/** The regions of the location, as members of the user. */
async function regionsAround(
  { latitude, longitude }: Update,
  { settings, atlas }: ScopeView,
): Promise<string> {
  if (!settings.regions) return ''
  const here = await fetched(() => atlas.regionsAt(latitude, longitude))
  return here instanceof Unknown ? '' : regionMembers(regionsOf(here.codes, atlas))
}
