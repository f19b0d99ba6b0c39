import type { Geofence } from '../../src/model/geofence.ts'
import type { Settings } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'
import { barredBy } from './oracleEligibility.ts'
import { signedDistance } from './oracleGeometry.ts'
import { eventRecord, show } from './oracleRecords.ts'
import { atMostMeters, FOUND_TO_METERS, placeOn, TooClose, touch, wayBetween, type Way } from './oracleWay.ts'

/** The part of oracle.ts for geofences that a device went through between two updates. */

/** The record's update before this one. */
export interface LastUpdate {
  readonly latitude: number
  readonly longitude: number
  readonly time: number
  /** False if its accuracy was too low to affect geofences. */
  readonly touched: boolean
}

type Range = readonly [least: number, most: number]

interface Verdict {
  /** `may` means too close to call. */
  readonly crossed: 'yes' | 'no' | 'may'
  /** The range of shares of the way at which it may have happened. */
  readonly entry: Range
  readonly exit: Range
}

const NO: Verdict = { crossed: 'no', entry: [0, 0], exit: [0, 0] }
/** How many metres the engine's boundary may differ from the oracle's. */
const SLACK_METERS = 0.005
/** The engine may overlook a way that never goes this deep inside. It must notice a deeper one. */
const DEEP_METERS = 0.3
/** Two places that are farther apart count as a jump, not as a way. */
const JUMP_METERS = 250_000
const ANYWHERE: Verdict = { crossed: 'may', entry: [0, 1], exit: [0, 1] }

export interface Crossings {
  readonly events: readonly unknown[]
  readonly decided: number
  readonly ambiguous: number
}

/**
 * Checks the crossings in the first events of an update. Where both results are correct, the engine's is accepted.
 * @param takesPart geofences that the record is or was in, or is about to enter
 * @param told the engine's events of the update
 * @param crossed ids of the geofences that were crossed according to the engine
 */
export function checkCrossings(
  geofences: Iterable<Geofence>,
  takesPart: (id: string) => boolean,
  user: { readonly id: string; readonly userId: string | undefined; readonly metadata: unknown },
  last: LastUpdate | undefined,
  update: Update,
  time: number,
  settings: Settings,
  told: readonly any[],
  crossed: readonly string[],
): Crossings {
  const possible =
    settings.detectCrossings &&
    settings.minimumConfidence === 1 &&
    last !== undefined &&
    last.touched &&
    time - last.time <= settings.maxGapSeconds * 1000
  const fail = (text: string): never => {
    throw new Error(
      `${text}; way from ${show(last)}, t = ${time}, update ${show(update)}, settings ${show(settings)}, told ${show(told)}`,
    )
  }
  let decided = 0
  let ambiguous = 0
  const verdicts = new Map<string, { readonly geofence: Geofence; readonly verdict: Verdict }>()
  for (const geofence of geofences) {
    const verdict =
      possible && !takesPart(geofence.id) ? verdictOf(geofence, last, update, time, settings) : NO
    if (verdict !== NO) decided++
    if (verdict.crossed === 'may') ambiguous++
    if (verdict.crossed === 'yes' && !crossed.includes(geofence.id))
      fail(`not crossed, expected ${show(verdict)} of ${show(geofence)}`)
    if (verdict.crossed === 'no' && crossed.includes(geofence.id))
      fail(`crossed, not expected: ${show(geofence)}`)
    verdicts.set(geofence.id, { geofence, verdict })
  }

  const events: unknown[] = []
  let before: { readonly createdAt: string; readonly id: string } | undefined
  let next = 0
  for (let i = 0; i < crossed.length; i++) {
    const entered = told[next++]
    const { geofence, verdict } = verdicts.get(entered?.geofence?._id) ?? fail('no crossing comes first')
    if (!crossed.includes(geofence.id)) fail(`${geofence.id} is told as crossed, the profile does not say so`)
    const way = wayBetween(last!, update)
    const happen = (event: any, range: Range) =>
      isOnBoundary(geofence, event) ? shareOf(event, way, range, last!.time, time) : undefined
    const entry = happen(entered, verdict.entry)
    if (entry === undefined)
      return fail(`entered at ${entry}, expected ${show(verdict)} of ${show(geofence)}`)
    const isBarred = (at: number) => barredBy(geofence, update, at, settings) !== undefined
    const exited = told[next]?.geofence?._id === geofence.id ? told[next++] : undefined
    if (exited !== undefined) {
      const exit = happen(exited, verdict.exit)
      if (exit === undefined || exit < entry || isBarred(Date.parse(exited.createdAt)))
        return fail(`exited at ${exit}, expected ${show(verdict)} of ${show(geofence)}`)
      const minutes = ((exit - entry) * (time - last!.time)) / 60_000
      if (!(Math.abs(exited.duration - minutes) < 3 / 60_000))
        fail(`duration ${minutes} of ${show(geofence)}`)
    } else if (!verdict.exit.some((share) => isBarred(last!.time + share * (time - last!.time))))
      fail(`no exit of ${show(geofence)}, expected ${show(verdict)}`)
    const { createdAt } = entered
    if (
      before !== undefined &&
      (createdAt < before.createdAt || (createdAt === before.createdAt && geofence.id < before.id))
    )
      fail('crossings in another order')
    before = { createdAt, id: geofence.id }
    for (const [kind, event] of [
      ['entered', entered],
      ['exited', exited],
    ] as const) {
      if (event === undefined) continue
      const { coordinates } = event.location
      const happened = { createdAt: event.createdAt, coordinates }
      events.push(eventRecord({ geofence }, user, update, time, kind, 1, event.duration, happened))
    }
  }
  return { events, decided, ambiguous }
}

function isOnBoundary({ shape }: Geofence, event: any): boolean {
  const [longitude, latitude] = event.location.coordinates
  return Math.abs(signedDistance(shape, { latitude, longitude }, 1)) <= SLACK_METERS
}

/**
 * The share of the way at which an event happened according to its fields; undefined if its place or time is
 * impossible.
 */
function shareOf(event: any, way: Way, [least, most]: Range, start: number, end: number): number | undefined {
  const [longitude, latitude] = event.location.coordinates
  const to = wayBetween(way.from, { latitude, longitude })
  const long = Math.abs(way.longitudes) > Math.abs(way.latitudes)
  const share = long ? to.longitudes / way.longitudes : to.latitudes / way.latitudes
  const there = placeOn(way, share)
  const offLongitude = Math.abs(there.longitude - longitude)
  if (Math.abs(there.latitude - latitude) > 1e-9) return undefined
  if (Math.min(offLongitude, 360 - offLongitude) > 1e-9) return undefined
  const tolerance = 1e-7 + FOUND_TO_METERS / atMostMeters(way, 0, 1)
  if (!(share >= least - tolerance && share <= most + tolerance)) return undefined
  const millisecond = start + share * (end - start) - Date.parse(event.createdAt)
  return Math.abs(millisecond) < 1.01 ? share : undefined
}

function verdictOf(
  geofence: Geofence,
  last: LastUpdate,
  update: Update,
  time: number,
  settings: Settings,
): Verdict {
  if (geofence.stopDetection ?? settings.stopDetection) return NO
  const { shape } = geofence
  const duration = time - last.time
  if (barredBy(geofence, update, time, { ...settings, restrictToOperatingHours: false }) !== undefined)
    return NO
  const way = wayBetween(last, update)
  // Both directions around the globe are equally long.
  if (Math.abs(way.longitudes) === 180) return ANYWHERE
  const meters = atMostMeters(way, 0, 1)
  if (meters > JUMP_METERS * 1.01) return NO
  const ends = [last, update].map((at) => signedDistance(shape, at, 1))
  if (Math.min(...ends) <= -SLACK_METERS) return NO
  const nearEnd = Math.min(...ends) <= SLACK_METERS
  try {
    const entryFrom = touch(shape, way, SLACK_METERS, false)
    if (entryFrom === undefined) return NO
    const entryTo = touch(shape, way, -DEEP_METERS, false)
    const exitTo = touch(shape, way, SLACK_METERS, true) ?? 1
    const exitFrom = touch(shape, way, -DEEP_METERS, true)
    const isSure = entryTo !== undefined && exitFrom !== undefined && !nearEnd && meters < JUMP_METERS * 0.9
    const entry: Range = [entryFrom, entryTo ?? exitTo]
    const exit: Range = [exitFrom ?? entryFrom, exitTo]
    const may: Verdict = { crossed: 'may', entry, exit }

    const open = [entry[0] * duration - 2, entry[1] * duration + 2].map(
      (after) => barredBy(geofence, update, last.time + after, settings) === undefined,
    )
    const stayed = [exit[0] - entry[1], exit[1] - entry[0]].map(
      (share) => Math.max(0, share) * duration - settings.entryDelaySeconds * 1000,
    )
    if (stayed[1]! < -2 || (!open[0] && !open[1])) return NO
    const tight = stayed[0]! < 2 && settings.entryDelaySeconds > 0
    return isSure && open[0] && open[1] && !tight ? { crossed: 'yes', entry, exit } : may
  } catch (error) {
    if (error instanceof TooClose) return ANYWHERE
    throw error
  }
}
