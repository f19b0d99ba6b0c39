/**
 * A fuzzing campaign against one server. Each round has its own seed, so that it can be repeated alone.
 *
 * A round is a fixed number of batches of requests and of attacks, however long they take. Then the idle server is
 * examined. A batch that breaks a rule is shrunk: fast-check tries smaller ones until none of them breaks it any
 * more. What happens in a round depends on what earlier rounds left behind, so a failure that does not occur on a
 * fresh server needs the earlier rounds, too.
 */
import type { Operation } from '../e2e/contract.ts'
import fc from '../kit/fastCheck.ts'
import { Attacks, attacks } from './attacks.ts'
import { Exchanges } from './exchange.ts'
import { requestsOf } from './requests.ts'
import type { CallCount } from './tally.ts'
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
  /** By method and path: every operation of the document that is drawn. */
  readonly calls: Readonly<Record<string, CallCount>>
  readonly canaryAnswers: number
  readonly canarySlowestMs: number
  readonly residentMiB: { readonly first: number; readonly last: number; readonly most: number }
}

const BATCHES = 25
const BATCH_REQUESTS = 60
const ATTACK_BATCHES = 6
const BATCH_ATTACKS = 8
const PATIENT_ROUNDS = 4
/** Further requests to a call that no round has brought an accepted one, and those of them in one batch. */
const MOST_INSISTED = 200
const INSISTED_AT_ONCE = 8
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
    // The document itself is large and always the same; it was fetched at the start.
    const operations = world.api.operations.filter((one) => one.path !== '/v1/openapi.json')
    const request = fc.oneof(...operations.map((one) => requestsOf(world.api, one)))
    const batches = fc.array(request, { minLength: 1, maxLength: BATCH_REQUESTS, size: 'max' })
    const raids = fc.array(attacks(request), { minLength: 1, maxLength: BATCH_ATTACKS, size: 'max' })
    const resident: number[] = []
    let round = 0
    for (; round < (options.rounds ?? Infinity) && (round === 0 || Date.now() < options.until); round++) {
      const seed = options.seed + round
      await hold(batches, BATCHES, seed, async (batch) => {
        await world.replenish()
        await exchanges.play(batch)
      })
      await hold(raids, ATTACK_BATCHES, seed, (raid) => hostile.play(raid))
      if (!options.isPatient || round % PATIENT_ROUNDS !== 0) hostile.giveUp()
      await within(seed, () => world.examine())
      resident.push(world.residentBytes / MIB)
      options.onRound?.(
        `round ${round + 1}, seed ${seed}: ${exchanges.tally.total} requests, ${hostile.count} attacks, ` +
          `${Math.round(resident.at(-1)!)} MiB, canary ${world.canaryAnswers} answers, slowest ${Math.round(world.canarySlowestMs)} ms`,
      )
    }
    await within(options.seed + round - 1, async () => {
      for (const operation of operations) await insist(world, exchanges, operation, options.seed)
      if (!options.isPatient) hostile.giveUp()
      await hostile.finish()
      exchanges.close()
      await world.examine(OWN_CONNECTIONS)
      await world.restart()
    })
    const { tally } = exchanges
    return {
      rounds: round,
      requests: tally.total,
      attacks: hostile.count,
      statuses: tally.statuses,
      calls: tally.calls(operations),
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

/** Sends requests of one operation until it has been accepted, but not more than so many. */
async function insist(world: World, exchanges: Exchanges, operation: Operation, seed: number): Promise<void> {
  if (exchanges.tally.isAccepted(operation)) return
  const drawn = fc.sample(requestsOf(world.api, operation), { numRuns: MOST_INSISTED, seed })
  for (let at = 0; at < drawn.length && !exchanges.tally.isAccepted(operation); at += INSISTED_AT_ONCE) {
    await world.replenish()
    await exchanges.play(drawn.slice(at, at + INSISTED_AT_ONCE))
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
