/**
 * Kills a real server again and again and compares its state with what its clients had seen: G1, G2, G3, G5, G9, and
 * T1, T2, T4 of devices on trips.
 *
 * RINGFENCE_CRASH_ROUNDS=50 node test/crash/crash.test.ts more rounds than one; `npm run test:slow` runs three
 * RINGFENCE_SEED=123 node test/crash/crash.test.ts repeats the same random choices
 *
 * `kill -9` does not clear the page cache; for power loss see powerLoss.slow.test.ts and test/log/power.test.ts.
 */
import t from 'tap'
import { CrashRun, type End, type Round } from './crashRound.ts'
import { Seeded } from './seeded.ts'

const rounds = Number(process.env['RINGFENCE_CRASH_ROUNDS'] ?? 1)
const seed = Number(process.env['RINGFENCE_SEED'] ?? Date.now() % 1e9)

/** A start takes some hundred milliseconds, and more than a second on a busy machine. */
function drawStartKills(random: Seeded, count: number): number[] {
  return Array.from({ length: count }, () => random.integer(0, 1000))
}

/** The first rounds cover one kind of end each. */
function drawRound(random: Seeded, number: number): Round {
  const usual: readonly End[] = ['snapshot', 'edit', 'drain']
  const end =
    usual[number] ?? random.pick<End>(['kill', 'kill', 'kill', 'snapshot', 'snapshot', 'edit', 'drain'])
  // Writing a round of snapshots takes some hundred milliseconds, and the log is trimmed at its end.
  const longest = { kill: 2000, drain: 1500, snapshot: random.chance(0.5) ? 400 : 1500, edit: 6 }[end]
  const startKills = number === 1 || random.chance(0.3) ? random.integer(1, 2) : 0
  return {
    end,
    milliseconds: random.integer(0, longest),
    startKills: drawStartKills(random, startKills),
    farEdits: random.chance(0.5),
    nearEdits: random.integer(0, 3),
  }
}

t.test(`${rounds} rounds, RINGFENCE_SEED=${seed}`, async (t) => {
  const random = new Seeded(seed)
  const startKills = drawStartKills(random, random.integer(1, 3))
  t.comment(`first start killed after ${startKills.join()} ms`)
  const run = await CrashRun.start(random, startKills, true)
  t.teardown(() => run.dispose())
  for (let number = 0; number < rounds; number++) {
    const round = drawRound(random, number)
    t.comment(`round ${number}: ${JSON.stringify(round)}`)
    await run.round(round)
    t.strictSame(run.ledger.faults, [], `round ${number}: ${JSON.stringify(round)}`)
    if (run.ledger.faults.length > 0) break
  }
  await run.finish()
  t.strictSame(run.ledger.faults, [], 'everything at the end')
  t.comment(JSON.stringify(run.ledger.counts))
  const { updates, lost, resends, events, edits, rotated, trimmed } = run.ledger.counts
  t.ok(run.courierUpdates > 0, 'devices were on trips')
  t.ok(updates > 0 && events > 0 && edits > 0 && resends > 0 && lost > 0, 'the rounds had something to lose')
  // Trimming waits for second snapshots, and three rounds are too few for them.
  if (rounds >= 20) t.ok(rotated > 0 && trimmed > 0, 'segments came and went')
  if (!t.passing()) console.error(`RINGFENCE_SEED=${seed}\n${run.server.output}`)
})
