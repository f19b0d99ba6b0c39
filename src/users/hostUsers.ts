import type { ActorHost } from '../actor/host.ts'
import type { Partition } from '../actor/partition.ts'
import { PAGE_CHARACTERS } from '../events/port.ts'
import type { Unfetched } from '../rules/atlas.ts'
import { ownTurn, Slice } from '../runtime/slices.ts'
import { charactersOf } from '../runtime/textPieces.ts'
import {
  answerSteps,
  asksForPage,
  mostUsers,
  mergeAnswers,
  pageSteps,
  writeSteps,
  type AnswerParts,
  type PageQuestion,
} from './userAnswers.ts'
import { emptyPage, type UserRow } from './userQueries.ts'
import type { FoundUser, UserAnswer, UserQuestion, Users } from '../actor/port.ts'

/** How many users of a page are written before their characters are counted. */
const WRITTEN_TOGETHER = 128

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
    const hosts = this.#hosts()
    if (hosts.length > 1 && asksForPage(question)) return this.#page(hosts, question)
    const answers = hosts.map((host) => answerInSlices(host, answerSteps(host, question, this.#parts)))
    return mergeAnswers(question, await Promise.all(answers))
  }

  /**
   * A page of the users of several hosts. The obvious way merges the pages of all of them: with a host for each of 64
   * partitions, a page of a thousand users would be written 64 times.
   */
  async #page(hosts: readonly ActorHost[], question: PageQuestion): Promise<UserAnswer> {
    const limit = mostUsers(question)
    const page = emptyPage(limit)
    const pages = await Promise.all(
      hosts.map(async (host) => {
        await ownTurn()
        return answerInSlices(host, pageSteps(host, question, this.#parts, page))
      }),
    )
    const rows = page.items()
    const total = pages.reduce((sum, { total: ofHost = 0 }) => sum + ofHost, 0)
    const counted = question.ask === 'list' && question.list.wantsTotal === true ? { total } : {}
    const hostOf = new Map(hosts.flatMap((host) => host.partitions.map((partition) => [partition, host])))
    const users: FoundUser[] = []
    let characters = 0
    for (let from = 0; from < Math.min(limit, rows.length); from += WRITTEN_TOGETHER) {
      const some = rows.slice(from, Math.min(limit, from + WRITTEN_TOGETHER))
      for (const user of await this.#written(some, question, hostOf)) {
        if (characters >= PAGE_CHARACTERS) return { users, hasMore: true, ...counted }
        users.push(user)
        characters += charactersOf(user.user)
      }
    }
    return { users, hasMore: rows.length > limit, ...counted }
  }

  /** Writes the users of rows, in order, without those that have been removed. */
  async #written(
    rows: readonly UserRow[],
    question: PageQuestion,
    hostOf: ReadonlyMap<Partition, ActorHost>,
  ): Promise<FoundUser[]> {
    const written = new Map<UserRow, FoundUser | undefined>()
    const ofHosts = Map.groupBy(rows, ({ partition }) => hostOf.get(partition)!)
    await Promise.all(
      [...ofHosts].map(async ([host, some]) => {
        await ownTurn()
        const users = await answerInSlices(host, writeSteps(some, question, this.#parts))
        for (const [i, row] of some.entries()) written.set(row, users[i])
      }),
    )
    return rows.flatMap((row) => written.get(row) ?? [])
  }
}

/** Does the steps of a question between two batches, in slices, so that other work gets a turn. */
export async function answerInSlices<A>(host: ActorHost, steps: Generator<Unfetched | void, A>): Promise<A> {
  const slice = new Slice()
  for (;;) {
    const step = await host.read(() => {
      // Many may have waited for the same batch.
      slice.begin()
      let next = steps.next()
      while (!next.done && next.value === undefined && !slice.isOver) next = steps.next()
      return next
    })
    if (step.done) return step.value
    await step.value?.fetch()
    await slice.next()
  }
}
