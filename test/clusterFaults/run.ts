/** `npm run test:faults`: see {@link HELP}. */
import { parseArgs } from 'node:util'
import { exitBySignal } from '../../cluster/exitBySignal.ts'
import { Seeded } from '../crash/seeded.ts'
import type { Scenario } from './scenario.ts'
import { SCENARIOS } from './scenarios.ts'
import { Stage } from './stage.ts'

const HELP = `Usage: npm run test:faults -- [options] [NAME …]

Makes processes of the distributed engine fail while they are under load, and compares what clients were told with what is
stored. Without names, it runs all of the scenarios below.

  --draw N      runs N of the short scenarios, chosen by the seed
  --seed SEED   a number, or the hash of a commit; default: RINGFENCE_SEED, or else a new one

nats-server is taken from the PATH, or built with the Go toolchain (npm run servers).

${SCENARIOS.map(({ name, story }) => `  ${name.padEnd(20)}${story}`).join('\n')}
`

class UsageError extends Error {}

function options() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      draw: { type: 'string' },
      seed: { type: 'string', default: process.env['RINGFENCE_SEED'] ?? String(Date.now() % 1e9) },
      help: { type: 'boolean', default: false },
    },
  })
  const seed = seedOf(values.seed)
  if (values.draw === undefined) {
    const chosen = positionals.length === 0 ? SCENARIOS : positionals.map(named)
    return { seed, chosen, help: values.help }
  }
  const count = Number(values.draw)
  if (!Number.isInteger(count) || count < 1) throw new UsageError('--draw: a whole number above 0')
  return { seed, chosen: drawn(count, seed), help: values.help }
}

function named(name: string): Scenario {
  const scenario = SCENARIOS.find((one) => one.name === name)
  if (scenario === undefined) throw new UsageError(`there is no ${name}`)
  return scenario
}

function drawn(count: number, seed: number): Scenario[] {
  const random = new Seeded(seed)
  const left = SCENARIOS.filter(({ isDrawn }) => isDrawn)
  return Array.from({ length: Math.min(count, left.length) }, () => {
    return left.splice(random.integer(0, left.length - 1), 1)[0]!
  })
}

/** A number is used unchanged; of a hash, the first seven hex digits. */
function seedOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  if (/^[0-9a-f]{7,40}$/.test(text)) return Number.parseInt(text.slice(0, 7), 16)
  throw new UsageError('--seed: a whole number of up to nine digits, or a hash')
}

async function main(): Promise<void> {
  const { seed, chosen, help } = options()
  if (help) return console.log(HELP)
  console.log(`RINGFENCE_SEED=${seed}`)
  const failed: string[] = []
  for (const [i, scenario] of chosen.entries()) {
    console.log(`\n${i + 1}/${chosen.length} ${scenario.name}: ${scenario.story}`)
    const { seconds, faults } = await Stage.play(scenario, seed, (line) => console.log(`    ${line}`))
    for (const sentence of faults) console.log(`    ✗ ${sentence}`)
    if (faults.length > 0) failed.push(scenario.name)
    console.log(`    ${faults.length === 0 ? 'passed' : 'FAILED'} in ${seconds.toFixed(0)} s`)
  }
  console.log(`\n${chosen.length - failed.length} passed, ${failed.length} failed`)
  if (failed.length === 0) return
  console.log(`Again: RINGFENCE_SEED=${seed} npm run test:faults -- ${failed.join(' ')}`)
  process.exitCode = 1
}

exitBySignal()
try {
  await main()
} catch (error) {
  const isUsage =
    error instanceof UsageError || (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS')
  console.error((error as Error).message)
  if (isUsage) console.error('`npm run test:faults -- --help` shows the options and names.')
  process.exitCode = 1
}
