import type { ActorHost } from '../actor/host.ts'
import type { Unfetched } from '../rules/atlas.ts'
import { Slice } from '../runtime/slices.ts'
import { answerSteps, mergeAnswers, type AnswerParts } from './userAnswers.ts'
import type { UserAnswer, UserQuestion, Users } from '../actor/port.ts'

/** The users of the hosts in this process. Each host has other partitions. */
export class HostUsers implements Users {
  readonly #hosts: () => readonly ActorHost[]
  readonly #parts: AnswerParts

  /**
   * Asks hosts.
   * @param hosts returns the present ones, at least one
   */
  constructor(hosts: () => readonly ActorHost[], parts: AnswerParts) {
    this.#hosts = hosts
    this.#parts = parts
  }

  async ask(question: UserQuestion): Promise<UserAnswer> {
    const answers = this.#hosts().map((host) =>
      answerInSlices(host, answerSteps(host, question, this.#parts)),
    )
    return mergeAnswers(question, await Promise.all(answers))
  }
}

/** Does the steps of a question between two batches, in slices, so that other work gets a turn. */
export async function answerInSlices<A>(host: ActorHost, steps: Generator<Unfetched | void, A>): Promise<A> {
  const slice = new Slice()
  for (;;) {
    const step = await host.read(() => {
      slice.resume()
      let next = steps.next()
      while (!next.done && next.value === undefined && !slice.isOver) next = steps.next()
      return next
    })
    if (step.done) return step.value
    await step.value?.fetch()
    await slice.next()
  }
}
