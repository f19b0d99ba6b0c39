import type { ScopeId } from '../model/scope.ts'
import type { LiveArea } from '../spatial/liveAreas.ts'
import type {
  CommittedPositions,
  CopiedPositions,
  PositionObserver,
  Positions,
  PositionViewer,
} from './port.ts'

/** Makes one object of positions serve two observers. */
export class TwiceObserved implements CopiedPositions {
  observer: PositionObserver | undefined
  copier: PositionObserver | undefined
  readonly #positions: Positions

  constructor(positions: Positions) {
    this.#positions = positions
    positions.observer = {
      moved: (position) => {
        this.copier?.moved(position)
        this.observer?.moved(position)
      },
      removed: (scope, deviceId, recordId) => {
        this.copier?.removed(scope, deviceId, recordId)
        this.observer?.removed(scope, deviceId, recordId)
      },
    }
  }

  get committed(): CommittedPositions | undefined {
    return this.#positions.committed
  }

  look(scope: ScopeId, area: LiveArea, viewer: PositionViewer): Promise<void> {
    return this.#positions.look(scope, area, viewer)
  }
}
