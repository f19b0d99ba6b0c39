import type { ActorHost } from '../actor/host.ts'
import { answerInSlices } from '../users/hostUsers.ts'
import type { TripAnswer, TripQuestion, Trips } from './port.ts'
import { mergeTripAnswers, tripAnswerSteps, type TripAnswerParts } from './tripQueries.ts'

/** The trips of the hosts in this process. Each host has other partitions. */
export class HostTrips implements Trips {
  readonly #hosts: () => readonly ActorHost[]
  readonly #parts: TripAnswerParts

  /**
   * Asks hosts.
   * @param hosts returns the present ones, at least one
   */
  constructor(hosts: () => readonly ActorHost[], parts: TripAnswerParts) {
    this.#hosts = hosts
    this.#parts = parts
  }

  async ask(question: TripQuestion): Promise<TripAnswer> {
    const answers = this.#hosts().map((host) =>
      answerInSlices(host, tripAnswerSteps(host.partitions, question, this.#parts)),
    )
    return mergeTripAnswers(question, await Promise.all(answers))
  }
}
