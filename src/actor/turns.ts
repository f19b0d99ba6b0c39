/**
 * How long a batch gathers under load. A flush costs some 60 µs of CPU, however little is in it: see
 * docs/adr/0012-gather-under-load.md for what that is worth.
 */
const GATHER_MS = 2

/**
 * When hosts take their turns, and answer: those that share it together, so that what all of them append or say leaves in one
 * write to the socket, and the server reads it at once.
 */
export class Turns {
  #soon: (() => void)[] = []
  #gathered: (() => void)[] = []

  /** After the sockets of this turn of the event loop have been read. */
  soon(turn: () => void): void {
    if (this.#soon.push(turn) === 1) setImmediate(this.#runSoon)
  }

  /** Once what comes meanwhile has gathered. */
  gathered(turn: () => void): void {
    if (this.#gathered.push(turn) === 1) setTimeout(this.#runGathered, GATHER_MS)
  }

  readonly #runSoon = (): void => {
    const turns = this.#soon
    this.#soon = []
    for (const turn of turns) turn()
  }

  readonly #runGathered = (): void => {
    const turns = this.#gathered
    this.#gathered = []
    for (const turn of turns) turn()
  }
}
