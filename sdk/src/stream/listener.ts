import type { ClientMessage, ServerMessage } from './messages.ts'

/** Something that the server keeps on telling over a stream: a subscription, or a watch. */
export interface Listener {
  /** The connection is open, for the first time or again. */
  opened(): void
  lost(): void
  /** A message that names it: {@link id}. */
  received(message: ServerMessage): void
  /** Nothing more will come; without an error because the stream was closed. */
  ended(end: { readonly error?: unknown }): void
}

/** What a listener needs of its stream. */
export interface ListenerHost {
  readonly isOpen: boolean
  /** A name for what it asks for; messages that carry it come to the listener. */
  register(listener: Listener): string
  forget(name: string): void
  /** While the connection is open. */
  send(message: ClientMessage): void
  /** The listener is not needed any more. */
  remove(listener: Listener): void
}
