import type { CopiedPositions } from '../actor/port.ts'
import type { ScopeId } from '../model/scope.ts'
import { textsOf, Tile38Notes } from './tile38Notes.ts'
import { Tile38Share, WriterElsewhere } from './tile38Share.ts'
import { Tile38Unreachable, type Tile38, type Tile38Follower } from './tile38Port.ts'

/** The time between two writes of the same device. */
const WRITE_MS = 1000
/** How many shares are written at a time. Each waits for its own answers. */
const SHARES_AT_ONCE = 8

/** Partitions whose devices this process writes. */
export interface DeviceShare {
  /** A name that is unique among all shares of all processes at the same time. */
  readonly name: string
  readonly partitions: readonly number[]
  readonly positions: CopiedPositions
}

/**
 * The positions of devices in Tile38: the latest position of each, at most one a second, written by the owner of its
 * partition.
 *
 * The obvious way sends every update: a hundred thousand commands a second for what is only queried now and then.
 * Here, a device that has moved ten times since the last write is written once, and an update costs only an entry in
 * a map. After each connection, and for each new partition, all of its devices are written, and those that no longer
 * exist are removed (tile38Share.ts).
 *
 * Owns: when positions are written, and of which partitions. Does not own: who reads them (tile38Positions.ts,
 * tile38Search.ts).
 */
export class Tile38Devices implements Tile38Follower {
  readonly #parts: Tile38DevicesParts
  readonly #shares = new Map<CopiedPositions, Tile38Share>()
  #isWriting = false
  #writing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  readonly #notes: Tile38Notes
  /** Whether Tile38 should have this process's note. */
  #isNoted = false

  constructor(parts: Tile38DevicesParts) {
    this.#parts = parts
    this.#notes = new Tile38Notes(parts.storeId)
  }

  /**
   * How many devices have moved or gone and are not written yet; Infinity if a share of them must be written again.
   */
  get waiting(): number {
    let waiting = 0
    for (const share of this.#shares.values()) waiting += share.waiting
    return waiting
  }

  start(): void {
    this.#follow()
    this.#parts.tile38.follow(this)
    this.#timer = setInterval(() => this.#write(), WRITE_MS)
  }

  /** Writes what is waiting, if possible. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#write()
    await this.#writing
  }

  connected(): void {
    this.#write()
  }

  disconnected(): void {
    this.#isNoted = false
    for (const share of this.#shares.values()) share.forget()
  }

  /** Takes over the partitions that have come, and drops those that have gone. */
  #follow(): void {
    const now = new Map(this.#parts.shares().map((share) => [share.positions, share]))
    for (const [positions, share] of this.#shares) {
      if (now.has(positions)) continue
      share.end()
      this.#shares.delete(positions)
    }
    for (const [positions, { name, partitions }] of now) {
      if (this.#shares.has(positions)) continue
      const share = new Tile38Share({ ...this.#parts, name, of: partitions, positions })
      positions.copier = share
      this.#shares.set(positions, share)
    }
  }

  #write(): void {
    this.#follow()
    if (this.#isWriting || !this.#parts.tile38.isConnected || !this.#parts.isLive()) return
    this.#isWriting = true
    this.#writing = this.#writeAll().finally(() => (this.#isWriting = false))
  }

  async #writeAll(): Promise<void> {
    try {
      await this.#check()
      await this.#writeShares()
      if (this.#parts.isLive()) await this.#note()
    } catch (error) {
      this.disconnected()
      if (!(error instanceof Tile38Unreachable)) this.#parts.troubled(error as Error)
    }
  }

  /**
   * Finds shares that another process has written, and notices a server that was emptied. In both cases, the shares
   * are written again.
   */
  async #check(): Promise<void> {
    const { tile38, writer } = this.#parts
    const [writers, note] = await tile38.send([this.#notes.writers, this.#notes.own(writer)])
    if (this.#isNoted && note === null) this.disconnected()
    const writerOf = textsOf(writers)
    for (const share of this.#shares.values())
      if (share.isWhole && writerOf.get(share.name) !== writer) share.forget()
  }

  /**
   * Writes the note that says which shares are complete. It is repeated with each write, and expires when the process
   * has ended.
   */
  async #note(): Promise<void> {
    const whole = [...this.#shares.values()].filter(({ isWhole }) => isWhole)
    if (whole.length === 0 && !this.#isNoted) return
    const names = whole.map(({ name }) => name)
    const [noted] = await this.#parts.tile38.send([
      this.#notes.setting(this.#parts.writer, names, this.#isNoted),
    ])
    // The server was emptied in the meantime.
    if (noted === null) this.disconnected()
    else this.#isNoted = true
  }

  /** Writes the shares. Complete ones come first, because searches wait for their changes. */
  async #writeShares(): Promise<void> {
    const { tile38, isLive } = this.#parts
    for (;;) {
      const shares = [...this.#shares.values()]
      const anew = shares.filter(({ isWhole }) => !isWhole)
      const now = [...shares.filter(({ isWhole }) => isWhole), ...anew.slice(0, SHARES_AT_ONCE)]
      const writeNext = async () => {
        for (let share = now.shift(); share !== undefined; share = now.shift())
          if (!(await this.#writeShare(share))) return false
        return true
      }
      const areDone = await Promise.all(Array.from({ length: SHARES_AT_ONCE }, writeNext))
      if (anew.length <= SHARES_AT_ONCE || areDone.includes(false) || !tile38.isConnected || !isLive()) return
    }
  }

  /** Writes one share. Returns whether that was possible. */
  async #writeShare(share: Tile38Share): Promise<boolean> {
    try {
      await share.write()
      return true
    } catch (error) {
      share.forget()
      if (!(error instanceof Tile38Unreachable || error instanceof WriterElsewhere))
        this.#parts.troubled(error as Error)
      return false
    }
  }
}

interface Tile38DevicesParts {
  readonly tile38: Tile38
  readonly storeId: string
  /** Identifies this run of the process. */
  readonly writer: string
  /** How many partitions the store has. */
  readonly partitions: number
  /** Returns the present shares. They are the same objects while nothing has changed. */
  readonly shares: () => readonly DeviceShare[]
  /** The scopes that may have devices. */
  readonly scopes: () => Iterable<ScopeId>
  /** Whether the shares certainly belong to this process; see `Ownership.isLive`. */
  readonly isLive: () => boolean
  /** Called for each refusal. The write is tried again. */
  readonly troubled: (error: Error) => void
}
