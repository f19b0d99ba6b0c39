/**
 * A simulated JetStream: the stream of one partition with its fence, EVENTS filled from it, and the network between it and
 * hosts that die or stand still at a crash point. The twin of src/log/jetStreamJournal.ts.
 *
 * It does what a bad day does: requests and answers are late, lost or doubled, and whoever answers a read may be behind.
 * It does not do what JetStream promises not to: lose what it has acknowledged, store half of a batch, or ignore a fence.
 */
import type { Journal, JournalMessage, KeptMessage } from '../../src/log/jetStreamPort.ts'
import type { CrashPoint, Moment, Operation } from './crashPoints.ts'
import type { Scheduler } from './scheduler.ts'

/** For an answer, of virtual time. */
const ANSWER_MS = 5000
const PAGE_MESSAGES = 7

export type Draw = () => number

export class SimulatedStream {
  /** All that was ever stored; the sequence is the index and one. */
  readonly history: KeptMessage[] = []
  /** Sequences of what EVENTS has, in its order. */
  readonly events: number[] = []
  readonly #scheduler: Scheduler
  readonly #draw: Draw
  #first = 1
  /** How far EVENTS has looked. */
  #taken = 0
  #isTaking = false

  constructor(scheduler: Scheduler, draw: Draw) {
    this.#scheduler = scheduler
    this.#draw = draw
  }

  append(messages: readonly JournalMessage[], after: number | undefined): number {
    if (after !== undefined && after !== this.history.length) {
      throw new Error(`wrong last sequence: ${this.history.length}`)
    }
    for (const { subject, headers, data } of messages) {
      const sequence = this.history.length + 1
      this.history.push({ sequence, subject, data, header: (name) => headers[name] ?? '' })
    }
    this.#takeLater()
    return this.history.length
  }

  /** What is kept, as somebody sees it who is `behind` by so many messages. */
  kept(subject: string, behind: number): KeptMessage[] {
    const pattern = new RegExp(`^${subject.replaceAll('.', '\\.').replaceAll('*', '[^.]+')}$`)
    const seen = this.history.slice(this.#first - 1, Math.max(this.#first - 1, this.history.length - behind))
    return seen.filter((message) => pattern.test(message.subject))
  }

  purge(before: number): void {
    this.#first = Math.max(this.#first, before)
  }

  isTaken(sequence: number): boolean {
    return this.#taken >= sequence
  }

  /** EVENTS takes some messages at some time; what was purged before is lost to it. */
  #takeLater(): void {
    if (this.#isTaking || this.#taken >= this.history.length) return
    this.#isTaking = true
    this.#scheduler.after(this.#draw() * 300, () => {
      this.#isTaking = false
      const upTo = this.#taken + Math.ceil(this.#draw() * (this.history.length - this.#taken))
      for (let sequence = Math.max(this.#taken + 1, this.#first); sequence <= upTo; sequence++) {
        if (this.history[sequence - 1]!.subject.startsWith('events.')) this.events.push(sequence)
      }
      this.#taken = upTo
      this.#takeLater()
    })
  }
}

/** The end that is in wait for a host. */
export interface Doom {
  readonly operation: Operation
  readonly moment: Moment
  /** How many of these operations it does before. */
  readonly spared: number
  /** How long it stands still; undefined: it dies. */
  readonly stillMs: number | undefined
}

/** One process: what it waits for comes late when it stands still, and never when it is dead. */
export class SimulatedHost {
  readonly #scheduler: Scheduler
  readonly #doom: Doom | undefined
  readonly #met: (point: CrashPoint) => void
  #spared: number
  #goesOnAt = 0
  isDead = false

  constructor(scheduler: Scheduler, doom: Doom | undefined, met: (point: CrashPoint) => void) {
    this.#scheduler = scheduler
    this.#doom = doom
    this.#met = met
    this.#spared = doom?.spared ?? Infinity
  }

  readonly pause = (ms: number): Promise<void> => new Promise((resolve) => this.wakes(ms, resolve))

  /** Something that happens in the process, in `ms` at the earliest. */
  wakes(ms: number, run: () => void): void {
    this.#scheduler.after(ms, () => {
      if (this.isDead) return
      if (this.#scheduler.now >= this.#goesOnAt) run()
      else this.wakes(this.#goesOnAt - this.#scheduler.now, run)
    })
  }

  /** Counts the operation; answers whether its doom waits in it. */
  isDoomed(operation: Operation): boolean {
    return this.#doom?.operation === operation && this.#spared-- === 0
  }

  /** The doom, where this is the moment. */
  meets(isDoomed: boolean, moment: Moment): void {
    const doom = this.#doom
    if (!isDoomed || doom?.moment !== moment) return
    const isDeath = doom.stillMs === undefined
    this.#met([doom.operation, moment, isDeath ? 'dies' : 'stands still'])
    if (isDeath) this.isDead = true
    else this.#goesOnAt = this.#scheduler.now + doom.stillMs!
  }
}

/** What is late, lost, doubled or old on the way between a host and its stream, as shares. */
export interface Weather {
  readonly late: number
  readonly lost: number
  readonly doubled: number
  readonly old: number
}

/** The journal of a host. */
export function simulatedJournal(
  stream: SimulatedStream,
  host: SimulatedHost,
  scheduler: Scheduler,
  draw: Draw,
  weather: () => Weather,
): Journal {
  /** What is late may come when nobody waits for it any more. */
  const delay = () => (draw() < weather().late ? draw() * 3 * ANSWER_MS : draw() * 10)

  function ask<T>(operation: Operation, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const isDoomed = host.isDoomed(operation)
      host.meets(isDoomed, 'unsent')
      // One that stands still has not sent it yet; one that is dead never will.
      host.wakes(0, () => {
        host.wakes(ANSWER_MS, () => reject(new Error('no answer')))
        const arrive = () => {
          if (draw() < weather().lost) return
          let answer: () => void
          try {
            const result = work()
            answer = () => resolve(result)
          } catch (error) {
            answer = () => reject(error as Error)
          }
          host.meets(isDoomed, 'done')
          if (draw() < weather().lost) return
          host.wakes(delay(), () => {
            answer()
            host.wakes(0, () => host.meets(isDoomed, 'answered'))
          })
        }
        scheduler.after(delay(), arrive)
        if (draw() < weather().doubled) scheduler.after(delay(), arrive)
        host.meets(isDoomed, 'on its way')
      })
    })
  }

  const behind = () => (draw() < weather().old ? Math.floor(draw() * 12) : 0)
  return {
    maxDataBytes: 2000,
    append: (messages, after) =>
      ask(messages[0]!.subject.split('.')[0] as Operation, () => stream.append(messages, after)),
    bytes: () => ask('read', () => stream.kept('*', 0).length),
    last: (subject) => ask('read', () => stream.kept(subject, behind()).at(-1)),
    next: (subject, sequence) =>
      ask('read', () => stream.kept(subject, behind()).find((message) => message.sequence >= sequence)),
    page: (subject, sequence) =>
      ask('read', () =>
        stream
          .kept(subject, behind())
          .filter((message) => message.sequence >= sequence)
          .slice(0, PAGE_MESSAGES),
      ),
    isMarkTaken: (sequence) => ask('read', () => stream.isTaken(sequence)),
    purge: (before) => ask('purge', () => stream.purge(before)),
  }
}
