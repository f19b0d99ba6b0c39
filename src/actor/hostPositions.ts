import type { ActorHost } from './host.ts'
import type { DeviceTable } from './deviceTable.ts'
import { RowPosition } from './rowPosition.ts'
import type { ScopeId } from '../model/scope.ts'
import { LiveAreas, type LiveArea } from '../spatial/liveAreas.ts'
import type { PositionObserver, Positions, PositionViewer } from './port.ts'

/** How many rows are read in one turn. Unpacking an idle one takes some microseconds. */
const ROWS_A_TURN = 512

/** The positions of the devices of a host in this process. */
export class HostPositions implements Positions {
  readonly #host: ActorHost

  constructor(host: ActorHost) {
    this.#host = host
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
    const lookInto = (table: DeviceTable, first: number) => {
      const end = Math.min(table.length, first + ROWS_A_TURN)
      for (let row = first; row < end && !viewer.isEnded; row++) {
        if (table.scope(row) !== scope || !holds(table.latitude(row), table.longitude(row))) continue
        const { deviceId } = table.peek(row)
        if (row === latestOf(table, table.firstOf(scope, deviceId)))
          viewer.found(position.at(table, row, deviceId))
      }
    }
    for (const { table } of this.#host.partitions) {
      for (let first = 0; first === 0 || first < table.length; first += ROWS_A_TURN) {
        await new Promise((resolve) => setImmediate(resolve))
        await this.#host.read(() => lookInto(table, first))
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
