import t from 'tap'
import { step } from '../../src/rules/geofenceStep.ts'
import type { Fact } from '../../src/rules/geofenceRules.ts'
import type { Approach, Visit } from '../../src/model/device.ts'
import { aGeofence, MINUTE, NOON } from '../actor/kit.ts'
import { circumstances, geofenceOf, rows } from './stepTable.ts'

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
  in 6 | - |   1 | 10 | 0.4 | minimum=3 dwellEvents dwell=5 | - | in  | -             | exitWithheld lowConfidence
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
  'dwell: whose threshold, strictly longer, once per visit, where the update would also enter',
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
  in 6   | dwell=5  |   0 | 10 | 0.5 | dwellEvents bufferExits | -      | dwelled | dwelled 2 | dwelled
  in 6   | dwell=5  |   9 | 10 | 0.1 | dwellEvents bufferExits | -      | in      | -         | inside outside
  in 6 dwelled | dwell=5 | 9 | 10 | 0.1 | dwellEvents bufferExits | -    | dwelled | -         | inside
  in 6   | dwell=9  |   9 | 10 | 0.1 | dwellEvents bufferExits | -      | in      | -         | inside
  in 6   | dwell=5  |   9 | 10 | 0.1 | dwellEvents bufferEntries | -    | dwelled | dwelled 1 | dwelled
  in 6   | dwell=5  |  10 | 10 | 0   | dwellEvents bufferEntries | -    | dwelled | dwelled 1 | dwelled
  in 6   | dwell=5  |  11 | 10 | 0   | dwellEvents bufferEntries minimum=3 | - | out | exited 3 6min | exited
  in 6   | dwell=5  |  11 | 20 | 0.1 | dwellEvents bufferEntries minimum=3 | - | dwelled | dwelled 1 | dwelled
  in 6   | dwell=5  |   1 | ?  | 0   | dwellEvents bufferExits minimum=2 | - | in | -         | exitWithheld lowConfidence
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
    const { visits: after, transitions } = step(
      { visits, approaches: [] },
      { visited, candidates: order, crossed: [] },
      now,
    )
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
  const facts = { visited: [undefined, fact], candidates: [], crossed: [] }
  const { visits: after, transitions } = step({ visits, approaches: [] }, facts, now)
  t.strictSame([after, transitions], [[visits[1]], []])
})

t.test('if nothing changes, the visits and approaches are the same arrays', async (t) => {
  const now = circumstances('10', '-', '-')
  const visits: Visit[] = [{ geofenceId: aGeofence(1).id, enteredAt: NOON, dwelled: false }]
  const inside: Fact = { geofence: aGeofence(1), distance: -50, coverage: 1 }
  const beside: Fact = { geofence: aGeofence(2), distance: 50, coverage: 0 }
  const approaches: Approach[] = [{ geofenceId: aGeofence(3).id, since: NOON - 1000 }]
  const near: Fact = { geofence: aGeofence(3), distance: -50, coverage: 1 }
  const facts = { visited: [inside], candidates: [beside, near], crossed: [] }
  const waiting = { ...now, settings: { ...now.settings, entryDelaySeconds: 60 } }
  const result = step({ visits, approaches }, facts, waiting)
  t.equal(result.visits, visits)
  t.equal(result.approaches, approaches)
  t.strictSame(result.transitions, [])
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
      const isIn = visits.length > 0
      const facts = { visited: isIn ? [fact] : [], candidates: isIn ? [] : [fact], crossed: [] }
      const result = step({ visits, approaches: [] }, facts, now)
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
    const visited = [{ geofence: of, distance: -50, coverage: 1 }]
    const result = step({ visits, approaches: [] }, { visited, candidates: [], crossed: [] }, now)
    t.strictSame(
      result.transitions.map(({ type }) => type),
      ['user.dwelled_in_geofence'],
    )
  },
)
