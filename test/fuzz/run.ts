/** `npm run fuzz`: starts a server, fuzzes it and prints the result; see {@link HELP}. */
import { parseArgs } from 'node:util'
import { runCampaign } from './campaign.ts'
import { tallyText } from './tally.ts'

const HELP = `Usage: npm run fuzz -- [options]

Starts a server and sends generated requests and attacks to it. If a rule is broken, it prints the seed of that round and
ends with exit code 1; --rounds 1 with this seed repeats the round. At the end it prints how often each call was accepted
and refused.

  --minutes N  how long; default 1
  --rounds N   the largest number of rounds; default: no limit
  --seed N     a whole number of up to nine digits, or the hash of a commit; default: taken from the clock
  --help       prints this
`

function options() {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '1' },
      rounds: { type: 'string', default: 'Infinity' },
      seed: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const minutes = Number(values.minutes)
  const rounds = Number(values.rounds)
  if (!(minutes > 0)) throw new TypeError('--minutes: a number above 0')
  if (!(rounds > 0)) throw new TypeError('--rounds: a number above 0')
  return { minutes, rounds, seed: seedOf(values.seed ?? String(Date.now() % 1e9)), help: values.help }
}

async function main(): Promise<void> {
  const { minutes, rounds, seed, help } = options()
  if (help) {
    console.log(HELP)
    return
  }
  console.log(`seed ${seed}`)
  try {
    const result = await runCampaign({
      seed,
      until: Date.now() + minutes * 60_000,
      rounds,
      isPatient: true,
      onRound: (text) => console.log(text),
    })
    const { calls, ...figures } = result
    console.log(tallyText(calls))
    console.log(JSON.stringify(figures))
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
  }
}

/** A number is used unchanged; of a hash, the first seven hex digits. */
function seedOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  if (/^[0-9a-f]{7,40}$/.test(text)) return Number.parseInt(text.slice(0, 7), 16)
  throw new TypeError('--seed: a whole number of up to nine digits, or a hash')
}

// The kit ends its servers when the process exits, which a signal alone does not lead to.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
try {
  await main()
} catch (error) {
  if (!(error instanceof TypeError)) throw error
  console.error(`${error.message}\n\n${HELP}`)
  process.exitCode = 2
}
