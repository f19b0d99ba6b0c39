/** A command and its arguments, e.g. `['GET', key, id]`. */
export type Tile38Command = readonly string[]

/** A reply in the form of RESP 2. Numbers that Tile38 writes as text stay text. */
export type Tile38Reply = string | number | null | readonly Tile38Reply[]

/**
 * There is no connection, it was lost on the way, or the answer is overdue. The commands may or may not have been
 * executed.
 */
export class Tile38Unreachable extends Error {
  override readonly name = 'Tile38Unreachable'
}

/** The server answered a command with an error. */
export class Tile38Refused extends Error {
  override readonly name = 'Tile38Refused'
}

/** A user of Tile38 that stores something there. */
export interface Tile38Follower {
  /**
   * Called when there is a connection. Nothing is known about the contents of the server, which may be another or an
   * empty one.
   */
  connected(): void
  /** Called when the connection is gone, and the subscriptions with it. */
  disconnected(): void
}

/**
 * A Tile38 server for the code that is built on it. It reconnects by itself.
 *
 * The commands of one call form a pipeline: they are sent together and executed in order, and so are successive
 * calls. Other clients' commands may come in between.
 */
export interface Tile38 {
  readonly isConnected: boolean
  /** The state in words, without the password. */
  readonly detail: string
  /** Informs a follower from now on, and at once if there is a connection. */
  follow(follower: Tile38Follower): void
  /**
   * Sends commands. Resolves to one reply per command.
   * @throws {Tile38Unreachable} {@link Tile38Refused}, naming the first command that was refused; the others were
   * executed
   */
  send(commands: readonly Tile38Command[]): Promise<readonly Tile38Reply[]>
  /**
   * Listens to a channel until {@link unsubscribe} or the end of the connection. A channel has one listener.
   * @throws {Tile38Unreachable}
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<void>
  unsubscribe(channel: string): Promise<void>
}
