import type { Geofence } from '../../src/model/geofence.ts'
import type { Settings } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'
import { coverages, signedDistance } from './oracleGeometry.ts'

/**
 * The slow obvious evaluator: evaluation.md read anew, without a line of the engine. Every geofence is looked at for
 * every update; points in polygons by turf, distances by Karney's geodesics to edges walked in small pieces, coverage by
 * counting points of the disc, hours by Intl, addresses by counting bits.
 *
 * Where a measure is so near to a limit that the engine may be on either side of it (1 mm + 0.1 %), the evaluator has
 * several answers, accepts any of them, and goes on from the one that the engine gave.
 */

interface Visit {
  readonly geofenceId: string
  readonly enteredAt: number
  readonly dwelled: boolean
}

interface Record {
  readonly id: string
  userId: string | undefined
  installId: string | undefined
  description: string | undefined
  metadata: Update['metadata']
  readonly createdAt: number
  updatedAt: number
  visits: Visit[]
}

/** One thing that may come of a geofence on an update. */
interface Answer {
  readonly event: 'entered' | 'exited' | 'dwelled' | undefined
  readonly confidence: number | undefined
  /** In the device's state afterwards. */
  readonly inside: boolean
}

const NOTHING: Answer = { event: undefined, confidence: undefined, inside: false }

/** What the engine answered, parsed. */
export interface Reply {
  readonly user: any
  readonly events: readonly any[]
}

export class Oracle {
  /** Decisions that were about more than a geofence far away, and those of them with several answers. */
  decisions = 0
  ambiguous = 0
  /** Events by kind, to see that the tracks were worth it. */
  readonly events = { entered: 0, exited: 0, dwelled: 0 }
  private readonly geofences: ReadonlyMap<string, Geofence>
  private readonly settings: () => Settings
  private readonly devices = new Map<string, Record[]>()
  private readonly seenIds = new Set<string>()

  constructor(geofences: ReadonlyMap<string, Geofence>, settings: () => Settings) {
    this.geofences = geofences
    this.settings = settings
  }

  /** Evaluates the update and compares; throws with everything that is needed to see why. */
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
    record.updatedAt = time
    const events = this.evaluate(record, update, time, reply)

    const user = this.userOf(record, update, time)
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
      const created = { id: answered, userId, installId, description, metadata, createdAt: receivedAt }
      const record: Record = { ...created, updatedAt: -Infinity, visits: [] }
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
    const settings = this.settings()
    const { maxAccuracyMeters } = settings
    if (update.accuracy !== undefined && maxAccuracyMeters !== null && update.accuracy > maxAccuracyMeters)
      return []

    const eventOf = new Map<string, any>(reply.events.map((event) => [event.geofence._id, event]))
    const insideNow = new Set<string>(reply.user.geofences.map((one: any) => one._id))
    const stays: Visit[] = []
    const exits: unknown[] = []
    const entries: { id: string; event: unknown }[] = []
    const dwells: unknown[] = []
    const take = (geofence: Geofence, visit: Visit | undefined) => {
      const answers = this.answersFor(geofence, visit, update, time, settings)
      const event = eventOf.get(geofence.id)
      const kind = event?.type.split(/[._]/)[1]
      const answer = answers.find(
        (a) =>
          a.event === kind && a.confidence === event?.confidence && a.inside === insideNow.has(geofence.id),
      )
      if (answer === undefined) {
        const engine = { event: kind, confidence: event?.confidence, inside: insideNow.has(geofence.id) }
        throw new Error(
          `engine ${show(engine)}, oracle ${show(answers)}; d = ${signedDistance(geofence.shape, update, Infinity)}, ` +
            `t = ${time}, visit ${show(visit)}, update ${show(update)}, geofence ${show(geofence)}, settings ${show(settings)}`,
        )
      }
      if (answer.event !== undefined) this.events[answer.event]++
      const made = (confidence: number | undefined, duration?: number) =>
        eventRecord(geofence, record, update, time, answer.event!, confidence!, duration)
      if (answer.event === 'exited') exits.push(made(answer.confidence, (time - visit!.enteredAt) / 60_000))
      if (answer.event === 'dwelled') dwells.push(made(answer.confidence))
      if (answer.event === 'entered') entries.push({ id: geofence.id, event: made(answer.confidence) })
      else if (answer.inside) stays.push(answer.event === 'dwelled' ? { ...visit!, dwelled: true } : visit!)
    }

    const before = record.visits
    for (const visit of before) {
      const geofence = this.geofences.get(visit.geofenceId)
      if (geofence !== undefined) take(geofence, visit)
    }
    for (const geofence of this.geofences.values()) {
      if (!before.some((visit) => visit.geofenceId === geofence.id)) take(geofence, undefined)
    }
    entries.sort((a, b) => (a.id < b.id ? -1 : 1))
    for (const { id } of entries) stays.push({ geofenceId: id, enteredAt: time, dwelled: false })
    record.visits = stays
    return [...exits, ...entries.map((entry) => entry.event), ...dwells]
  }

  /** Everything that may come of it, given how well distances and shares are known; mostly one. */
  private answersFor(
    geofence: Geofence,
    visit: Visit | undefined,
    update: Update,
    time: number,
    settings: Settings,
  ): Answer[] {
    const barred = barredBy(geofence, update, time, settings)
    if (visit === undefined && barred !== undefined) return [NOTHING]
    if (visit !== undefined && (barred === 'disabled' || barred === 'past' || barred === 'user'))
      return [NOTHING]

    const accuracy = Math.min(update.accuracy ?? 0, 50_000)
    const d = signedDistance(geofence.shape, update, accuracy)
    if (visit === undefined && d > accuracy + 100) return [NOTHING]
    this.decisions++
    const slack = 0.001 + (Math.abs(d) > 20_000 ? 0.005 : 0.001) * Math.abs(d)
    let shares: number[] | undefined
    const sharesNearby = () => (shares ??= coverages(geofence.shape, update, accuracy))
    const answers = new Map<string, Answer>()
    for (const distance of [d - slack, d, d + slack]) {
      for (const answer of answersAt(geofence, visit, distance, accuracy, sharesNearby)) {
        answers.set(JSON.stringify(answer), answer)
      }
    }
    if (answers.size > 1) this.ambiguous++
    return [...answers.values()]

    function answersAt(
      of: Geofence,
      stay: Visit | undefined,
      distance: number,
      a: number,
      coverage: () => number[],
    ): Answer[] {
      const entryConfidences = () => {
        if (update.accuracy === undefined) return [1]
        if (distance <= -a) return [3]
        return [...new Set(coverage().map((share) => (share >= 0.5 ? 2 : 1)))]
      }
      if (stay === undefined) {
        if (distance > (settings.bufferEntries ? a : 0)) return [NOTHING]
        const needsStop = of.stopDetection ?? settings.stopDetection
        if (needsStop && !update.stopped && !update.foreground) return [NOTHING]
        return entryConfidences().map((confidence) =>
          confidence < settings.minimumConfidence ? NOTHING : { event: 'entered', confidence, inside: true },
        )
      }
      const remains: Answer = { event: undefined, confidence: undefined, inside: true }
      if (distance > (settings.bufferEntries || settings.bufferExits ? a : 0)) {
        const confidence = update.accuracy === undefined ? 1 : distance >= a ? 3 : distance >= a / 2 ? 2 : 1
        if (confidence >= settings.minimumConfidence)
          return [barred === undefined ? { event: 'exited', confidence, inside: false } : NOTHING]
      }
      const threshold = of.dwellThreshold ?? settings.dwellThreshold
      if (!settings.dwellEvents || threshold === null || stay.dwelled) return [remains]
      if (time - stay.enteredAt <= threshold * 60_000 || barred !== undefined) return [remains]
      return entryConfidences().map((confidence) => ({ event: 'dwelled', confidence, inside: true }))
    }
  }

  private userOf(record: Record, update: Update, time: number): unknown {
    const current = record.visits.flatMap(({ geofenceId }) => {
      const geofence = this.geofences.get(geofenceId)
      if (geofence === undefined) return []
      const barred = barredBy(geofence, update, time, this.settings())
      return barred === 'disabled' || barred === 'past' || barred === 'user' ? [] : [contextOf(geofence)]
    })
    return {
      _id: record.id,
      live: false,
      userId: record.userId,
      deviceId: update.deviceId,
      description: record.description,
      metadata: record.metadata,
      ip: update.ip,
      createdAt: iso(record.createdAt),
      geofences: current,
      beacons: [],
      segments: [],
      topChains: [],
      location: { type: 'Point', coordinates: [update.longitude, update.latitude] },
      locationAccuracy: update.accuracy,
      foreground: update.foreground,
      stopped: update.stopped,
      updatedAt: iso(time),
    }
  }
}

function eventRecord(
  geofence: Geofence,
  record: Record,
  update: Update,
  time: number,
  kind: string,
  confidence: number,
  duration: number | undefined,
): unknown {
  return {
    type: `user.${kind}${kind === 'dwelled' ? '_in' : ''}_geofence`,
    createdAt: iso(time),
    actualCreatedAt: iso(update.receivedAt),
    live: false,
    user: {
      _id: record.id,
      userId: record.userId,
      deviceId: update.deviceId,
      metadata: record.metadata,
    },
    geofence: contextOf(geofence),
    location: { type: 'Point', coordinates: [update.longitude, update.latitude] },
    locationAccuracy: update.accuracy,
    confidence,
    currentlyOperating: isOperating(geofence, time),
    duration,
    replayed: update.replayed,
    foreground: update.foreground,
    stopped: update.stopped,
  }
}

function contextOf({ id, tag, externalId, description, metadata }: Geofence): unknown {
  return { _id: id, tag, externalId, description, metadata }
}

function iso(time: number): string {
  return new Date(time).toISOString()
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? 'none'
}

/** Equal as JSON, keys in any order; ids of events are looked at elsewhere. */
function same(what: string, expected: unknown, found: unknown, update: Update): void {
  const [a, b] = [sorted(expected), sorted(found)]
  if (a !== b) throw new Error(`${what}:\n expected ${a}\n found    ${b}\n update ${show(update)}`)
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, inner) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    const isEvent = typeof inner.type === 'string' && inner.type.startsWith('user.')
    const keys = Object.keys(inner).filter((key) => !(isEvent && key === '_id'))
    return Object.fromEntries(keys.sort().map((key) => [key, inner[key]]))
  })
}

// Eligibility

type Barred = 'disabled' | 'past' | 'user' | 'address' | 'closed'

function barredBy(geofence: Geofence, update: Update, time: number, settings: Settings): Barred | undefined {
  if (!geofence.enabled) return 'disabled'
  const { disableAfter = Infinity, deleteAfter = Infinity } = geofence
  if (update.receivedAt >= disableAfter || update.receivedAt >= deleteAfter) return 'past'
  if (geofence.userIds !== undefined || geofence.userId !== undefined) {
    const wanted = [...(geofence.userIds ?? []), geofence.userId].filter((one) => one !== undefined)
    if (update.userId === undefined || !wanted.includes(update.userId)) return 'user'
  }
  if (geofence.ip !== undefined && !geofence.ip.split(',').some((range) => inRange(range, update.ip)))
    return 'address'
  return settings.restrictToOperatingHours && isOperating(geofence, time) === false ? 'closed' : undefined
}

function bitsOf(address: string): string {
  if (!address.includes(':')) {
    return address
      .split('.')
      .map((part) => Number(part).toString(2).padStart(8, '0'))
      .join('')
  }
  const [head, tail] = address.split('::').map((half) => half.split(':').filter((group) => group !== ''))
  const groups =
    tail === undefined ? head! : [...head!, ...Array(8 - head!.length - tail.length).fill('0'), ...tail]
  return groups.map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0')).join('')
}

function inRange(range: string, address: string): boolean {
  if (range.includes(':') !== address.includes(':')) return false
  if (range.endsWith('*')) {
    const fixed = range.includes(':') ? 112 : 24
    return bitsOf(range.replace('*', '0')).slice(0, fixed) === bitsOf(address).slice(0, fixed)
  }
  const [base, length] = range.split('/')
  const fixed = length === undefined ? 128 : Number(length)
  return bitsOf(base!).slice(0, fixed) === bitsOf(address).slice(0, fixed)
}

function isOperating(geofence: Geofence, time: number): boolean | undefined {
  const source = geofence.operatingHours?.source
  if (source === undefined) return undefined
  const format = clockOf(geofence.timeZone)
  const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]))
  const minute = Number(parts.hour) * 60 + Number(parts.minute)
  const today = DAYS.indexOf(parts.weekday!.toLowerCase())
  for (const [name, pairs] of Object.entries(source)) {
    const day = DAYS.indexOf(name.slice(0, 3).toLowerCase())
    for (const pair of pairs) {
      const open = minutesOf(pair[0])
      let close = minutesOf(pair[1])
      if (close <= open) close += 1440
      if (day === today && open <= minute && minute < close) return true
      if ((day + 1) % 7 === today && minute + 1440 < close) return true
    }
  }
  return false
}

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const clocks = new Map<string, Intl.DateTimeFormat>()

function clockOf(timeZone: string): Intl.DateTimeFormat {
  let format = clocks.get(timeZone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
    })
    clocks.set(timeZone, format)
  }
  return format
}

function minutesOf(text: string): number {
  const [hour, minute] = text.split(' ')[0]!.split(':').map(Number)
  if (!/[ap]m/i.test(text)) return hour! * 60 + minute!
  return ((hour! % 12) + (/pm/i.test(text) ? 12 : 0)) * 60 + minute!
}
