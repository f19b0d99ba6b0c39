/** An answer that its client has not read completely. */
export interface UnreadAnswer {
  /** A number that {@link UnreadAnswers} keeps. */
  unreadBytes: number
  /** Disconnects the client. */
  close(): void
}

/**
 * The memory for answers that their clients have not read, of all connections together: bounded (G7). Beyond the bound,
 * the clients that have waited longest are disconnected.
 */
export class UnreadAnswers {
  readonly #maxBytes: number
  #bytes = 0
  /** The answers. The client that has read nothing for the longest time comes first. */
  readonly #answers = new Set<UnreadAnswer>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /**
   * Counts an answer.
   * @param bytes how many bytes of it are unread now
   */
  count(answer: UnreadAnswer, bytes: number): void {
    this.#bytes += bytes - answer.unreadBytes
    answer.unreadBytes = bytes
    this.#answers.delete(answer)
    if (bytes === 0) return
    this.#answers.add(answer)
    for (const other of this.#answers) {
      if (this.#bytes <= this.#maxBytes || other === answer) break
      other.close()
    }
  }
}
