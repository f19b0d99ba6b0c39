import t from 'tap'
import { step, type Stays } from '../../src/rules/geofenceStep.ts'
import { decide, type Fact } from '../../src/rules/geofenceRules.ts'
import { type Circumstances } from '../../src/rules/circumstances.ts'
import { evaluatedAccuracy } from '../../src/geometry/confidence.ts'
import type { Approach, Visit } from '../../src/model/device.ts'
import type { Geofence, GeofenceProperties } from '../../src/model/geofence.ts'
import { parseOperatingHours } from '../../src/model/operatingHours.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/model/settings.ts'
import { PLAIN_OFFSETS } from '../../src/model/zoneOffsets.ts'
import { aGeofence, MINUTE, NOON } from '../actor/kit.ts'

/**
 * The transition table of docs/spec.md, cell by cell. A row contains:
 *
 *   was       out; `near <seconds>` for which the entry condition has held; or `in <minutes since entry>`, then `dwelled`
 *             after a dwell, then `leaving <seconds>` for which the exit condition has held
 *   geofence  fields that differ from the defaults; hours are 09:00 to 17:00 UTC every day
 *   d, A, c   metres to the boundary, accuracy in metres (? if none was sent), share of the disc that is covered
 *   project   settings that differ from the defaults
 *   update    fields that differ from the defaults; t is 12:00 UTC unless given, receipt is 12:00 UTC
 *   now       out, near, in, dwelled (in, and has dwelled); seconds as in `was`
 *   event     - or type and confidence; minutes of an exit; open or closed if currentlyOperating is present
 *   outcome   the engine's name for it, and what withheld an event
 */
export function rows(name: string, table: string): void {
  t.test(name, async (t) => {
    let count = 0
    for (const line of table.split('\n')) {
      if (line.trim() === '') continue
      const cells = line.split('|').map((cell) => cell.trim())
      if (cells.length !== 10) throw new Error(`${cells.length} cells: ${line}`)
      t.equal(evaluated(cells), `${cells[7]} | ${cells[8]} | ${cells[9]}`, line.trim())
      count++
    }
    t.ok(count > 0)
  })
}

function evaluated(cells: readonly string[]): string {
  const [was, fence, d, accuracy, c, project, update] = cells as [string, ...string[]] & string[]
  const now = circumstances(accuracy!, project!, update!)
  const fact: Fact = { geofence: geofenceOf(fence!), distance: Number(d), coverage: Number(c) }
  const visit = visitOf(was, fact.geofence, now.time)
  const approaches = approachesOf(was, fact.geofence, now.time)
  const visits = visit === undefined ? [] : [visit]
  const facts =
    visit === undefined ? { visited: [], candidates: [fact] } : { visited: [fact], candidates: [] }
  const result = step({ visits, approaches }, { ...facts, crossed: [] }, now)
  if (result.visits.length + result.approaches.length > 1 || result.transitions.length > 1)
    return 'more than one'
  const after = result.visits[0]
  if (after !== undefined && after.geofenceId !== fact.geofence.id) return 'in another'
  if (after !== undefined && after.enteredAt !== (visit?.enteredAt ?? now.time)) return 'in at another time'

  let event = '-'
  for (const { type, confidence, duration, currentlyOperating, geofence: of } of result.transitions) {
    event = `${type.split(/[._]/)[1]} ${confidence}`
    if (duration !== undefined) event += ` ${duration}min`
    if (currentlyOperating !== undefined) event += currentlyOperating ? ' open' : ' closed'
    if (of !== fact.geofence) event += ' of another'
  }
  const { outcome, withheld } = decide(visit, fact, now, approaches[0]?.since)
  return `${stateOf(result, now.time)} | ${event} | ${outcome}${withheld === undefined ? '' : ` ${withheld}`}`
}

function stateOf({ visits: [visit], approaches: [approach] }: Stays, time: number): string {
  const seconds = (since: number) => `${(time - since) / 1000}`
  if (approach !== undefined) return `near ${seconds(approach.since)}`
  if (visit === undefined) return 'out'
  const { dwelled, leavingSince } = visit
  return (
    (dwelled ? 'dwelled' : 'in') + (leavingSince === undefined ? '' : ` leaving ${seconds(leavingSince)}`)
  )
}

function tokens(cell: string): string[] {
  return cell === '-' ? [] : cell.split(/\s+/)
}

function valueOf(token: string): string {
  return token.slice(token.indexOf('=') + 1)
}

const HOURS = parseOperatingHours(
  Object.fromEntries(
    ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'].map((day) => [day, [['09:00', '17:00']]]),
  ),
)!

export function geofenceOf(cell: string): Geofence {
  const change: Record<string, unknown> = {}
  for (const token of tokens(cell)) {
    const value = valueOf(token)
    if (token === 'disabled') change.enabled = false
    else if (token === 'hours') change.operatingHours = HOURS
    else if (token.startsWith('disableAfter=')) change.disableAfter = NOON + Number(value)
    else if (token.startsWith('deleteAfter=')) change.deleteAfter = NOON + Number(value)
    else if (token.startsWith('userIds=')) change.userIds = value.split(',')
    else if (token.startsWith('userId=')) change.userId = value
    else if (token.startsWith('ip=')) change.ip = value
    else if (token.startsWith('stop=')) change.stopDetection = value === 'on'
    else if (token.startsWith('dwell=')) change.dwellThreshold = Number(value)
    else throw new Error(`geofence: ${token}`)
  }
  return aGeofence(1, change)
}

export function circumstances(accuracy: string, project: string, update: string): Circumstances {
  const settings: Record<string, unknown> = {}
  for (const token of tokens(project)) {
    const value = valueOf(token)
    if (token === 'stop') settings.stopDetection = true
    else if (token === 'bufferEntries' || token === 'bufferExits') settings[token] = true
    else if (token === 'restrict') settings.restrictToOperatingHours = true
    else if (token === 'dwellEvents') settings.dwellEvents = true
    else if (token.startsWith('dwell=')) settings.dwellThreshold = Number(value)
    else if (token.startsWith('entryDelay=')) settings.entryDelaySeconds = Number(value)
    else if (token.startsWith('exitDelay=')) settings.exitDelaySeconds = Number(value)
    else if (token.startsWith('minimum=')) settings.minimumConfidence = Number(value)
    else throw new Error(`project: ${token}`)
  }
  let time = NOON
  let userId: string | undefined
  let ip = '192.0.2.1'
  const flags = new Set<string>()
  for (const token of tokens(update)) {
    if (token.startsWith('t=')) time = Date.parse(`2026-01-02T${valueOf(token)}Z`)
    else if (token.startsWith('user=')) userId = valueOf(token)
    else if (token.startsWith('ip=')) ip = valueOf(token)
    else if (token === 'stopped' || token === 'foreground') flags.add(token)
    else throw new Error(`update: ${token}`)
  }
  const sent = accuracy === '?' ? undefined : Number(accuracy)
  return {
    time,
    receivedAt: NOON,
    accuracy: evaluatedAccuracy(sent),
    accuracyKnown: sent !== undefined,
    userId,
    ip,
    stopped: flags.has('stopped'),
    foreground: flags.has('foreground'),
    settings: { ...DEFAULT_SETTINGS, ...(settings as Partial<Settings>) },
    zones: PLAIN_OFFSETS,
  }
}

function visitOf(was: string, of: GeofenceProperties, time: number): Visit | undefined {
  const [state, minutes, ...rest] = was.split(' ')
  if (state !== 'in') return undefined
  const leaving = rest.indexOf('leaving')
  return {
    geofenceId: of.id,
    enteredAt: time - Number(minutes) * MINUTE,
    dwelled: rest.includes('dwelled'),
    ...(leaving >= 0 && { leavingSince: time - Number(rest[leaving + 1]) * 1000 }),
  }
}

function approachesOf(was: string, of: GeofenceProperties, time: number): Approach[] {
  const [state, seconds] = was.split(' ')
  return state === 'near' ? [{ geofenceId: of.id, since: time - Number(seconds) * 1000 }] : []
}
