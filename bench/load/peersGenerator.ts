/**
 * The load of the peers bench, as a separate process: the same moves in the same order and batches for Ringfence and
 * for Tile38, as fast as they are answered or at a given rate, and a client that counts the visits that are reported.
 *
 * Each connection has its own devices, so the moves of a device are in order. Each run sends the same number on each
 * connection.
 *
 * Reads one JSON line per command from its input, {@link PeerCommand}, and writes one line for each: the
 * {@link PeerResult} of a run, otherwise an empty object.
 */
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { UpdateSequence } from './updateSequence.ts'
import {
  sequencesOf,
  openPeer,
  openVisits,
  peerEncoding,
  type Peer,
  type PeerConnection,
  type Visits,
  type WorkloadUpdate,
} from './peerConnections.ts'
import { readUpdates } from './streamFrames.ts'

export interface PeerTarget {
  readonly peer: Peer
  readonly port: number
  /** A secret key of Ringfence. */
  readonly key: string
  readonly connections: number
}

export interface PeerLoad {
  /** Updates per second; 0: without a pause, with {@link MAX_ON_THEIR_WAY} in flight. */
  readonly rate: number
  /** The number of updates on each connection. */
  readonly updatesPerConnection: number
  /** The maximum number of updates in a frame or pipeline. */
  readonly batch: number
}

export type PeerCommand =
  | ({ readonly do: 'open'; readonly session: number } & PeerTarget)
  | ({ readonly do: 'run'; readonly session: number } & PeerLoad)

export interface PeerResult {
  /** All of them were answered. */
  readonly updates: number
  /** The seconds until the last update was answered. */
  readonly seconds: number
  /** CPU time of the generator, which does a part of the work for `search`. */
  readonly cpuSeconds: number
  /** The visits since the session was opened. */
  readonly visits: Visits
}

/** Unanswered updates of all connections together, in a run without a pause. */
const MAX_ON_THEIR_WAY = 4096
/** A run is over when no event has come for this long after its last answer. */
const QUIET_MS = 500
const LOOK_MS = 20
/** If nothing at all was answered for this long, the server has failed. */
const GIVE_UP_MS = 60_000

const { values: options } = parseArgs({
  options: { updates: { type: 'string' }, rounds: { type: 'string' }, devices: { type: 'string' } },
})
const devices = Number(options.devices)
const updates = readUpdates(options.updates!, Number(options.rounds) * devices) as WorkloadUpdate[]
const numbers = new Map(updates.slice(0, devices).map(({ deviceId }, i) => [deviceId, i]))

/** A connection, and what is sent over it. */
class Course {
  readonly sequence: UpdateSequence
  connection!: PeerConnection
  /** Updates of the current run that are still to be sent. */
  left = 0
  batchesOnTheirWay = 0

  constructor(sequence: UpdateSequence) {
    this.sequence = sequence
  }

  send(batch: number): number {
    const taken = this.sequence.take(Math.min(batch, this.left))
    this.left -= taken.devices.length
    this.batchesOnTheirWay++
    this.connection.send(taken)
    return taken.devices.length
  }
}

class Session {
  readonly #courses: readonly Course[]
  readonly #visits: Visits = { entered: 0, exited: 0 }
  readonly #problems: string[] = []
  #onAnswered: ((course: Course) => void) | undefined

  static async open({ peer, port, key, connections }: PeerTarget): Promise<Session> {
    const session = new Session(peer, connections)
    await openVisits(
      peer,
      port,
      key,
      session.#owner(() => {}),
    )
    for (const course of session.#courses) {
      const answered = () => {
        course.batchesOnTheirWay--
        session.#onAnswered?.(course)
      }
      course.connection = await openPeer(peer, port, key, session.#owner(answered))
    }
    return session
  }

  private constructor(peer: Peer, connections: number) {
    const { encode, separator } = peerEncoding(peer)
    const rounds = Array.from({ length: Number(options.rounds) }, (_, i) =>
      sequencesOf(updates.slice(i * devices, (i + 1) * devices), numbers, connections, encode),
    )
    this.#courses = Array.from(
      { length: connections },
      (_, sequence) =>
        new Course(
          new UpdateSequence(
            rounds.map((round) => round[sequence]!),
            separator,
          ),
        ),
    )
  }

  #owner(answered: () => void) {
    return { visits: this.#visits, answered, problem: (text: string) => void this.#problems.push(text) }
  }

  /** @throws Error if an update was refused or a connection closed */
  async run(load: PeerLoad): Promise<PeerResult> {
    for (const course of this.#courses) course.left = load.updatesPerConnection
    const cpu = process.cpuUsage()
    const start = performance.now()
    if (load.rate === 0) this.#withoutPause(load.batch)
    else await this.#atRate(load, start)
    const end = await this.#allAnswered()
    await this.#quiet()
    const { user, system } = process.cpuUsage(cpu)
    return {
      updates: load.updatesPerConnection * this.#courses.length,
      seconds: (end - start) / 1000,
      cpuSeconds: (user + system) / 1e6,
      visits: this.#visits,
    }
  }

  #withoutPause(batch: number): void {
    const window = Math.max(1, Math.floor(MAX_ON_THEIR_WAY / (this.#courses.length * batch)))
    this.#onAnswered = (course) => {
      while (course.left > 0 && course.batchesOnTheirWay < window) course.send(batch)
    }
    for (const course of this.#courses) this.#onAnswered(course)
  }

  async #atRate({ rate, batch, updatesPerConnection }: PeerLoad, start: number): Promise<void> {
    this.#onAnswered = undefined
    const total = updatesPerConnection * this.#courses.length
    for (let sent = 0, turn = 0; sent < total;) {
      this.#check()
      const due = ((performance.now() - start) * rate) / 1000
      for (; sent < Math.min(due, total); turn++) {
        const course = this.#courses[turn % this.#courses.length]!
        if (course.left > 0) sent += course.send(batch)
      }
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  /**
   * Resolves once every update is answered.
   * @returns the time when that happened
   */
  async #allAnswered(): Promise<number> {
    const isDone = () =>
      this.#courses.every(({ left, batchesOnTheirWay }) => left === 0 && batchesOnTheirWay === 0)
    let answeredAt = performance.now()
    const next = this.#onAnswered
    await new Promise<void>((resolve, reject) => {
      const timer = setInterval(() => {
        try {
          this.#check()
          if (performance.now() - answeredAt > GIVE_UP_MS) throw new Error('nothing is answered')
        } catch (error) {
          clearInterval(timer)
          reject(error as Error)
        }
      }, LOOK_MS)
      const look = () => {
        if (!isDone()) return
        clearInterval(timer)
        resolve()
      }
      this.#onAnswered = (course) => {
        answeredAt = performance.now()
        next?.(course)
        look()
      }
      look()
    })
    return answeredAt
  }

  async #quiet(): Promise<void> {
    let seen = -1
    for (let since = performance.now(); performance.now() - since < QUIET_MS;) {
      const { entered, exited } = this.#visits
      if (entered + exited !== seen) since = performance.now()
      seen = entered + exited
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
    this.#check()
  }

  #check(): void {
    if (this.#problems.length > 0) throw new Error(this.#problems[0]!.slice(0, 500))
  }
}

const sessions = new Map<number, Session>()

async function obey(command: PeerCommand): Promise<object> {
  if (command.do === 'run') return sessions.get(command.session)!.run(command)
  sessions.set(command.session, await Session.open(command))
  return {}
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await obey(JSON.parse(line) as PeerCommand)))
}
process.exit(0)
