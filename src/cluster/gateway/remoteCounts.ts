import type { CountedUpdates, CountQuestion, UpdateTotals } from '../../model/updateTotals.ts'
import type { Calls, Served } from '../nats/calls.ts'
import { countsSubject } from '../nats/subjects.ts'

/** A gateway that is not known yet may answer within this time. */
const LEAST_MS = 100
/** A gateway that has not answered after this time is gone. */
const MOST_MS = 1000

interface Answer extends CountedUpdates {
  readonly gateway: string
}

/** Tells other gateways the counts of this one. */
export function serveCounts(local: UpdateTotals, calls: Calls, gateway: string): Served {
  return calls.serve(countsSubject, (bytes, answer) => {
    const question = JSON.parse(Buffer.from(bytes).toString()) as CountQuestion
    void local.count(question).then((counted) => {
      const said: Answer = { gateway, ...counted }
      answer(Buffer.from(JSON.stringify(said)))
    })
  })
}

/**
 * The counts of all gateways. Each gateway counts the updates that came through it.
 *
 * Nobody has a list of the gateways, so each question goes to all. It ends when all gateways have answered that
 * answered lately, but not before a gateway that has just started had time to answer.
 */
export class RemoteCounts implements UpdateTotals {
  readonly #calls: Calls
  #known: ReadonlySet<string> = new Set()

  constructor(calls: Calls) {
    this.#calls = calls
  }

  async count(question: CountQuestion): Promise<CountedUpdates> {
    const answers = new Map<string, Answer>()
    await new Promise<void>((resolve) => {
      let isEarly = true
      const settleIfAll = () => {
        if (!isEarly && [...this.#known].every((gateway) => answers.has(gateway))) settle()
      }
      const call = this.#calls.askAll(countsSubject, (bytes) => {
        const answer = JSON.parse(Buffer.from(bytes).toString()) as Answer
        answers.set(answer.gateway, answer)
        settleIfAll()
      })
      const least = setTimeout(() => {
        isEarly = false
        settleIfAll()
      }, LEAST_MS)
      const most = setTimeout(() => settle(), MOST_MS)
      const settle = () => {
        clearTimeout(least)
        clearTimeout(most)
        call.end()
        resolve()
      }
      call.send(Buffer.from(JSON.stringify(question)))
    })
    this.#known = new Set(answers.keys())
    const all = [...answers.values()]
    const length = Math.ceil((question.to - question.from) / question.stepMs)
    return {
      since: Math.max(...all.map(({ since }) => since), 0),
      counts: Array.from({ length }, (_, i) => all.reduce((sum, { counts }) => sum + counts[i]!, 0)),
    }
  }
}
