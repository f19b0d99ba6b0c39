/** Devices that send at a constant rate to a cluster, and the ledger of what was acknowledged. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Ringfence, type RingfenceStream } from '../../sdk/src/index.ts'

const STREAMS = 4
const TICK_MS = 20
/** Far from all geofences, so that these updates make no events. */
const [SOUTH, WEST] = [-40, -120]
/** Degrees between two devices, and between two updates of a device: more than what the server takes for no movement. */
const APART = 0.01
const STEP = 0.001
const STEPS = 1000
const QUESTIONS_AT_ONCE = 8

/** The counts since the last {@link Fleet.take}. */
export interface Taken {
  readonly acknowledged: number
  /** Updates that were due while too many others waited. They were never sent. */
  readonly skipped: number
  /** Milliseconds from sending an update to its acknowledgement. */
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Each stream has the addresses of all gateways, and moves to the next one when its own ends. */
export class Fleet {
  /** Acknowledged updates. */
  acknowledged = 0
  readonly #devices: number
  readonly #streams: readonly RingfenceStream[]
  readonly #refused: (sentence: string) => void
  /** For each device, the number of its last update that was sent, and of the last that was acknowledged. */
  readonly #sent: Uint32Array
  readonly #ledger: Uint32Array
  readonly #stopped = new AbortController()
  #latencies: number[] = []
  #skipped = 0
  #next = 0
  #running: Promise<void> = Promise.resolve()

  /**
   * @param urls of the gateways
   * @param refused called with a sentence for each update that was refused
   */
  constructor(urls: readonly string[], key: string, devices: number, refused: (sentence: string) => void) {
    this.#devices = devices
    this.#refused = refused
    this.#sent = new Uint32Array(devices)
    this.#ledger = new Uint32Array(devices)
    const client = new Ringfence({ url: urls, key })
    this.#streams = Array.from({ length: STREAMS }, () => client.stream())
  }

  /** @param rate updates per second of all devices */
  start(rate: number): void {
    this.#running = this.#run(rate)
  }

  /** Resolves once everything that was sent is acknowledged. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
    await Promise.all(this.#streams.map((stream) => stream.close()))
  }

  take(): Taken {
    const sorted = this.#latencies.toSorted((a, b) => a - b)
    const skipped = this.#skipped
    this.#latencies = []
    this.#skipped = 0
    const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN
    return { acknowledged: sorted.length, skipped, p50Ms: at(0.5), p99Ms: at(0.99) }
  }

  /**
   * Compares the ledger with where the server has each device: at its last acknowledged update, which after
   * {@link stop} is the last that was sent.
   * @param ask the place of a device: longitude and latitude; undefined if the server does not know it
   * @returns how many devices were compared
   */
  async compare(ask: (deviceId: string) => Promise<readonly number[] | undefined>): Promise<number> {
    let next = 0
    let compared = 0
    const look = async () => {
      for (let n = next++; n < this.#devices; n = next++) {
        const last = this.#ledger[n]!
        if (last !== this.#sent[n])
          this.#refused(`G1 ${nameOf(n)}: ${this.#sent[n]! - last} were not acknowledged`)
        if (last === 0) continue
        const { latitude, longitude } = placeOf(n, last)
        const found = await ask(nameOf(n))
        compared++
        if (found?.join() !== `${longitude},${latitude}`)
          this.#refused(`G1 ${nameOf(n)} is at ${found?.join()}; acknowledged was ${longitude},${latitude}`)
      }
    }
    await Promise.all(Array.from({ length: QUESTIONS_AT_ONCE }, look))
    return compared
  }

  async #run(rate: number): Promise<void> {
    const began = performance.now()
    for (let due = 0; !this.#stopped.signal.aborted; await sleep(TICK_MS)) {
      const target = Math.floor(((performance.now() - began) / 1000) * rate)
      for (; due < target; due++) this.#send()
    }
  }

  #send(): void {
    const n = this.#next++ % this.#devices
    // A device keeps its stream, so its updates stay in order.
    const stream = this.#streams[n % STREAMS]!
    const number = this.#sent[n]! + 1
    if (number - this.#ledger[n]! > 20) {
      this.#skipped++
      return
    }
    this.#sent[n] = number
    const sentAt = performance.now()
    stream.track({ deviceId: nameOf(n), accuracy: 5, ...placeOf(n, number) }).then(
      () => {
        this.acknowledged++
        this.#ledger[n] = number
        this.#latencies.push(performance.now() - sentAt)
      },
      (error: Error) => this.#refused(`${nameOf(n)} was refused an update: ${error.message}`),
    )
  }
}

function nameOf(n: number): string {
  return `fleet-${n}`
}

/** Where a device is at its update of that number, with as many digits as the server keeps. */
function placeOf(n: number, number: number): { readonly latitude: number; readonly longitude: number } {
  return {
    latitude: Number((SOUTH + n * APART * 0.1).toFixed(6)),
    longitude: Number((WEST + (number % STEPS) * STEP).toFixed(6)),
  }
}
