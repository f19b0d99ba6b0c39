/**
 * `npm run fuzz -- [--minutes N] [--rounds N] [--seed N]`: fuzzes a server of its own and says what came of it.
 * The seed may be a commit's hash, as in CI. Ends with 1 where a rule was broken: `--seed N --rounds 1` with the seed that
 * it names draws that round again.
 */
import { parseArgs } from 'node:util'
import { runCampaign } from './campaign.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    rounds: { type: 'string', default: 'Infinity' },
    seed: { type: 'string' },
  },
})
const minutes = Number(values.minutes)
const rounds = Number(values.rounds)
const seed = seedOf(values.seed ?? String(Date.now() % 1e9))
if (!(minutes > 0)) throw new Error('--minutes: a number above 0')
if (!(rounds > 0)) throw new Error('--rounds: a number above 0')

console.log(`seed ${seed}`)
try {
  const result = await runCampaign({
    seed,
    until: Date.now() + minutes * 60_000,
    rounds,
    isPatient: true,
    onRound: (text) => console.log(text),
  })
  console.log(JSON.stringify(result))
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}

/** A number as it is; of a hash the first seven hex digits. */
function seedOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  if (/^[0-9a-f]{7,40}$/.test(text)) return Number.parseInt(text.slice(0, 7), 16)
  throw new Error('--seed: a whole number of up to nine digits, or a hash')
}
