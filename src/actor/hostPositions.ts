import type { ActorHost } from './host.ts'
import type { DeviceTable } from './deviceTable.ts'
import { RowPosition } from './rowPosition.ts'
import type { ScopeId } from '../model/scope.ts'
import { LiveAreas, type LiveArea } from '../spatial/liveAreas.ts'
import type { CommittedPositions, LivePosition, PositionObserver, Positions, PositionViewer } from './port.ts'

/** How many rows are read in one turn. Unpacking an idle one takes some microseconds. */
const ROWS_A_TURN = 512

/** The positions of the devices of a host in this process. */
export class HostPositions implements Positions, CommittedPositions {
  readonly #host: ActorHost
  readonly #position = new RowPosition()

  constructor(host: ActorHost) {
    this.#host = host
  }

  get committed(): CommittedPositions {
    return this
  }

  whenCommitted(read: () => void): void {
    this.#host.whenCommitted(read)
  }

  has(handle: number): boolean {
    const { partitions } = this.#host
    const index = handle % partitions.length
    return partitions[index]!.table.exists((handle - index) / partitions.length)
  }

  at(handle: number): LivePosition {
    const { partitions } = this.#host
    const index = handle % partitions.length
    const row = (handle - index) / partitions.length
    return this.#position.at(partitions[index]!.table, row, undefined, handle)
  }

  get observer(): PositionObserver | undefined {
    return this.#host.observer
  }

  set observer(observer: PositionObserver | undefined) {
    this.#host.observer = observer
  }

  /** Reads some rows at a time, so that updates come in between. */
  async look(scope: ScopeId, area: LiveArea, viewer: PositionViewer): Promise<void> {
    const areas = new LiveAreas<Positions>()
    areas.put(this, area)
    const holds = areas.tester(this)
    const position = new RowPosition()
    const { partitions } = this.#host
    const lookInto = (table: DeviceTable, index: number, first: number) => {
      const end = Math.min(table.length, first + ROWS_A_TURN)
      for (let row = first; row < end && !viewer.isEnded; row++) {
        if (table.scope(row) !== scope || !holds(table.latitude(row), table.longitude(row))) continue
        const { deviceId } = table.peek(row)
        if (row === latestOf(table, table.firstOf(scope, deviceId)))
          viewer.found(position.at(table, row, deviceId, row * partitions.length + index))
      }
    }
    for (const [index, { table }] of partitions.entries()) {
      for (let first = 0; first === 0 || first < table.length; first += ROWS_A_TURN) {
        await new Promise((resolve) => setImmediate(resolve))
        await this.#host.read(() => lookInto(table, index, first))
        if (viewer.isEnded) return
        viewer.pause()
      }
    }
  }
}

/** The record of a device that was updated last. If several have the same time, the newest one counts. */
function latestOf(table: DeviceTable, first: number): number {
  let latest = first
  for (let row = table.nextOf(first); row >= 0; row = table.nextOf(row)) {
    const later = table.updatedAt(row) - table.updatedAt(latest)
    if (later > 0 || (later === 0 && table.receivedAt(row) > table.receivedAt(latest))) latest = row
  }
  return latest
}
