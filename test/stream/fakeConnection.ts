import type { Encoded } from '../../src/events/fanoutGroup.ts'
import { jsonCodec } from '../../src/stream/jsonCodec.ts'
import type { ServerMessage } from '../../src/stream/messages.ts'
import type { StreamConnection } from '../../src/stream/port.ts'
import { KeyedBound, type Share } from '../../src/runtime/keyedBound.ts'

/** A limit that no test reaches. */
export const roomy = () => new KeyedBound('Filters and areas', { connection: 1e9, key: 1e9, all: 1e9 })

/** A simulated connection. It keeps sent messages as objects, and the test says when they have been read. */
export class FakeConnection implements StreamConnection {
  readonly scope: number
  readonly isSecret: boolean
  readonly codec = jsonCodec
  readonly keyName = 'key'
  readonly kept: Share
  /** Everything that was sent, parsed. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into messages of every type
  readonly sent: any[] = []
  /** How often something was sent. */
  sends = 0
  /** While true, sent messages stay unread. */
  isStalled = false
  /** The most that was unread at one time. */
  mostUnread = 0
  closedWith: number | undefined
  #unread = 0

  constructor(scope = 0, isSecret = true, bound = roomy()) {
    this.kept = bound.share(this.keyName)
    this.scope = scope
    this.isSecret = isSecret
  }

  get bufferedBytes(): number {
    return this.#unread
  }

  send(message: ServerMessage): void {
    this.sendEncoded([this.codec.encode(message)])
  }

  sendEncoded(messages: readonly Encoded[]): void {
    if (this.closedWith !== undefined) return
    this.sends++
    for (const message of messages) {
      this.sent.push(JSON.parse(message.toString()))
      if (this.isStalled) this.#unread += message.length
    }
    this.mostUnread = Math.max(this.mostUnread, this.#unread)
  }

  close(code: number): void {
    this.closedWith ??= code
  }

  /** The client reads everything that was sent, and continues to read. */
  read(): void {
    this.isStalled = false
    this.#unread = 0
  }
}
