import { Tile38Keys } from './tile38Texts.ts'
import { Tile38Unreachable, type Tile38, type Tile38Command, type Tile38Follower } from './tile38Port.ts'
import type { ScopeId } from '../model/scope.ts'

/**
 * A channel that nobody renews ends after this time, so that a process that was killed leaves none behind for good.
 */
const CHANNEL_SECONDS = 60
const RENEW_MS = (CHANNEL_SECONDS / 2) * 1000
/** How often channels that nobody needs any more are removed. */
const SWEEP_MS = 1000

/** What somebody wants to be told by channels. */
export interface Fence {
  /** Whether nobody needs it any more. */
  readonly isEnded: boolean
  /** The names of its channels. */
  readonly channels: readonly string[]
  /** For each channel, what follows its name and expiry in the command that creates it. */
  readonly settings: readonly Tile38Command[]
  told(message: string): void
  /**
   * Called when there is a connection again. The channels must be created again, and what was missed must be looked
   * up.
   */
  openAgain(): Promise<void>
}

/**
 * The channels of one process: created, renewed while they are needed, created again after each connection, and
 * removed.
 *
 * Owns: channels. Does not own: what their messages mean (tile38Positions.ts, tile38Roams.ts).
 */
export class Tile38Channels implements Tile38Follower {
  readonly #tile38: Tile38
  readonly #keys: Tile38Keys
  readonly #process: string
  readonly #troubled: (error: Error) => void
  readonly #fences = new Set<Fence>()
  #names = 0
  #renewAt = 0
  #timer: NodeJS.Timeout | undefined

  /**
   * Starts without channels.
   * @param parts.process distinguishes this process's channels from those of others and of its earlier runs
   */
  constructor(parts: {
    readonly tile38: Tile38
    readonly storeId: string
    readonly process: string
    /** Called for each refusal. */
    readonly troubled: (error: Error) => void
  }) {
    this.#tile38 = parts.tile38
    this.#keys = new Tile38Keys(parts.storeId)
    this.#process = parts.process
    this.#troubled = parts.troubled
  }

  /** How many fences there are, including those that have ended and are not removed yet. */
  get count(): number {
    return this.#fences.size
  }

  start(): void {
    this.#tile38.follow(this)
    this.#timer = setInterval(() => void this.#sweep(), SWEEP_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** A name that no other channel has. */
  name(scope: ScopeId): string {
    return this.#keys.watch(scope, `${this.#process}:${this.#names++}`)
  }

  connected(): void {
    for (const fence of this.#fences) void this.orLater(fence.openAgain())
  }

  disconnected(): void {}

  /** Keeps the fence until it has ended; {@link listen} creates its channels. */
  add(fence: Fence): void {
    this.#fences.add(fence)
  }

  /** Creates the channels. */
  async listen(fence: Fence): Promise<void> {
    for (const channel of fence.channels)
      await this.#tile38.subscribe(channel, (message) => {
        if (!fence.isEnded) fence.told(message)
      })
    await this.#tile38.send(settingsOf(fence))
  }

  /** Removes a fence that could not be set up. */
  drop(fence: Fence): void {
    this.#fences.delete(fence)
    void this.orLater(this.#close(fence))
  }

  /** Waits for work. What could not be done is done with the next connection. */
  async orLater(done: Promise<unknown>): Promise<void> {
    try {
      await done
    } catch (error) {
      this.report(error as Error)
    }
  }

  /** Logs a refusal. It does not log that there is no connection, because that is known. */
  report(error: Error): void {
    if (!(error instanceof Tile38Unreachable)) this.#troubled(error)
  }

  async #sweep(): Promise<void> {
    const renews = Date.now() >= this.#renewAt
    if (renews) this.#renewAt = Date.now() + RENEW_MS
    for (const fence of this.#fences) {
      if (fence.isEnded) this.#fences.delete(fence)
      if (!this.#tile38.isConnected) continue
      if (fence.isEnded) await this.orLater(this.#close(fence))
      else if (renews) await this.orLater(this.#tile38.send(settingsOf(fence)))
    }
  }

  async #close({ channels }: Fence): Promise<void> {
    await this.#tile38.send(channels.map((channel) => ['DELCHAN', channel]))
    for (const channel of channels) await this.#tile38.unsubscribe(channel)
  }
}

/** The commands that create the channels, or renew them. */
function settingsOf({ channels, settings }: Fence): Tile38Command[] {
  return settings.map((words, i) => ['SETCHAN', channels[i]!, 'EX', `${CHANNEL_SECONDS}`, ...words])
}
