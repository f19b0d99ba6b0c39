import type { ClientMessage, ServerMessage } from './messages.ts'

/** Something that the server keeps reporting over a stream: a subscription or a watch. */
export interface Listener {
  /** Called when the connection is open, for the first time or again. */
  opened(): void
  lost(): void
  /** Called with each message that contains the listener's name. */
  received(message: ServerMessage): void
  /** Called when nothing more will come. There is no error if the stream was closed. */
  ended(end: { readonly error?: unknown }): void
}

/** What a listener needs from its stream. */
export interface ListenerHost {
  readonly isOpen: boolean
  /** Returns a name for the listener's requests. Messages that carry the name are passed to the listener. */
  register(listener: Listener): string
  forget(name: string): void
  /** Sends a message while the connection is open. */
  send(message: ClientMessage): void
  /** Forgets a listener that is not needed any more. */
  remove(listener: Listener): void
}
