/** A command and its arguments, e.g. `['GET', key, id]`. */
export type Tile38Command = readonly string[]

/** A reply in the form of RESP 2; numbers that Tile38 writes as text stay text. */
export type Tile38Reply = string | number | null | readonly Tile38Reply[]

/** There is no connection, it was lost on the way, or the answer is overdue: the commands may have been done or not. */
export class Tile38Unreachable extends Error {
  override readonly name = 'Tile38Unreachable'
}

/** The server answered a command with an error. */
export class Tile38Refused extends Error {
  override readonly name = 'Tile38Refused'
}

/** Who keeps something in Tile38. */
export interface Tile38Follower {
  /** A connection is there; nothing is known of what the server holds: it may be another, or an empty one. */
  connected(): void
  /** The connection is gone, and with it the subscriptions. */
  disconnected(): void
}

/**
 * A Tile38 server, as what is built on it sees it. It connects by itself, again and again.
 *
 * Commands of one call are a pipeline: they go out together and are done in their order; those of calls after each other
 * too. Other clients' commands may come in between.
 */
export interface Tile38 {
  readonly isConnected: boolean
  /** In words, without the password. */
  readonly detail: string
  /** Told from now on, and at once where there is a connection. */
  follow(follower: Tile38Follower): void
  /**
   * One reply per command.
   * @throws {Tile38Unreachable} {@link Tile38Refused}, naming the first command that was refused; the others are done
   */
  send(commands: readonly Tile38Command[]): Promise<readonly Tile38Reply[]>
  /**
   * Listens to a channel until {@link unsubscribe} or the end of the connection; one listener per channel.
   * @throws {Tile38Unreachable}
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<void>
  unsubscribe(channel: string): Promise<void>
}
