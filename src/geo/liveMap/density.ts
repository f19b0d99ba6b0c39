import type { Positions } from '../../actor/port.ts'
import type { ScopeId } from '../../model/scope.ts'
import { project, WORLD_BITS } from '../mapFile/grid.ts'

/** West, south, east and north in degrees. West is greater than east if the box crosses the antimeridian. */
export type DensityBox = readonly [west: number, south: number, east: number, north: number]

/** How many devices are in a cell, which is a tile of the map. */
export interface CellCount {
  readonly x: number
  readonly y: number
  readonly count: number
}

/** Counts the devices in a box by cells of a zoom. A device counts where its latest update was. */
export async function densityIn(
  positions: Positions,
  scope: ScopeId,
  [west, south, east, north]: DensityBox,
  zoom: number,
): Promise<CellCount[]> {
  const side = 2 ** (WORLD_BITS - zoom)
  const columns = 2 ** zoom
  const counts = new Map<number, number>()
  const seen = new Set<string>()
  await positions.look(
    scope,
    { kind: 'box', west, south, east, north },
    {
      isEnded: false,
      found({ deviceId, longitude, latitude }) {
        // A partition that changes hands may be asked twice.
        if (seen.has(deviceId)) return
        seen.add(deviceId)
        const [x, y] = project([longitude, latitude])
        const [column, row] = [x, y].map((at) => Math.min(columns - 1, Math.floor(at / side))) as [
          number,
          number,
        ]
        const key = row * columns + column
        counts.set(key, (counts.get(key) ?? 0) + 1)
      },
      pause() {},
    },
  )
  return [...counts].map(([key, count]) => ({ x: key % columns, y: Math.floor(key / columns), count }))
}

/** How many cells of the zoom lie in the box, at most. */
export function cellsIn([west, south, east, north]: DensityBox, zoom: number): number {
  const side = 2 ** (WORLD_BITS - zoom)
  const [left, top] = project([west, north])
  const [right, bottom] = project([west <= east ? east : east + 360, south])
  return ((right - left) / side + 1) * ((bottom - top) / side + 1)
}
