import t from 'tap'
import { step } from '../../src/actor/device.ts'
import { decide, type Circumstances, type Fact } from '../../src/events/transitions.ts'
import { evaluatedAccuracy } from '../../src/geometry/confidence.ts'
import type { Visit } from '../../src/model/device.ts'
import type { Geofence } from '../../src/model/geofence.ts'
import { parseOperatingHours } from '../../src/model/operatingHours.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/model/settings.ts'
import { aGeofence, MINUTE, NOON } from './kit.ts'

/**
 * The transition table of evaluation.md, cell by cell. A row:
 *
 *   was       out, or `in <minutes since entry>` and `dwelled` where that has been
 *   geofence  what it has beside the defaults; hours are 09:00 to 17:00 UTC every day
 *   d, A, c   metres to the boundary, accuracy in metres (? none was sent), share of the disc that is covered
 *   project   settings beside the defaults
 *   update    what it has beside the defaults; t is 12:00 UTC unless given, receipt is 12:00 UTC
 *   now       out, in, dwelled (in, and has dwelled)
 *   event     - or type and confidence; minutes of an exit; open or closed where currentlyOperating is there
 *   outcome   the engine's name for it, and what withheld an event
 */
function rows(name: string, table: string): void {
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
  const visits = visit === undefined ? [] : [visit]
  const result = step(visits, visit === undefined ? [] : [fact], visit === undefined ? [fact] : [], now)
  if (result.visits.length > 1 || result.transitions.length > 1) return 'more than one'

  const after = result.visits[0]
  let state = after === undefined ? 'out' : after.dwelled ? 'dwelled' : 'in'
  if (after !== undefined && after.geofenceId !== fact.geofence.id) state = 'in another'
  if (after !== undefined && after.enteredAt !== (visit?.enteredAt ?? now.time)) state = 'in at another time'

  let event = '-'
  for (const { type, confidence, duration, currentlyOperating, geofence: of } of result.transitions) {
    event = `${type.split(/[._]/)[1]} ${confidence}`
    if (duration !== undefined) event += ` ${duration}min`
    if (currentlyOperating !== undefined) event += currentlyOperating ? ' open' : ' closed'
    if (of !== fact.geofence) event += ' of another'
  }
  const { outcome, withheld } = decide(visit, fact, now)
  return `${state} | ${event} | ${outcome}${withheld === undefined ? '' : ` ${withheld}`}`
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

function geofenceOf(cell: string): Geofence {
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

function circumstances(accuracy: string, project: string, update: string): Circumstances {
  const settings: Record<string, unknown> = {}
  for (const token of tokens(project)) {
    const value = valueOf(token)
    if (token === 'stop') settings.stopDetection = true
    else if (token === 'bufferEntries' || token === 'bufferExits') settings[token] = true
    else if (token === 'restrict') settings.restrictToOperatingHours = true
    else if (token === 'dwellEvents') settings.dwellEvents = true
    else if (token.startsWith('dwell=')) settings.dwellThreshold = Number(value)
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
  }
}

function visitOf(was: string, of: Geofence, time: number): Visit | undefined {
  if (was === 'out') return undefined
  const [, minutes, dwelled] = was.split(' ')
  return {
    geofenceId: of.id,
    enteredAt: time - Number(minutes) * MINUTE,
    dwelled: dwelled === 'dwelled',
  }
}

rows(
  'entry and its confidence',
  `
  out | - |    0 | 10 | 0.5  | - | - | in  | entered 2 | entered
  out | - | -0.1 | 10 | 0.51 | - | - | in  | entered 2 | entered
  out | - |  0.1 | 10 | 0.49 | - | - | out | -         | outside
  out | - |    0 | 10 | 0.49 | - | - | in  | entered 1 | entered
  out | - |   -9 | 10 | 0.5  | - | - | in  | entered 2 | entered
  out | - |   -9 | 10 | 0.49 | - | - | in  | entered 1 | entered
  out | - |  -10 | 10 | 1    | - | - | in  | entered 3 | entered
  out | - |  -11 | 10 | 1    | - | - | in  | entered 3 | entered
  out | - | 5000 | 10 | 0    | - | - | out | -         | outside
  out | - |   -1 | ?  | 1    | - | - | in  | entered 1 | entered
  out | - |    0 | ?  | 1    | - | - | in  | entered 1 | entered
  out | - |    1 | ?  | 0    | - | - | out | -         | outside
`,
)

rows(
  'exit and its confidence',
  `
  in 10 | - |    0 | 10 | 0.5 | - | - | in  | -              | inside
  in 10 | - |  -50 | 10 | 1   | - | - | in  | -              | inside
  in 10 | - |  0.1 | 10 | 0.4 | - | - | out | exited 1 10min | exited
  in 10 | - |  4.9 | 10 | 0.1 | - | - | out | exited 1 10min | exited
  in 10 | - |    5 | 10 | 0.1 | - | - | out | exited 2 10min | exited
  in 10 | - |  9.9 | 10 | 0   | - | - | out | exited 2 10min | exited
  in 10 | - |   10 | 10 | 0   | - | - | out | exited 3 10min | exited
  in 10 | - |  900 | 10 | 0   | - | - | out | exited 3 10min | exited
  in 10 | - |    1 | ?  | 0   | - | - | out | exited 1 10min | exited
  in 0  | - |   10 | 10 | 0   | - | - | out | exited 3 0min  | exited
  in 2.5 dwelled | - | 10 | 10 | 0 | - | - | out | exited 3 2.5min | exited
`,
)

rows(
  'buffers: off and off, off and on, on and off, on and on, each at both edges',
  `
  out  | - | 10   | 10 | 0   | -                         | - | out | -             | outside
  out  | - | 0.1  | 10 | 0.4 | -                         | - | out | -             | outside
  in 1 | - | 0.1  | 10 | 0.4 | -                         | - | out | exited 1 1min | exited
  out  | - | 0.1  | 10 | 0.4 | bufferExits               | - | out | -             | outside
  in 1 | - | 0.1  | 10 | 0.4 | bufferExits               | - | in  | -             | inside
  in 1 | - | 10   | 10 | 0   | bufferExits               | - | in  | -             | inside
  in 1 | - | 10.1 | 10 | 0   | bufferExits               | - | out | exited 3 1min | exited
  out  | - | 0.1  | 10 | 0.4 | bufferEntries             | - | in  | entered 1     | entered
  out  | - | 10   | 10 | 0   | bufferEntries             | - | in  | entered 1     | entered
  out  | - | 10.1 | 10 | 0   | bufferEntries             | - | out | -             | outside
  out  | - | 1    | 10 | 0.5 | bufferEntries             | - | in  | entered 2     | entered
  in 1 | - | 0.1  | 10 | 0.4 | bufferEntries             | - | in  | -             | inside
  in 1 | - | 10   | 10 | 0   | bufferEntries             | - | in  | -             | inside
  in 1 | - | 10.1 | 10 | 0   | bufferEntries             | - | out | exited 3 1min | exited
  out  | - | 10   | 10 | 0   | bufferEntries bufferExits | - | in  | entered 1     | entered
  out  | - | 10.1 | 10 | 0   | bufferEntries bufferExits | - | out | -             | outside
  in 1 | - | 10   | 10 | 0   | bufferEntries bufferExits | - | in  | -             | inside
  in 1 | - | 10.1 | 10 | 0   | bufferEntries bufferExits | - | out | exited 3 1min | exited
  out  | - | 1    | ?  | 0   | bufferEntries bufferExits | - | out | -             | outside
  in 1 | - | 1    | ?  | 0   | bufferEntries bufferExits | - | out | exited 1 1min | exited
`,
)

rows(
  'accuracy beyond 50 km counts as 50 km',
  `
  out  | - |  50000 | 60000      | 0 | bufferEntries | - | in  | entered 1     | entered
  out  | - |  50001 | 60000      | 0 | bufferEntries | - | out | -             | outside
  out  | - | -50000 | 60000      | 1 | -             | - | in  | entered 3     | entered
  out  | - | -49999 | 60000      | 1 | -             | - | in  | entered 2     | entered
  in 1 | - |  50000 | 1000000000 | 0 | bufferExits   | - | in  | -             | inside
  in 1 | - |  50001 | 1000000000 | 0 | bufferExits   | - | out | exited 3 1min | exited
  in 1 | - |  25000 | 1000000000 | 0 | -             | - | out | exited 2 1min | exited
  in 1 | - |  24999 | 1000000000 | 0 | -             | - | out | exited 1 1min | exited
  out  | - |     -1 | 1000000000 | 0 | -             | - | in  | entered 1     | entered
`,
)

rows(
  'minimumConfidence holds entries and exits back, and the state stays',
  `
  out  | - |  -1 | 10 | 0.4 | minimum=2               | - | out | -             | entryWithheld lowConfidence
  out  | - |  -1 | 10 | 0.5 | minimum=2               | - | in  | entered 2     | entered
  out  | - |  -1 | 10 | 0.5 | minimum=3               | - | out | -             | entryWithheld lowConfidence
  out  | - | -10 | 10 | 1   | minimum=3               | - | in  | entered 3     | entered
  out  | - | -10 | ?  | 1   | minimum=2               | - | out | -             | entryWithheld lowConfidence
  out  | - |   1 | 10 | 0.4 | minimum=2 bufferEntries | - | out | -             | entryWithheld lowConfidence
  in 1 | - |   1 | 10 | 0.4 | minimum=2               | - | in  | -             | exitWithheld lowConfidence
  in 1 | - |   5 | 10 | 0.1 | minimum=2               | - | out | exited 2 1min | exited
  in 1 | - |   5 | 10 | 0.1 | minimum=3               | - | in  | -             | exitWithheld lowConfidence
  in 1 | - |  10 | 10 | 0   | minimum=3               | - | out | exited 3 1min | exited
  in 1 | - |  99 | ?  | 0   | minimum=2               | - | in  | -             | exitWithheld lowConfidence
  in 6 | - |  -1 | 10 | 0.4 | minimum=3 dwellEvents dwell=5 | - | dwelled | dwelled 1 | dwelled
  in 6 | - |   1 | 10 | 0.4 | minimum=3 dwellEvents dwell=5 | - | dwelled | dwelled 1 | dwelled
  in 4 | - |   1 | 10 | 0.4 | minimum=3 dwellEvents dwell=5 | - | in  | -             | exitWithheld lowConfidence
  in 6 | - |  10 | 10 | 0   | minimum=3 dwellEvents dwell=5 | - | out | exited 3 6min | exited
`,
)

rows(
  'the stop rule: the geofence’s own word wins both ways; exits and dwells do not ask',
  `
  out  | -        | -10 | 10 | 1 | -    | -                  | in  | entered 3 | entered
  out  | -        | -10 | 10 | 1 | stop | -                  | out | -         | entryWithheld notStopped
  out  | -        | -10 | 10 | 1 | stop | stopped            | in  | entered 3 | entered
  out  | -        | -10 | 10 | 1 | stop | foreground         | in  | entered 3 | entered
  out  | -        | -10 | 10 | 1 | stop | stopped foreground | in  | entered 3 | entered
  out  | stop=off | -10 | 10 | 1 | stop | -                  | in  | entered 3 | entered
  out  | stop=on  | -10 | 10 | 1 | stop | -                  | out | -         | entryWithheld notStopped
  out  | stop=on  | -10 | 10 | 1 | -    | -                  | out | -         | entryWithheld notStopped
  out  | stop=on  | -10 | 10 | 1 | -    | stopped            | in  | entered 3 | entered
  out  | stop=on  | -10 | 10 | 1 | -    | foreground         | in  | entered 3 | entered
  out  | stop=off | -10 | 10 | 1 | -    | -                  | in  | entered 3 | entered
  out  | stop=on  |   1 | 10 | 0 | -    | stopped            | out | -         | outside
  in 1 | stop=on  | -10 | 10 | 1 | stop | -                  | in  | -         | inside
  in 1 | stop=on  |  10 | 10 | 0 | stop | -                  | out | exited 3 1min | exited
  in 6 | stop=on dwell=5 | -10 | 10 | 1 | stop dwellEvents | - | dwelled | dwelled 3 | dwelled
  out  | stop=on  |  -1 | 10 | 0 | minimum=2 | -             | out | -         | entryWithheld notStopped
`,
)

rows(
  'dwell: whose threshold, strictly longer, once per visit',
  `
  in 6   | dwell=5  | -10 | 10 | 1   | dwellEvents         | -          | dwelled | dwelled 3 | dwelled
  in 6   | dwell=5  |  -9 | 10 | 0.6 | dwellEvents         | -          | dwelled | dwelled 2 | dwelled
  in 6   | dwell=5  |  -9 | 10 | 0.4 | dwellEvents         | -          | dwelled | dwelled 1 | dwelled
  in 6   | dwell=5  |  -9 | ?  | 1   | dwellEvents         | -          | dwelled | dwelled 1 | dwelled
  in 5   | dwell=5  | -10 | 10 | 1   | dwellEvents         | -          | in      | -         | inside
  in 5.001 | dwell=5 | -10 | 10 | 1  | dwellEvents         | -          | dwelled | dwelled 3 | dwelled
  in 6 dwelled | dwell=5 | -10 | 10 | 1 | dwellEvents      | -          | dwelled | -         | inside
  in 6   | dwell=5  | -10 | 10 | 1   | -                   | -          | in      | -         | inside
  in 6   | -        | -10 | 10 | 1   | dwellEvents         | -          | in      | -         | inside
  in 6   | -        | -10 | 10 | 1   | dwellEvents dwell=5 | -          | dwelled | dwelled 3 | dwelled
  in 6   | -        | -10 | 10 | 1   | dwell=5             | -          | in      | -         | inside
  in 6   | dwell=10 | -10 | 10 | 1   | dwellEvents dwell=5 | -          | in      | -         | inside
  in 6   | dwell=5  | -10 | 10 | 1   | dwellEvents dwell=9 | -          | dwelled | dwelled 3 | dwelled
  in 0.6 | dwell=0.5 | -10 | 10 | 1  | dwellEvents         | -          | dwelled | dwelled 3 | dwelled
  in 6   | dwell=5  |   1 | 10 | 0   | dwellEvents         | -          | out     | exited 1 6min | exited
  in 6   | dwell=5  |   9 | 10 | 0.1 | dwellEvents bufferExits | -      | dwelled | dwelled 1 | dwelled
  out    | dwell=5  | -10 | 10 | 1   | dwellEvents         | -          | in      | entered 3 | entered
`,
)

rows(
  'outside: each reason of ineligibility withholds the entry; the first in order names it',
  `
  out | disabled           | -10 | 10 | 1 | - | -          | out | -         | entryWithheld disabled
  out | disableAfter=1     | -10 | 10 | 1 | - | -          | in  | entered 3 | entered
  out | disableAfter=-1    | -10 | 10 | 1 | - | -          | out | -         | entryWithheld expired
  out | deleteAfter=1      | -10 | 10 | 1 | - | -          | in  | entered 3 | entered
  out | deleteAfter=-1     | -10 | 10 | 1 | - | -          | out | -         | entryWithheld expired
  out | disableAfter=1     | -10 | 10 | 1 | - | t=13:00    | in  | entered 3 | entered
  out | disableAfter=-1    | -10 | 10 | 1 | - | t=11:00    | out | -         | entryWithheld expired
  out | userIds=ann,bob    | -10 | 10 | 1 | - | -          | out | -         | entryWithheld otherUser
  out | userIds=ann,bob    | -10 | 10 | 1 | - | user=cy    | out | -         | entryWithheld otherUser
  out | userIds=ann,bob    | -10 | 10 | 1 | - | user=ann   | in  | entered 3 | entered
  out | userIds=ann,bob    | -10 | 10 | 1 | - | user=bob   | in  | entered 3 | entered
  out | userId=cy          | -10 | 10 | 1 | - | -          | out | -         | entryWithheld otherUser
  out | userId=cy          | -10 | 10 | 1 | - | user=cy    | in  | entered 3 | entered
  out | userIds=ann userId=cy | -10 | 10 | 1 | - | user=cy  | in  | entered 3 | entered
  out | userIds=ann userId=cy | -10 | 10 | 1 | - | user=ann | in  | entered 3 | entered
  out | userIds=ann userId=cy | -10 | 10 | 1 | - | user=bob | out | -         | entryWithheld otherUser
  out | ip=192.0.2.1       | -10 | 10 | 1 | - | -          | in  | entered 3 | entered
  out | ip=192.0.2.2       | -10 | 10 | 1 | - | -          | out | -         | entryWithheld otherAddress
  out | ip=192.0.2.*       | -10 | 10 | 1 | - | ip=192.0.2.250 | in | entered 3 | entered
  out | ip=192.0.2.*       | -10 | 10 | 1 | - | ip=192.0.3.1   | out | -      | entryWithheld otherAddress
  out | ip=192.0.2.0/30    | -10 | 10 | 1 | - | ip=192.0.2.3 | in  | entered 3 | entered
  out | ip=192.0.2.0/30    | -10 | 10 | 1 | - | ip=192.0.2.4 | out | -         | entryWithheld otherAddress
  out | ip=2001:db8::/32   | -10 | 10 | 1 | - | ip=2001:db8:1::9 | in | entered 3 | entered
  out | ip=2001:db8::/32   | -10 | 10 | 1 | - | ip=2001:db9::9   | out | -     | entryWithheld otherAddress
  out | ip=2001:db8::1:*   | -10 | 10 | 1 | - | ip=2001:db8::1:ff | in | entered 3 | entered
  out | ip=2001:db8::1     | -10 | 10 | 1 | - | -          | out | -         | entryWithheld otherAddress
  out | ip=10.0.0.1,192.0.2.1 | -10 | 10 | 1 | - | -       | in  | entered 3 | entered
  out | hours              | -10 | 10 | 1 | restrict | -   | in  | entered 3 open | entered
  out | hours              | -10 | 10 | 1 | restrict | t=08:59 | out | -     | entryWithheld closed
  out | hours              | -10 | 10 | 1 | restrict | t=09:00 | in | entered 3 open | entered
  out | hours              | -10 | 10 | 1 | restrict | t=17:00 | out | -     | entryWithheld closed
  out | hours              | -10 | 10 | 1 | -        | t=17:00 | in | entered 3 closed | entered
  out | -                  | -10 | 10 | 1 | restrict | t=03:00 | in | entered 3 | entered
  out | disabled           |  10 | 10 | 0 | -        | -       | out | -     | outside
  out | hours              |  10 | 10 | 0 | restrict | t=03:00 | out | -     | outside
  out | disabled disableAfter=-1 userIds=ann ip=10.0.0.1 hours stop=on | -10 | 10 | 1 | restrict | t=03:00 | out | - | entryWithheld disabled
  out | disableAfter=-1 userIds=ann ip=10.0.0.1 hours stop=on | -10 | 10 | 1 | restrict | t=03:00 | out | - | entryWithheld expired
  out | userIds=ann ip=10.0.0.1 hours stop=on | -10 | 10 | 1 | restrict | t=03:00 | out | - | entryWithheld otherUser
  out | ip=10.0.0.1 hours stop=on | -10 | 10 | 1 | restrict | t=03:00 | out | - | entryWithheld otherAddress
  out | hours stop=on      | -10 | 10 | 1 | restrict | t=03:00 | out | -     | entryWithheld closed
`,
)

rows(
  'inside: gone without an event, wherever the device is',
  `
  in 6 | disabled        | -10 | 10 | 1 | - | -        | out | - | dropped
  in 6 | disabled        |  10 | 10 | 0 | - | -        | out | - | dropped
  in 6 | disableAfter=-1 | -10 | 10 | 1 | - | -        | out | - | dropped
  in 6 | disableAfter=-1 |  10 | 10 | 0 | - | -        | out | - | dropped
  in 6 | deleteAfter=-1  | -10 | 10 | 1 | - | -        | out | - | dropped
  in 6 | deleteAfter=-1  |  10 | 10 | 0 | - | -        | out | - | dropped
  in 6 | userIds=ann     | -10 | 10 | 1 | - | -        | out | - | dropped
  in 6 | userIds=ann     |  10 | 10 | 0 | - | user=bob | out | - | dropped
  in 6 | userIds=ann     |  10 | 10 | 0 | - | user=ann | out | exited 3 6min | exited
  in 6 | disabled dwell=5 | -10 | 10 | 1 | dwellEvents | - | out | - | dropped
  in 6 | disabled        |   1 | 10 | 0 | minimum=3 | - | out | - | dropped
  in 6 | disableAfter=1 deleteAfter=1 | 10 | 10 | 0 | - | - | out | exited 3 6min | exited
`,
)

rows(
  'inside: closed or another address; an exit is silent, a dwell waits, a stay stays',
  `
  in 6 | hours            | -10 | 10 | 1 | restrict | t=18:00 | in  | -             | inside
  in 6 | hours            |  10 | 10 | 0 | restrict | t=18:00 | out | -             | leftSilently closed
  in 6 | hours            |  10 | 10 | 0 | restrict | -       | out | exited 3 6min open | exited
  in 6 | hours            |  10 | 10 | 0 | -        | t=18:00 | out | exited 3 6min closed | exited
  in 6 | hours dwell=5    | -10 | 10 | 1 | restrict dwellEvents | t=18:00 | in | - | inside closed
  in 999 | hours dwell=5  | -10 | 10 | 1 | restrict dwellEvents | t=09:00 | dwelled | dwelled 3 open | dwelled
  in 6 | hours dwell=5    | -10 | 10 | 1 | dwellEvents | t=18:00 | dwelled | dwelled 3 closed | dwelled
  in 6 | hours            |   1 | 10 | 0 | restrict bufferExits | t=18:00 | in | - | inside
  in 6 | hours            |  11 | 10 | 0 | restrict bufferExits | t=18:00 | out | - | leftSilently closed
  in 6 | ip=10.0.0.1      | -10 | 10 | 1 | - | -                | in  | -             | inside
  in 6 | ip=10.0.0.1      |  10 | 10 | 0 | - | -                | out | -             | leftSilently otherAddress
  in 6 | ip=10.0.0.1      |  10 | 10 | 0 | - | ip=10.0.0.1      | out | exited 3 6min | exited
  in 6 | ip=10.0.0.1 dwell=5 | -10 | 10 | 1 | dwellEvents | -   | in  | -             | inside otherAddress
  in 6 | ip=10.0.0.1 dwell=5 | -10 | 10 | 1 | dwellEvents | ip=10.0.0.1 | dwelled | dwelled 3 | dwelled
`,
)

t.test('one update: exits, then entries, then dwells; the order within a kind is fixed', async (t) => {
  const now = circumstances('10', 'dwellEvents dwell=5', '-')
  const visit = (id: number, minutes: number): Visit => ({
    geofenceId: aGeofence(id).id,
    enteredAt: NOON - minutes * MINUTE,
    dwelled: false,
  })
  const fact = (id: number, distance: number): Fact => ({
    geofence: aGeofence(id),
    distance,
    coverage: distance <= 0 ? 1 : 0,
  })
  const visits = [visit(9, 30), visit(4, 20), visit(7, 10), visit(2, 8)]
  const visited = [fact(9, -50), fact(4, 50), fact(7, -50), fact(2, 50)]
  const candidates = [fact(8, -50), fact(1, -50), fact(5, -50), fact(6, 50)]
  const expected = ['exited 4', 'exited 2', 'entered 1', 'entered 5', 'entered 8', 'dwelled 9', 'dwelled 7']
  const orders = [candidates, [...candidates].reverse(), [1, 3, 0, 2].map((i) => candidates[i]!)]
  for (const order of orders) {
    const { visits: after, transitions } = step(visits, visited, order, now)
    t.strictSame(
      transitions.map(
        ({ type, geofence: of }) => `${type.split(/[._]/)[1]} ${Number.parseInt(of.id.slice(-1), 16)}`,
      ),
      expected,
    )
    t.strictSame(
      after.map(({ geofenceId, dwelled }) => `${Number.parseInt(geofenceId, 16)} ${dwelled}`),
      ['9 true', '7 true', '1 false', '5 false', '8 false'],
    )
  }
})

t.test('a stay whose geofence has been deleted ends without an event', async (t) => {
  const now = circumstances('10', '-', '-')
  const visits: Visit[] = [
    { geofenceId: aGeofence(1).id, enteredAt: NOON, dwelled: false },
    { geofenceId: aGeofence(2).id, enteredAt: NOON, dwelled: false },
  ]
  const fact: Fact = { geofence: aGeofence(2), distance: -50, coverage: 1 }
  t.strictSame(step(visits, [undefined, fact], [], now), { visits: [visits[1]], transitions: [] })
})

t.test('where nothing changes the visits are the same array', async (t) => {
  const now = circumstances('10', '-', '-')
  const visits: Visit[] = [{ geofenceId: aGeofence(1).id, enteredAt: NOON, dwelled: false }]
  const inside: Fact = { geofence: aGeofence(1), distance: -50, coverage: 1 }
  const beside: Fact = { geofence: aGeofence(2), distance: 50, coverage: 0 }
  t.equal(step(visits, [inside], [beside], now).visits, visits)
})

t.test(
  'one visit after another: dwell once per visit, and again after leaving and coming back',
  async (t) => {
    const of = geofenceOf('dwell=5 hours')
    const events: string[] = []
    let visits: readonly Visit[] = []
    const at = (time: string, distance: number) => {
      const now = circumstances('10', 'dwellEvents restrict', `t=${time}`)
      const fact: Fact = { geofence: of, distance, coverage: distance <= 0 ? 1 : 0 }
      const result = step(visits, visits.length > 0 ? [fact] : [], visits.length > 0 ? [] : [fact], now)
      visits = result.visits
      for (const { type, duration } of result.transitions)
        events.push(`${time} ${type.split(/[._]/)[1]}${duration === undefined ? '' : ` ${duration}`}`)
    }
    at('08:50', -50) // closed: waits
    at('09:00', -50) // already there at opening
    at('09:05', -50) // not longer than five minutes
    at('09:06', -50)
    at('09:30', -50) // once
    at('09:40', 50)
    at('16:57', -50) // a second visit
    at('17:01', -50) // inside at closing stays inside
    at('17:10', -50) // due, but closed
    at('18:00', -50)
    t.strictSame(events, ['09:00 entered', '09:06 dwelled', '09:40 exited 40', '16:57 entered'])
    // The next day: nothing is entered again at reopening; the dwell counted through the night.
    const now = { ...circumstances('10', 'dwellEvents restrict', 't=09:00'), time: NOON + 21 * 60 * MINUTE }
    const result = step(visits, [{ geofence: of, distance: -50, coverage: 1 }], [], now)
    t.strictSame(
      result.transitions.map(({ type }) => type),
      ['user.dwelled_in_geofence'],
    )
  },
)
