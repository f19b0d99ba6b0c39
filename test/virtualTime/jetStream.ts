/**
 * A simulated JetStream: the streams of partitions with their fence, the stream of events with its marks, and the
 * network between them and hosts that die or are stopped at a crash point. It corresponds to
 * src/cluster/journal/jetStreamJournal.ts and jetStreamEvents.ts.
 *
 * It does what happens on a bad day: requests and answers are late, lost or doubled, and the server that answers a
 * read may be behind. It does not do what JetStream guarantees never to do: lose what it has acknowledged, store half
 * of a batch, or ignore a fence.
 */
import {
  MAX_BATCH_MESSAGES,
  type PublishedEvent,
  type EventStream,
  type Journal,
  type JournalMessage,
  type JournalEntry,
  type Mark,
  type Publication,
} from '../../src/cluster/journal/jetStreamPort.ts'

import type { CrashPoint, Moment, Operation } from './crashPoints.ts'
import type { Scheduler } from './scheduler.ts'

/** Timeout for an answer, in virtual time. */
const ANSWER_MS = 5000
const PAGE_MESSAGES = 7

export type Draw = () => number

export class SimulatedStream {
  /** Everything that was ever stored; the sequence number is the index plus one. */
  readonly history: JournalEntry[] = []
  #first = 1

  append(messages: readonly JournalMessage[], after: number | undefined): number {
    if (after !== undefined && after !== this.history.length) {
      throw new Error(`wrong last sequence: ${this.history.length}`)
    }
    for (const { subject, headers, data } of messages) {
      const sequence = this.history.length + 1
      this.history.push({ sequence, subject, data, header: (name) => headers[name] ?? '' })
    }
    return this.history.length
  }

  /** The stored messages as seen by a server that is `behind` by so many. */
  kept(subject: string, behind: number): JournalEntry[] {
    const pattern = new RegExp(`^${subject.replaceAll('.', '\\.').replaceAll('*', '[^.]+')}$`)
    const seen = this.history.slice(this.#first - 1, Math.max(this.#first - 1, this.history.length - behind))
    return seen.filter((message) => pattern.test(message.subject))
  }

  purge(before: number): void {
    this.#first = Math.max(this.#first, before)
  }
}

export class SimulatedEvents {
  /** What was published of each partition. */
  readonly published: PublishedEvent[][] = []
  readonly #marks: Mark[][] = []
  readonly #stored: (partition: number, event: PublishedEvent) => void
  #sequence = 0

  /** @param stored called for each event at the moment when it is stored */
  constructor(stored: (partition: number, event: PublishedEvent) => void) {
    this.#stored = stored
  }

  publish(publications: readonly Publication[]): number[] {
    const count = publications.reduce((sum, { messages }) => sum + 1 + messages.length, 0)
    if (count > MAX_BATCH_MESSAGES) throw new Error('batch too large')
    if (new Set(publications.map(({ partition }) => partition)).size < publications.length) {
      throw new Error('a subject can be expected once in a batch')
    }
    for (const { partition, after } of publications) {
      const newest = this.#marks[partition]?.at(-1)?.sequence ?? 0
      if (after !== newest) throw new Error(`wrong last sequence: ${newest}`)
    }
    return publications.map(({ partition, progress, messages }) => {
      const mark = { ...progress, sequence: ++this.#sequence }
      ;(this.#marks[partition] ??= []).push(mark)
      for (const event of messages) {
        this.#stored(partition, event)
        ;(this.published[partition] ??= []).push(event)
      }
      this.#sequence += messages.length
      return mark.sequence
    })
  }

  /** The newest mark as seen by a server that is `behind` by so many messages. */
  mark(partition: number, behind: number): Mark | undefined {
    const marks = this.#marks[partition] ?? []
    return marks[Math.max(0, marks.length - 1 - behind)]
  }
}

/** The failure that is planned for a host. */
export interface Doom {
  readonly operation: Operation
  readonly moment: Moment
  /** How many of these operations the host completes first. */
  readonly spared: number
  /** How long the host is stopped; undefined: it dies. */
  readonly suspendedMs: number | undefined
}

/** One process. Results that it waits for come late while it is stopped, and never once it is dead. */
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

  /** Runs something in the process after at least `ms`. */
  wakes(ms: number, run: () => void): void {
    this.#scheduler.after(ms, () => {
      if (this.isDead) return
      if (this.#scheduler.now >= this.#goesOnAt) run()
      else this.wakes(this.#goesOnAt - this.#scheduler.now, run)
    })
  }

  /** Counts the operation. Returns whether the planned failure happens in it. */
  isDoomed(operation: Operation): boolean {
    return this.#doom?.operation === operation && this.#spared-- === 0
  }

  /** Lets the host fail if this is the planned moment. */
  meets(isDoomed: boolean, moment: Moment): void {
    const doom = this.#doom
    if (!isDoomed || doom?.moment !== moment) return
    const isDeath = doom.suspendedMs === undefined
    this.#met([doom.operation, moment, isDeath ? 'dies' : 'stands still'])
    if (isDeath) this.isDead = true
    else this.#goesOnAt = this.#scheduler.now + doom.suspendedMs!
  }
}

/** The shares of messages between a host and its stream that are late, lost, doubled or outdated. */
export interface Weather {
  readonly late: number
  readonly lost: number
  readonly doubled: number
  readonly old: number
}

/** What a host asks of the streams, and the effect. */
export class SimulatedNetwork {
  readonly #host: SimulatedHost
  readonly #scheduler: Scheduler
  readonly #draw: Draw
  readonly #weather: () => Weather

  constructor(host: SimulatedHost, scheduler: Scheduler, draw: Draw, weather: () => Weather) {
    this.#host = host
    this.#scheduler = scheduler
    this.#draw = draw
    this.#weather = weather
  }

  journal(stream: SimulatedStream): Journal {
    const read = <T>(work: () => T) => this.#ask('read', work)
    const since = (subject: string, sequence: number) =>
      stream.kept(subject, this.#behind()).filter((message) => message.sequence >= sequence)
    return {
      maxDataBytes: 2000,
      append: (messages, after) =>
        this.#ask(messages[0]!.subject.split('.')[0] as Operation, () => stream.append(messages, after)),
      bytes: () => read(() => stream.kept('*', 0).length),
      last: (subject) => read(() => stream.kept(subject, this.#behind()).at(-1)),
      next: (subject, sequence) => read(() => since(subject, sequence)[0]),
      page: (subject, sequence) => read(() => since(subject, sequence).slice(0, PAGE_MESSAGES)),
      purge: (before) => this.#ask('purge', () => stream.purge(before)),
    }
  }

  events(events: SimulatedEvents): EventStream {
    return {
      publish: (publications) => this.#ask('publish', () => events.publish(publications)),
      mark: (partition) => this.#ask('read', () => events.mark(partition, this.#behind())),
    }
  }

  #behind(): number {
    return this.#draw() < this.#weather().old ? Math.floor(this.#draw() * 12) : 0
  }

  /** A late message may arrive when nobody waits for it any more. */
  #delay(): number {
    return this.#draw() < this.#weather().late ? this.#draw() * 3 * ANSWER_MS : this.#draw() * 10
  }

  #ask<T>(operation: Operation, work: () => T): Promise<T> {
    const host = this.#host
    return new Promise((resolve, reject) => {
      const isDoomed = host.isDoomed(operation)
      host.meets(isDoomed, 'unsent')
      // A stopped host has not sent it yet, and a dead one never will.
      host.wakes(0, () => {
        host.wakes(ANSWER_MS, () => reject(new Error('no answer')))
        const arrive = () => {
          if (this.#draw() < this.#weather().lost) return
          let answer: () => void
          try {
            const result = work()
            answer = () => resolve(result)
          } catch (error) {
            answer = () => reject(error as Error)
          }
          host.meets(isDoomed, 'done')
          if (this.#draw() < this.#weather().lost) return
          host.wakes(this.#delay(), () => {
            answer()
            host.wakes(0, () => host.meets(isDoomed, 'answered'))
          })
        }
        this.#scheduler.after(this.#delay(), arrive)
        if (this.#draw() < this.#weather().doubled) this.#scheduler.after(this.#delay(), arrive)
        host.meets(isDoomed, 'on its way')
      })
    })
  }
}
