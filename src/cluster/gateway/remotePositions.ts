import type { ScopeId } from '../../model/scope.ts'
import { Slice } from '../../runtime/slices.ts'
import type { LiveArea } from '../../spatial/liveAreas.ts'
import { askOwners } from './askOwners.ts'
import type { Calls, OpenCall } from '../nats/calls.ts'
import { GIVE_UP_MS } from './requestSequence.ts'
import {
  decodeJson,
  encodeJson,
  INTEREST_MS,
  LOOK_FORMAT,
  type LookAnswer,
  type PositionNews,
} from '../protocol/positionProtocol.ts'
import type { LivePosition, PositionObserver, Positions, PositionViewer } from '../../actor/port.ts'
import { lookSubject, positionsSubject } from '../nats/subjects.ts'

/**
 * The positions of devices that other processes have, for a gateway: while somebody watches, it asks the owners of
 * partitions for movements.
 *
 * Movements and the results of a look may overtake each other, so the result of a look is ignored for a device that
 * has moved in the meantime.
 *
 * Invariants
 * - REMOTE-POSITIONS-1: What the observer was told during a look is newer than what the look finds.
 */
export interface RemotePositionsParts {
  readonly calls: Calls
  /** Identifies this process. */
  readonly gateway: string
  /** How many partitions the store has. */
  readonly partitions: number
  readonly giveUpMs?: number
}

/** The time between two requests that say that positions are still wanted. */
const AGAIN_MS = INTEREST_MS / 3

export class RemotePositions implements Positions {
  readonly #parts: RemotePositionsParts
  /** The running looks. Each collects the devices of its scope that have moved since it began. */
  readonly #looks = new Set<Look>()
  #observer: PositionObserver | undefined
  #interest: { readonly call: OpenCall; readonly timer: NodeJS.Timeout } | undefined
  /** Whether positions were requested with their records. */
  #records = false

  constructor(parts: RemotePositionsParts) {
    this.#parts = parts
  }

  get observer(): PositionObserver | undefined {
    return this.#observer
  }

  set observer(observer: PositionObserver | undefined) {
    this.#observer = observer
    if (observer === undefined) this.stop()
    else if (this.#interest === undefined) this.#interest = this.#ask()
    else if ((observer.wantsRecords ?? false) !== this.#records) this.#send(this.#interest.call)
  }

  /** Stops requesting positions. */
  stop(): void {
    if (this.#interest === undefined) return
    clearInterval(this.#interest.timer)
    this.#interest.call.end()
    this.#interest = undefined
  }

  async look(scope: ScopeId, area: LiveArea, viewer: PositionViewer): Promise<void> {
    const { calls, partitions: count, giveUpMs = GIVE_UP_MS } = this.#parts
    const records = viewer.wantsRecords ?? false
    const look = { scope, records, told: new Set<string>() }
    this.#looks.add(look)
    try {
      await askOwners({
        calls,
        subject: lookSubject,
        partitions: Array.from({ length: count }, (_, partition) => partition),
        giveUpMs,
        format: LOOK_FORMAT,
        encode: (partitions) => encodeJson({ scope, area, partitions, records, inPieces: true }),
        decodeWhole(bytes) {
          const { partitions, found } = decodeJson<LookAnswer>(bytes)
          return { partitions, head: null, items: found }
        },
        take: ({ items }) => this.#show(items, look, viewer),
      })
    } finally {
      this.#looks.delete(look)
    }
  }

  /** Shows the positions that a look has found, in turns with other work. */
  async #show(found: readonly LivePosition[], look: Look, viewer: PositionViewer): Promise<void> {
    const slice = new Slice()
    for (const position of found) {
      if (slice.isOver) {
        viewer.pause()
        await slice.next()
      }
      if (viewer.isEnded || !this.#looks.has(look)) return
      if (!look.told.has(position.deviceId)) viewer.found(position)
    }
    viewer.pause()
  }

  #ask() {
    const call = this.#parts.calls.askAll(positionsSubject, (news) => this.#tell(decodeJson(news)))
    this.#send(call)
    return { call, timer: setInterval(() => this.#send(call), AGAIN_MS) }
  }

  #send(call: OpenCall): void {
    this.#records = this.#observer?.wantsRecords ?? false
    call.send(encodeJson({ gateway: this.#parts.gateway, records: this.#records }))
  }

  #tell({ moved, removed }: PositionNews): void {
    for (const { scope, deviceId, recordId } of removed) {
      for (const look of this.#looks) this.#note(look, scope, deviceId)
      this.#observer?.removed(scope, deviceId, recordId)
    }
    for (const position of moved) {
      // A movement without its record was sent before the look began, so what the look finds is newer.
      for (const look of this.#looks)
        if (!look.records || position.geofenceIds !== undefined)
          this.#note(look, position.scope, position.deviceId)
      this.#observer?.moved(position)
    }
  }

  #note(look: Look, scope: ScopeId, deviceId: string): void {
    if (look.scope === scope) look.told.add(deviceId)
  }
}

interface Look {
  readonly scope: ScopeId
  readonly records: boolean
  readonly told: Set<string>
}
