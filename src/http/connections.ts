import { readFileSync } from 'node:fs'

/** The number of connections by the text of the peer's address. */
export type Census = ReadonlyMap<string, number>

export interface ConnectionLimits {
  /** How many connections there may be at a time. */
  readonly max: number
  /** How many of them may be connections of one address. */
  readonly maxPerAddress: number
  /** Addresses that have no such limit, for instance proxies. */
  readonly exempt: (peer: string) => boolean
  /** Counts all connections again. Undefined if the system cannot tell. */
  readonly census: () => Census | undefined
  /** Returns milliseconds of a monotonic clock. */
  readonly now: () => number
  /** Called for a refused connection, at most once a minute. */
  readonly refused?: ((refusal: ConnectionRefusal) => void) | undefined
}

/** A connection that was closed at once. */
export interface ConnectionRefusal {
  readonly address: string
  readonly bound: 'all' | 'address'
  /** How many connections there were at that time. */
  readonly open: number
}

/**
 * The time between two counts. The system takes milliseconds to count, so it must not be asked for every connection in
 * a flood.
 */
const CENSUS_PAUSE_MS = 50
/** The pause after a count is this many times its duration, so counting takes at most a twentieth of the time. */
const CENSUS_PAUSE_FACTOR = 19
const TELL_PAUSE_MS = 60_000
/** How many addresses are kept between two counts. */
const MAX_ADDRESSES = 16_384

/**
 * Bounds the connections: each takes a file descriptor, and if these run out, uWebSockets.js tries to accept the next
 * connection again and again without sleeping.
 *
 * The naive way counts each address up and down. But whose connection has gone is not told. So addresses are only
 * counted up, and how many have gone is counted for all together: of an address, at least the difference is open.
 *
 * - Refused is only who is over its bound for certain: by that difference, or by what the system counts afresh.
 * - Between two counts an address may be let go over its bound, by as many connections as have gone, of whomever,
 *   since the last count. That does not add up: each count knows all that are open.
 */
export class Connections {
  readonly #limits: ConnectionLimits
  #open = 0
  #refusals = 0
  /** The connections of each address: those of the last count, plus those that have come since. */
  #perAddress = new Map<string, number>()
  /** Connections that have ended since the last count. */
  #gone = 0
  #countAgainAt = -Infinity
  /** False if the system cannot tell. The sums mean nothing then. */
  #isCountable = true
  #toldAt = -Infinity

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  /** How many connections are open, including a refused one until it is closed. */
  get open(): number {
    return this.#open
  }

  /** How many connections have been refused so far. */
  get refusals(): number {
    return this.#refusals
  }

  /** Counts a new connection. Returns false if there are too many, so that it must be closed. */
  connected(peer: string): boolean {
    this.#open++
    const { max, maxPerAddress, exempt } = this.#limits
    if (this.#open > max) return this.#refuse(peer, 'all')
    if (!this.#isCountable || exempt(peer)) return true
    const count = (this.#perAddress.get(peer) ?? 0) + 1
    this.#perAddress.set(peer, count)
    if (this.#perAddress.size > MAX_ADDRESSES) this.#count()
    if (count <= maxPerAddress || this.#open <= maxPerAddress) return true
    if (count - this.#gone <= maxPerAddress) {
      if (!this.#count() || (this.#perAddress.get(peer) ?? 0) <= maxPerAddress) return true
    }
    return this.#refuse(peer, 'address')
  }

  /** A connection has ended. This is also called for refused ones. */
  disconnected(): void {
    this.#open--
    this.#gone++
    if (this.#open > 0) return
    this.#perAddress.clear()
    this.#gone = 0
  }

  /** Counts again, unless that was done just now. */
  #count(): boolean {
    const { now, census } = this.#limits
    const begunAt = now()
    if (begunAt < this.#countAgainAt) return false
    const counts = census()
    const endedAt = now()
    this.#countAgainAt = endedAt + Math.max(CENSUS_PAUSE_MS, CENSUS_PAUSE_FACTOR * (endedAt - begunAt))
    this.#isCountable = counts !== undefined
    this.#perAddress = new Map(counts)
    this.#gone = 0
    return true
  }

  #refuse(address: string, bound: ConnectionRefusal['bound']): false {
    this.#refusals++
    const now = this.#limits.now()
    if (now - this.#toldAt >= TELL_PAUSE_MS) {
      this.#toldAt = now
      this.#limits.refused?.({ address, bound, open: this.#open })
    }
    return false
  }
}

/** States of a connection that holds one of our descriptors: established, and closed only by the peer. */
const HELD_STATES: ReadonlySet<string> = new Set(['01', '08'])

/**
 * The connections to a local port as listed by Linux; undefined elsewhere.
 * @param textOf the text of an address of 4 or 16 bytes
 */
export function connectionsOf(port: number, textOf: (bytes: ArrayBuffer) => string): Census | undefined {
  const counts = new Map<string, number>()
  try {
    for (const file of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) countFile(file, port, textOf, counts)
  } catch {
    return undefined
  }
  return counts
}

/** The inode of a connection that still waits to be accepted. It is counted once it is accepted. */
const NOT_ACCEPTED = '0'

/** Lines of `slot: address:port address:port state … inode`, the tenth; addresses, ports and states in hexadecimal. */
function countFile(
  file: string,
  port: number,
  textOf: (bytes: ArrayBuffer) => string,
  counts: Map<string, number>,
): void {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  for (const line of readFileSync(file, 'latin1').split('\n')) {
    const [, local, remote, state, , , , , , inode] = line.trim().split(/ +/, 10)
    if (local?.endsWith(suffix) !== true || !HELD_STATES.has(state!) || inode === NOT_ACCEPTED) continue
    const peer = textOf(addressBytes(remote!.slice(0, remote!.indexOf(':'))))
    counts.set(peer, (counts.get(peer) ?? 0) + 1)
  }
}

/**
 * Each four bytes are written as one number in this machine's byte order, which is little-endian wherever Node runs.
 */
function addressBytes(hex: string): ArrayBuffer {
  const bytes = new Uint8Array(hex.length / 2)
  for (let i = 0; i < bytes.length; i++)
    bytes[(i & ~3) + (3 - (i & 3))] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16)
  return bytes.buffer
}
