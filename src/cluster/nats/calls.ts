import type { LateAnswers } from './lateAnswers.ts'

/**
 * Questions to other processes, and their answers. natsCalls.ts implements this with NATS, and test/cluster/kit.ts in
 * memory, where messages are lost, doubled and delayed.
 *
 * A question may reach nobody, one process or several. The question and its answer may be lost, come twice, or come
 * late.
 */
export interface Calls {
  /**
   * Asks a question, and resolves to the first answer.
   * @param late gets the answer that comes after that time
   * @throws {NobodyListens} {@link AnswerOverdue}; other errors mean the same as the latter
   */
  ask(subject: string, question: Uint8Array, timeoutMs: number, late?: LateAnswers): Promise<Uint8Array>
  /** Passes on every answer to the questions that are sent through the result, until it is ended. */
  askAll(subject: string, answered: (answer: Uint8Array) => void): OpenCall
  /**
   * Receives questions; `answer` may be called later, several times, or not at all. The callee owns both byte arrays.
   */
  serve(subject: string, asked: (question: Uint8Array, answer: (answer: Uint8Array) => void) => void): Served
}

/** A question that may be sent again. */
export interface OpenCall {
  send(question: Uint8Array): void
  end(): void
}

export interface Served {
  /** Stops receiving. After it resolves, askers learn that nobody listens. */
  stop(): Promise<void>
}

/** The question was certainly not received. */
export class NobodyListens extends Error {
  override readonly name = 'NobodyListens'
}

/** It is not known whether the question was received. */
export class AnswerOverdue extends Error {
  override readonly name = 'AnswerOverdue'
}
