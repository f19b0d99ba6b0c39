import type { Beacon } from '../../src/model/beacon.ts'
import type { Profile } from '../../src/model/device.ts'
import type { Geofence } from '../../src/model/geofence.ts'
import type { Settings } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'
import { evaluateBeacons, type BeaconStay } from './oracleBeacons.ts'
import { checkCrossings, type LastUpdate } from './oracleCrossings.ts'
import { barredBy } from './oracleEligibility.ts'
import { coverages, signedDistance } from './oracleGeometry.ts'
import { evaluateFraud, NEVER_JUDGED, type FraudMemory, type FraudWorld } from './oracleFraud.ts'
import { evaluatePlaces, NO_MEMORY, placeMembers, type PlaceMemory, type PlaceWorld } from './oraclePlaces.ts'
import { evaluateRegions, type Kind, type RegionStays, type RegionWorld } from './oracleRegions.ts'
import { SegmentOracle } from './oracleSegments.ts'
import {
  beaconContext,
  contextOf,
  eventRecord,
  eventWith,
  happenedAt,
  iso,
  same,
  show,
} from './oracleRecords.ts'

/**
 * A slow and obvious evaluator, written from docs/spec.md without a line of the engine. It looks at every geofence
 * for every update. Points in polygons come from turf, distances from Karney's geodesics to edges walked in small
 * pieces, coverage from counting points of the disc, crossings from bisecting the way, hours from Intl, and addresses
 * from comparing bits.
 *
 * If a value is so close to a limit that the engine may be on either side of it (1 mm + 0.1 %), the evaluator has
 * several answers, accepts any of them, and continues from the one that the engine gave.
 */

interface Visit {
  readonly geofenceId: string
  readonly enteredAt: number
  readonly dwelled: boolean
  /** Since when the exit condition has held on every update that counts. */
  readonly leavingSince?: number
}

/** The state of a record for one geofence. */
interface Stay {
  readonly visit: Visit | undefined
  /** Since when the entry condition has held on every update that counts; only without a visit. */
  readonly approachSince: number | undefined
}

interface Record {
  readonly id: string
  userId: string | undefined
  installId: string | undefined
  description: string | undefined
  metadata: Update['metadata']
  source: string | undefined
  readonly createdAt: number
  updatedAt: number
  visits: readonly Visit[]
  approaches: ReadonlyMap<string, number>
  beacons: readonly BeaconStay[]
  regions: RegionStays
  places: PlaceMemory
  fraud: FraudMemory
  last: (LastUpdate & { readonly accuracy: number | undefined }) | undefined
}

/** One possible outcome for a geofence on an update. */
interface Answer extends Stay {
  readonly event: 'entered' | 'exited' | 'dwelled' | undefined
  readonly confidence: number | undefined
}

const NOTHING: Answer = {
  event: undefined,
  confidence: undefined,
  visit: undefined,
  approachSince: undefined,
}

/** The engine's parsed answer, and the state from which the evaluator continues. */
export interface Reply {
  readonly user: any
  readonly events: readonly any[]
  readonly profile: Pick<Profile, 'visits' | 'approaches' | 'crossed' | 'beacons' | 'regions'>
}

/** The parts of the engine's world that the evaluator uses. */
export interface OracleWorld {
  readonly geofences: ReadonlyMap<string, Geofence>
  readonly beacons: ReadonlyMap<string, Beacon>
  readonly settings: () => Settings
  readonly regions: RegionWorld & FraudWorld & { readonly places: PlaceWorld }
}

export class Oracle {
  /** Decisions that concern more than a distant geofence, and how many of them had several answers. */
  decisions = 0
  ambiguous = 0
  /** Events by kind and runs of updates that waited, which show whether the tracks covered enough. */
  readonly counts = {
    entered: 0,
    exited: 0,
    dwelled: 0,
    crossed: 0,
    enteredBeacon: 0,
    enteredRegion: 0,
    exitedRegion: 0,
    exitedBeacon: 0,
    enteredPlace: 0,
    exitedPlace: 0,
    nearbyChain: 0,
    failedFraud: 0,
    entriesWaiting: 0,
    exitsWaiting: 0,
    ignored: 0,
    inSegment: 0,
  }
  private readonly world: OracleWorld
  private readonly devices = new Map<string, Record[]>()
  private readonly segments = new SegmentOracle()
  private readonly seenIds = new Set<string>()

  constructor(world: OracleWorld) {
    this.world = world
  }

  /** Evaluates the update and compares. Throws an error with everything that is needed to see the reason. */
  check(update: Update, reply: Reply): void {
    const records = this.devices.get(update.deviceId) ?? []
    this.devices.set(update.deviceId, records)
    const last = Math.max(-Infinity, ...records.map((record) => record.updatedAt))
    const given = update.updatedAt
    const time = given !== undefined && given >= last ? given : Math.max(update.receivedAt, last)

    const record = this.recordOf(records, update, reply.user._id)
    record.userId ??= update.userId
    record.installId = update.installId ?? record.installId
    record.description = update.description ?? record.description
    record.metadata = update.metadata ?? record.metadata
    record.source = update.source ?? record.source
    record.updatedAt = time
    this.segments.see(this.world.settings())
    const events = this.evaluate(record, update, time, reply)

    const user = this.userOf(record, update, time)
    for (const event of reply.events) this.segments.happened(record.id, event)
    user.segments = this.segments.of(user, time, record.metadata, this.world.settings())
    this.counts.inSegment += user.segments.length
    same('user', user, reply.user, update)
    same('events', events, reply.events, update)
    for (const { _id } of reply.events) this.isNewId(_id)
  }

  private recordOf(records: Record[], update: Update, answered: string): Record {
    const { userId, installId } = update
    const fitting = records.filter(
      (r) => r.installId === undefined || installId === undefined || r.installId === installId,
    )
    let matches = fitting.filter((r) => r.userId === userId)
    if (matches.length === 0) matches = fitting.filter((r) => r.userId === undefined)
    const exact = matches.filter((r) => r.installId === installId)
    if (exact.length > 0) matches = exact
    const latest = Math.max(...matches.map((r) => r.updatedAt))
    matches = matches.filter((r) => r.updatedAt === latest)
    if (matches.length === 0) {
      this.isNewId(answered)
      const { description, metadata, receivedAt } = update
      const record: Record = {
        id: answered,
        userId,
        installId,
        description,
        metadata,
        source: undefined,
        createdAt: receivedAt,
        updatedAt: -Infinity,
        visits: [],
        approaches: new Map(),
        beacons: [],
        regions: {},
        places: NO_MEMORY,
        fraud: NEVER_JUDGED,
        last: undefined,
      }
      records.push(record)
      return record
    }
    const match = matches.find((r) => r.id === answered)
    if (match === undefined)
      throw new Error(`user ${answered}, expected ${matches.map((r) => r.id).join(' or ')}: ${show(update)}`)
    return match
  }

  private isNewId(id: string): void {
    if (!/^[0-9a-f]{24}$/.test(id) || this.seenIds.has(id)) throw new Error(`id ${id} is not new`)
    this.seenIds.add(id)
  }

  private evaluate(record: Record, update: Update, time: number, reply: Reply): unknown[] {
    const settings = this.world.settings()
    const { maxAccuracyMeters } = settings
    const ignored =
      update.accuracy !== undefined && maxAccuracyMeters !== null && update.accuracy > maxAccuracyMeters
    const events: unknown[] = []
    if (ignored) this.counts.ignored++
    else {
      const before = new Set(record.visits.map((visit) => visit.geofenceId))
      const own = this.geofences(record, update, time, reply)
      // A geofence that the device was, is or is about to be inside is not crossed.
      const takesPart = (id: string) =>
        before.has(id) || record.approaches.has(id) || record.visits.some((one) => one.geofenceId === id)
      events.push(...this.crossings(record, update, time, reply, takesPart), ...own)
    }
    if (ignored && reply.profile.crossed.length > 0) throw new Error(`ignored, but crossed: ${show(update)}`)
    same('visits', record.visits, reply.profile.visits, update)
    same('approaches', [...record.approaches].sort(), approachesOf(reply).sort(), update)
    const fraud = this.fraud(record, update, time)
    const { latitude, longitude, accuracy } = update
    record.last = { latitude, longitude, accuracy, time, touched: !ignored }
    const regions = this.regions(record, update, time, reply)
    const places = this.places(record, update, time)
    return [...regions, ...events, ...places, ...this.beacons(record, update, time, reply), ...fraud]
  }

  private crossings(
    record: Record,
    update: Update,
    time: number,
    reply: Reply,
    takesPart: (id: string) => boolean,
  ): readonly unknown[] {
    const { crossed } = reply.profile
    const { events, decided, ambiguous } = checkCrossings(
      this.world.geofences.values(),
      takesPart,
      record,
      record.last,
      update,
      time,
      this.world.settings(),
      // Those of regions come before.
      reply.events.filter(({ region }) => region === undefined),
      crossed,
    )
    this.decisions += decided
    this.ambiguous += ambiguous
    this.counts.crossed += crossed.length
    return events
  }

  /** Exits, entries and dwells. The record continues from them. */
  private geofences(record: Record, update: Update, time: number, reply: Reply): unknown[] {
    const settings = this.world.settings()
    const own = reply.events.filter(
      ({ geofence }) => geofence !== undefined && !reply.profile.crossed.includes(geofence._id),
    )
    const eventOf = new Map<string, any>(own.map((event) => [event.geofence._id, event]))
    const visitNow = new Map<string, Visit>(reply.profile.visits.map((visit) => [visit.geofenceId, visit]))
    const approachNow = new Map(approachesOf(reply))
    const stays: Visit[] = []
    const approaches = new Map<string, number>()
    const exits: unknown[] = []
    const entries: { visit: Visit; event: unknown }[] = []
    const dwells: unknown[] = []
    const take = (geofence: Geofence, before: Stay) => {
      const event = eventOf.get(geofence.id)
      const engine: Answer = {
        event: event?.type.split(/[._]/)[1],
        confidence: event?.confidence,
        visit: visitNow.get(geofence.id),
        approachSince: approachNow.get(geofence.id),
      }
      const answers = this.answersFor(geofence, before, update, time, settings)
      const answer = answers.find((one) => keyOf(one) === keyOf(engine))
      if (answer === undefined) {
        const d = signedDistance(geofence.shape, update, Infinity)
        throw new Error(
          `engine ${show(engine)}, oracle ${show(answers)}; d = ${d}, t = ${time}, before ${show(before)}, ` +
            `update ${show(update)}, geofence ${show(geofence)}, settings ${show(settings)}`,
        )
      }
      const { visit, approachSince, confidence } = answer
      if (approachSince !== undefined) {
        approaches.set(geofence.id, approachSince)
        this.counts.entriesWaiting++
      }
      if (visit?.leavingSince !== undefined) this.counts.exitsWaiting++
      if (visit !== undefined && answer.event !== 'entered') stays.push(visit)
      if (answer.event === undefined) return
      this.counts[answer.event]++
      const made = (minutes?: number) =>
        eventRecord({ geofence }, record, update, time, answer.event!, confidence!, minutes)
      if (answer.event === 'exited') exits.push(made((time - before.visit!.enteredAt) / 60_000))
      if (answer.event === 'dwelled') dwells.push(made())
      if (answer.event === 'entered') entries.push({ visit: visit!, event: made() })
    }

    for (const visit of record.visits) {
      const geofence = this.world.geofences.get(visit.geofenceId)
      if (geofence !== undefined) take(geofence, { visit, approachSince: undefined })
    }
    for (const geofence of this.world.geofences.values()) {
      if (record.visits.some((visit) => visit.geofenceId === geofence.id)) continue
      take(geofence, { visit: undefined, approachSince: record.approaches.get(geofence.id) })
    }
    entries.sort((a, b) => (a.visit.geofenceId < b.visit.geofenceId ? -1 : 1))
    record.visits = [...stays, ...entries.map(({ visit }) => visit)]
    record.approaches = approaches
    return [...exits, ...entries.map(({ event }) => event), ...dwells]
  }

  /** All possible outcomes, given the precision of distances and shares; usually one. */
  private answersFor(
    geofence: Geofence,
    before: Stay,
    update: Update,
    time: number,
    settings: Settings,
  ): Answer[] {
    const { visit, approachSince } = before
    const barred = barredBy(geofence, update, time, settings)
    if (visit === undefined && barred !== undefined) return [NOTHING]
    if (barred === 'disabled' || barred === 'past' || barred === 'user') return [NOTHING]

    const accuracy = Math.min(update.accuracy ?? 0, 50_000)
    const d = signedDistance(geofence.shape, update, accuracy)
    if (visit === undefined && d > accuracy + 100) return [NOTHING]
    this.decisions++
    const slack = 0.001 + (Math.abs(d) > 20_000 ? 0.005 : 0.001) * Math.abs(d)
    let shares: number[] | undefined
    const coverage = () => (shares ??= coverages(geofence.shape, update, accuracy))
    const answers = new Map<string, Answer>()
    for (const distance of [d - slack, d, d + slack]) {
      const found = visit === undefined ? outside(distance) : inside(visit, distance)
      for (const answer of found) answers.set(keyOf(answer), answer)
    }
    if (answers.size > 1) this.ambiguous++
    return [...answers.values()]

    function entryConfidences(distance: number): number[] {
      if (update.accuracy === undefined) return [1]
      if (distance <= -accuracy) return [3]
      return [...new Set(coverage().map((share) => (share >= 0.5 ? 2 : 1)))]
    }

    function outside(distance: number): Answer[] {
      if (distance > (settings.bufferEntries ? accuracy : 0)) return [NOTHING]
      const needsStop = geofence.stopDetection ?? settings.stopDetection
      if (needsStop && !update.stopped && !update.foreground) return [NOTHING]
      return entryConfidences(distance).map((confidence) => {
        if (confidence < settings.minimumConfidence) return NOTHING
        const since = approachSince ?? time
        if (time - since < settings.entryDelaySeconds * 1000) return { ...NOTHING, approachSince: since }
        const entered = { geofenceId: geofence.id, enteredAt: time, dwelled: false }
        return { event: 'entered', confidence, visit: entered, approachSince: undefined }
      })
    }

    function inside(stay: Visit, distance: number): Answer[] {
      const { geofenceId, enteredAt, dwelled } = stay
      let remains: Visit = { geofenceId, enteredAt, dwelled }
      if (distance > (settings.bufferEntries || settings.bufferExits ? accuracy : 0)) {
        const confidence =
          update.accuracy === undefined ? 1 : distance >= accuracy ? 3 : distance >= accuracy / 2 ? 2 : 1
        if (confidence >= settings.minimumConfidence) {
          const since = stay.leavingSince ?? time
          if (time - since >= settings.exitDelaySeconds * 1000)
            return [barred === undefined ? { ...NOTHING, event: 'exited', confidence } : NOTHING]
          remains = { ...remains, leavingSince: since }
        }
      }
      const threshold = geofence.dwellThreshold ?? settings.dwellThreshold
      const due =
        settings.dwellEvents && threshold !== null && time - enteredAt > Math.round(threshold * 60_000)
      const wouldEnter = distance <= (settings.bufferEntries ? accuracy : 0)
      if (!due || dwelled || barred !== undefined || !wouldEnter) return [{ ...NOTHING, visit: remains }]
      const after = { ...remains, dwelled: true }
      return entryConfidences(distance).map((confidence) => ({
        ...NOTHING,
        event: 'dwelled',
        confidence,
        visit: after,
      }))
    }
  }

  private beacons(record: Record, update: Update, time: number, reply: Reply): unknown[] {
    const now = new Set(reply.profile.beacons.map((stay) => stay.beaconId))
    const { stays, exited, entered } = evaluateBeacons(this.world.beacons, record.beacons, update, time, now)
    same('beacons', stays, reply.profile.beacons, update)
    record.beacons = stays
    this.counts.exitedBeacon += exited.length
    this.counts.enteredBeacon += entered.length
    return [
      ...exited.map(({ beacon, minutes }) =>
        eventRecord({ beacon }, record, update, time, 'exited', 3, minutes),
      ),
      ...entered.map((beacon) => eventRecord({ beacon }, record, update, time, 'entered', 3)),
    ]
  }

  private regions(record: Record, update: Update, time: number, reply: Reply): unknown[] {
    const confidenceOf = (kind: Kind) => reply.events.find(({ region }) => region?.type === kind)?.confidence
    const found = staysOf(reply.profile.regions)
    const answered = { stays: found, confidenceOf }
    const settings = this.world.settings()
    const { stays, events } = evaluateRegions(
      this.world.regions,
      record.regions,
      update,
      time,
      settings,
      answered,
    )
    same('regions', stays, found, update)
    record.regions = stays
    return events.map(({ kind, what, code, confidence, minutes }) => {
      this.counts[what === 'entered' ? 'enteredRegion' : 'exitedRegion']++
      return eventRecord({ region: regionOf(kind, code) }, record, update, time, what, confidence, minutes)
    })
  }

  private places(record: Record, update: Update, time: number): unknown[] {
    const { settings, regions } = this.world
    const { after, events } = evaluatePlaces(regions.places, record.places, update, time, settings())
    record.places = after
    return events.map(({ confidence, minutes, ...about }) => {
      if (about.type === 'user.nearby_place_chain') this.counts.nearbyChain++
      else this.counts[about.type === 'user.entered_place' ? 'enteredPlace' : 'exitedPlace']++
      return eventWith(about, record, update, confidence, minutes, happenedAt(update, time))
    })
  }

  private fraud(record: Record, update: Update, time: number): unknown[] {
    const { settings, regions } = this.world
    const { fraud, last } = record
    const id = last && record.id
    const { after, failed } = evaluateFraud(regions, fraud, last, update, time, id, settings())
    record.fraud = after
    if (failed === undefined) return []
    this.counts.failedFraud++
    const about = { type: 'user.failed_fraud', fraud: after.shown, failureReasons: failed }
    return [eventWith(about, record, update, 3, undefined, happenedAt(update, time))]
  }

  private userOf(record: Record, update: Update, time: number): any {
    const { geofences, beacons, settings } = this.world
    const current = record.visits.flatMap(({ geofenceId }) => {
      const geofence = geofences.get(geofenceId)
      if (geofence === undefined) return []
      const barred = barredBy(geofence, update, time, settings())
      return barred === 'disabled' || barred === 'past' || barred === 'user' ? [] : [contextOf(geofence)]
    })
    return {
      _id: record.id,
      live: false,
      userId: record.userId,
      deviceId: update.deviceId,
      description: record.description,
      metadata: record.metadata,
      source: record.source,
      ip: update.ip,
      createdAt: iso(record.createdAt),
      geofences: current,
      beacons: record.beacons.map(({ beaconId }) => beaconContext(beacons.get(beaconId)!)),
      ...Object.fromEntries(
        Object.entries(record.regions).map(([kind, { code }]) => [kind, regionOf(kind, code)]),
      ),
      segments: [],
      ...placeMembers(record.places, settings()),
      ...(settings().fraud.enabled && { fraud: record.fraud.shown }),
      location: { type: 'Point', coordinates: [update.longitude, update.latitude] },
      locationAccuracy: update.accuracy,
      foreground: update.foreground,
      stopped: update.stopped,
      updatedAt: iso(time),
      actualUpdatedAt: iso(update.receivedAt),
    }
  }
}

/** As test/actor/randomAtlas.ts names them. */
function regionOf(type: string, code: string) {
  return { _id: `${type} ${code}`, type, code, name: `${type} ${code}` }
}

function staysOf({ codes, since }: Reply['profile']['regions']): RegionStays {
  const stays = ['country', 'state', 'dma', 'postalCode'].map((kind, i) => [
    kind,
    { code: codes.split('/')[i]!, enteredAt: since[i]! },
  ])
  return Object.fromEntries(stays.filter(([, stay]) => (stay as { code: string }).code !== ''))
}

function approachesOf(reply: Reply): [string, number][] {
  return reply.profile.approaches.map(({ geofenceId, since }) => [geofenceId, since])
}

/** Equal answers have equal keys. */
function keyOf({ event, confidence, visit, approachSince }: Answer): string {
  const stay = visit && [visit.geofenceId, visit.enteredAt, visit.dwelled, visit.leavingSince]
  return show([event, confidence, stay, approachSince])
}
