/** What simulations may take, without a server. */
import t from 'tap'
import type { Intake } from '../../src/actor/port.ts'
import { scopeId } from '../../src/model/scope.ts'
import { Simulations } from '../../src/simulation/simulations.ts'

/** Neither a geofence nor an answer. */
function makeSimulations(submitted: (count: number) => void) {
  const intake = {
    hasRoom: true,
    submit: (updates: readonly unknown[]) => submitted(updates.length),
  } as unknown as Intake
  const timers: (() => void)[] = []
  let now = 1_764_000_000_000
  const simulations = new Simulations({
    intake,
    time: {
      now: () => now,
      after(_, work) {
        timers.push(work)
        return () => timers.splice(timers.indexOf(work), 1)
      },
    },
    putGeofences: async () => {},
    deleteGeofences: async () => {},
  })
  const pass = (ms: number) => {
    now += ms
    for (const work of timers.splice(0)) work()
  }
  return { simulations, pass }
}

t.test('all simulations together are bounded', async (t) => {
  const { simulations } = makeSimulations(() => {})
  for (const project of [1, 2, 3, 4]) await simulations.begin(scopeId(project, false), 500, 1)
  await t.rejects(simulations.begin(scopeId(5, false), 1, 1), /at most 2000 devices/)
  await simulations.begin(scopeId(4, false), 499, 1)
  await simulations.begin(scopeId(5, false), 1, 1)
  simulations.stop()
  t.equal(simulations.current(scopeId(1, false)), undefined)
})

t.test('each device sends once per interval, and none after the end', async (t) => {
  let sent = 0
  const { simulations, pass } = makeSimulations((count) => {
    sent += count
  })
  const scope = scopeId(1, false)
  await simulations.begin(scope, 40, 0.05)
  t.equal(sent, 40, 'all at once at first')
  for (let turn = 0; turn < 8; turn++) pass(150)
  t.equal(sent, 80, 'then in turns')
  for (let turn = 0; turn < 40; turn++) pass(150)
  t.equal(simulations.current(scope), undefined, 'it has ended')
  const last = sent
  pass(1000)
  t.equal(sent, last)
})
