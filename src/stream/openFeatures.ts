import { badParam } from '../runtime/errors.ts'
import type { ErrorMessage, RawMessage } from './messages.ts'
import type { FeatureEntry, StreamConnection, StreamFeature, StreamFeatureKind } from './port.ts'
import { rotate } from './rotation.ts'

/** The features of one connection, each created with the first message for it. */
export class OpenFeatures {
  readonly #connection: StreamConnection
  readonly #entries: ReadonlyMap<string, FeatureEntry>
  readonly #open = new Map<StreamFeatureKind, StreamFeature>()

  /**
   * Starts without features.
   * @param entries by the type of their messages
   */
  constructor(connection: StreamConnection, entries: ReadonlyMap<string, FeatureEntry>) {
    this.#connection = connection
    this.#entries = entries
  }

  /**
   * Passes a message to its feature.
   * @throws {ApiError} 400 for an unknown type or a message that does not fit its schema; and what the feature throws
   */
  receive(message: RawMessage): void {
    const entry = this.#entries.get(message.type)
    if (entry === undefined) throw badParam('type', 'Unknown message type.')
    entry.validator.check(message as unknown as Record<string, unknown>)
    this.#feature(entry.kind).receive(message)
  }

  #feature(kind: StreamFeatureKind): StreamFeature {
    let feature = this.#open.get(kind)
    if (feature === undefined) {
      feature = kind.open(this.#connection)
      this.#open.set(kind, feature)
    }
    return feature
  }

  /** The subscription or watch that a message is about, as far as the message tells. */
  subject(message: RawMessage): Pick<ErrorMessage, 'subscription' | 'watch'> {
    const names = this.#entries.get(message.type)?.kind.names
    return names === undefined || typeof message.id !== 'string' ? {} : { [names]: message.id }
  }

  /** The client has read everything that was sent. */
  drained(): void {
    for (const feature of this.#open.values()) feature.drained()
    rotate(this.#open)
  }

  /** The connection has ended. */
  closed(): void {
    for (const feature of this.#open.values()) feature.closed()
  }
}
