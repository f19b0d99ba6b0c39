import type { ScopeId } from '../model/scope.ts'
import type { LiveArea } from '../spatial/liveAreas.ts'
import type { PositionObserver, Positions, PositionViewer } from './port.ts'

/** Positions of which somebody is told always, beside whoever watches for a while. */
export class CopiedPositions implements Positions {
  observer: PositionObserver | undefined
  readonly #positions: Positions

  constructor(positions: Positions, always: PositionObserver) {
    this.#positions = positions
    positions.observer = {
      moved: (position) => {
        always.moved(position)
        this.observer?.moved(position)
      },
      removed: (scope, deviceId, recordId) => {
        always.removed(scope, deviceId, recordId)
        this.observer?.removed(scope, deviceId, recordId)
      },
    }
  }

  look(scope: ScopeId, area: LiveArea, viewer: PositionViewer): Promise<void> {
    return this.#positions.look(scope, area, viewer)
  }
}
