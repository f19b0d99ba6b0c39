/**
 * A fuzzing campaign against one server. Each round has its own seed, so that it can be repeated alone.
 *
 * A round is a fixed number of batches of requests and of attacks, however long they take. Then the idle server is
 * examined. A batch that breaks a rule is shrunk: fast-check tries smaller ones until none of them breaks it any
 * more. What happens in a round depends on what earlier rounds left behind, so a failure that does not occur on a
 * fresh server needs the earlier rounds, too.
 */
import fc from '../kit/fastCheck.ts'
import { Attacks, attacks } from './attacks.ts'
import { Exchanges } from './exchange.ts'
import { requestsOf } from './requests.ts'
import { Violation, World } from './world.ts'

export interface CampaignOptions {
  /** Seed of the first round; each later round adds one. */
  readonly seed: number
  /** No round begins after this time, epoch milliseconds. */
  readonly until: number
  /** Maximum number of rounds. */
  readonly rounds?: number
  /**
   * Whether every fourth round and the end wait until the server has closed incomplete requests, which takes some
   * twelve seconds. Otherwise the clients close them.
   */
  readonly isPatient: boolean
  readonly onRound?: (text: string) => void
}

/** The result of a campaign. */
export interface CampaignResult {
  readonly rounds: number
  readonly requests: number
  readonly attacks: number
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>
  /** Operations of the document that were never answered with 2xx. */
  readonly unreached: readonly string[]
  readonly canaryAnswers: number
  readonly canarySlowestMs: number
  readonly residentMiB: { readonly first: number; readonly last: number; readonly most: number }
}

const BATCHES = 25
const BATCH_REQUESTS = 20
const ATTACK_BATCHES = 6
const BATCH_ATTACKS = 8
const PATIENT_ROUNDS = 4
/** The connections of the canary and of the requests that observe the server. */
const OWN_CONNECTIONS = 6
/** After this time shrinking ends with what it has found. */
const SHRINK_MS = 60_000
const MIB = 1024 * 1024

/** @throws Violation whose message names the seed of the round and the smallest failing batch that was found */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const world = await World.create()
  const exchanges = new Exchanges(world)
  const hostile = new Attacks(world)
  try {
    const { operations } = world.api
    // GET /v1/openapi.json is large and always the same.
    const drawn = operations
      .filter((one) => one.path !== '/v1/openapi.json')
      .map((one) => requestsOf(world.api, one))
    const request = fc.oneof(...drawn)
    const batches = fc.array(request, { minLength: 1, maxLength: BATCH_REQUESTS, size: 'max' })
    const raids = fc.array(attacks(request), { minLength: 1, maxLength: BATCH_ATTACKS, size: 'max' })
    const resident: number[] = []
    let round = 0
    for (; round < (options.rounds ?? Infinity) && (round === 0 || Date.now() < options.until); round++) {
      const seed = options.seed + round
      await hold(batches, BATCHES, seed, (batch) => exchanges.play(batch))
      await hold(raids, ATTACK_BATCHES, seed, (raid) => hostile.play(raid))
      if (!options.isPatient || round % PATIENT_ROUNDS !== 0) hostile.giveUp()
      await within(seed, () => world.examine())
      resident.push(world.residentBytes / MIB)
      options.onRound?.(
        `round ${round + 1}, seed ${seed}: ${sum(exchanges)} requests, ${hostile.count} attacks, ` +
          `${Math.round(resident.at(-1)!)} MiB, canary ${world.canaryAnswers} answers, slowest ${Math.round(world.canarySlowestMs)} ms`,
      )
    }
    await within(options.seed + round - 1, async () => {
      if (!options.isPatient) hostile.giveUp()
      await hostile.finish()
      exchanges.close()
      await world.examine(OWN_CONNECTIONS)
      await world.restart()
    })
    const { reached, statuses } = exchanges
    const names = operations.map((one) => `${one.method} ${one.path}`)
    return {
      rounds: round,
      requests: sum(exchanges),
      attacks: hostile.count,
      statuses: Object.fromEntries([...statuses].toSorted(([a], [b]) => a - b)),
      unreached: names.filter((name) => !reached.has(name) && name !== 'GET /v1/openapi.json'),
      canaryAnswers: world.canaryAnswers,
      canarySlowestMs: Math.round(world.canarySlowestMs),
      residentMiB: {
        first: Math.round(resident[0]!),
        last: Math.round(resident.at(-1)!),
        most: Math.round(Math.max(...resident)),
      },
    }
  } finally {
    exchanges.close()
    hostile.giveUp()
    await world.dispose()
  }
}

/** Generates that many values and runs each. A failure is shrunk and thrown with its seed. */
async function hold<T>(
  arbitrary: fc.Arbitrary<T>,
  numRuns: number,
  seed: number,
  play: (value: T) => Promise<void>,
): Promise<void> {
  let smallest: Error | undefined
  let shrinkUntil = Infinity
  const property = fc.asyncProperty(arbitrary, async (value) => {
    if (Date.now() > shrinkUntil) return
    try {
      await play(value)
    } catch (error) {
      if (smallest === undefined) shrinkUntil = Date.now() + SHRINK_MS
      smallest = error as Error
      throw error
    }
  })
  const { failed } = await fc.check(property, { numRuns, seed })
  if (failed) throw ofRound(seed, smallest!)
}

async function within(seed: number, check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch (error) {
    throw ofRound(seed, error as Error)
  }
}

function ofRound(seed: number, error: Error): Violation {
  return new Violation(`seed ${seed}: ${error.message}`, { cause: error })
}

function sum(exchanges: Exchanges): number {
  return exchanges.statuses.values().reduce((total, count) => total + count, 0)
}
