import { createInbox, headers, nuid, type Msg, type NatsConnection } from '@nats-io/transport-node'
import { AnswerOverdue, NobodyListens, type Calls, type OpenCall, type Served } from './calls.ts'
import type { LateAnswers } from './lateAnswers.ts'

/**
 * Questions over NATS requests. Answers come to subjects below a single subscription, because a subscription for each
 * would be two more commands for each server. An answer that is larger than a message comes in parts, which the
 * header numbers.
 */

const PART = 'Ringfence-Part'
/** The part of a message's bytes that is reserved for subject and headers. */
const HEAD_BYTES = 4096
/** The status of a message that reports that nobody listens. */
const NO_RESPONDERS = 503

export class NatsCalls implements Calls {
  readonly #connection: NatsConnection
  readonly #inboxPrefix: string
  readonly #troubled: (error: Error) => void
  /** How many bytes of an answer a message may have. Read once: a connection that is being restored does not know it. */
  readonly #mostBytes: number
  /** The common prefix of the subjects of all answers; undefined before the first question. */
  #inbox: string | undefined
  /** Waiting callers, by the end of their subjects. */
  readonly #waiting = new Map<string, (message: Msg) => void>()
  #asked = 0

  /**
   * Calls over an open connection.
   * @param inboxPrefix the connection's prefix for the subjects of answers
   * @param troubled called for each message that could not be processed. If its callback threw, the client library
   * would take that for the end of the subscription, and report nothing any more
   */
  constructor(
    connection: NatsConnection,
    inboxPrefix = '_INBOX',
    troubled: (error: Error) => void = () => {},
  ) {
    this.#connection = connection
    this.#inboxPrefix = inboxPrefix
    this.#troubled = troubled
    this.#mostBytes = connection.info!.max_payload - HEAD_BYTES
  }

  ask(subject: string, question: Uint8Array, timeoutMs: number, late?: LateAnswers): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      let isOverdue = false
      const settle = (end: () => void) => {
        clearTimeout(timer)
        call.end()
        end()
      }
      const timer = setTimeout(() => {
        isOverdue = true
        if (late === undefined) call.end()
        else late.keep(call)
        reject(new AnswerOverdue(`${subject} has not answered in ${timeoutMs} ms.`))
      }, timeoutMs)
      const call = this.#open(
        subject,
        (answer) => {
          if (isOverdue) late?.take(answer)
          else settle(() => resolve(answer))
        },
        () => settle(() => reject(new NobodyListens(`Nobody listens to ${subject}.`))),
      )
      try {
        call.send(question)
      } catch (error) {
        settle(() => reject(error as Error))
      }
    })
  }

  askAll(subject: string, answered: (answer: Uint8Array) => void): OpenCall {
    return this.#open(subject, answered, () => {})
  }

  serve(
    subject: string,
    asked: (question: Uint8Array, answer: (answer: Uint8Array) => void) => void,
  ): Served {
    const subscription = this.#connection.subscribe(subject, {
      callback: (error, { data, reply }) => {
        if (error !== null || reply === undefined) return
        this.#guard(() => asked(data, (answer) => this.#answer(reply, answer)))
      },
    })
    return { stop: () => subscription.drain() }
  }

  #open(subject: string, answered: (answer: Uint8Array) => void, nobody: () => void): OpenCall {
    const token = String(++this.#asked)
    const reply = (this.#inbox ??= this.#subscribe()) + token
    const parts = new Map<string, Uint8Array[]>()
    this.#waiting.set(token, (message) => {
      if (message.headers?.code === NO_RESPONDERS) return nobody()
      const whole = wholeOf(message, parts)
      if (whole !== undefined) answered(whole)
    })
    return {
      send: (question) => this.#connection.publish(subject, question, { reply }),
      end: () => void this.#waiting.delete(token),
    }
  }

  #subscribe(): string {
    const inbox = `${createInbox(this.#inboxPrefix)}.`
    this.#connection.subscribe(`${inbox}*`, {
      callback: (error, message) => {
        // A server that does not let us listen there may allow it the next time.
        if (error !== null) this.#inbox = undefined
        else this.#guard(() => this.#waiting.get(message.subject.slice(inbox.length))?.(message))
      },
    })
    return inbox
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#troubled(error as Error)
    }
  }

  #answer(to: string, answer: Uint8Array): void {
    if (this.#connection.isClosed()) return
    const most = this.#mostBytes
    if (answer.length <= most) return this.#connection.publish(to, answer)
    const id = nuid.next()
    const count = Math.ceil(answer.length / most)
    for (let i = 0; i < count; i++) {
      const head = headers()
      head.set(PART, `${id} ${i} ${count}`)
      this.#connection.publish(to, answer.subarray(i * most, (i + 1) * most), { headers: head })
    }
  }
}

/**
 * The answer that a message contains or completes; undefined if more parts are missing. Messages of one sender come in
 * order, or are lost.
 */
function wholeOf({ headers: head, data }: Msg, parts: Map<string, Uint8Array[]>): Uint8Array | undefined {
  const text = head?.get(PART) ?? ''
  if (text === '') return data
  const [id, at, count] = text.split(' ') as [string, string, string]
  const before = parts.get(id) ?? []
  if (before.length !== Number(at)) return undefined
  parts.set(id, before)
  before.push(data)
  return before.length === Number(count) ? Buffer.concat(before) : undefined
}
