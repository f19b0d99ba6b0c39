import type { LngLat } from './geometry.ts'
import type { Mark } from './overlay.ts'

/** A tile of the map, with how many devices are in it. */
export interface DensityCell {
  readonly x: number
  readonly y: number
  readonly count: number
}

/** The zoom of cells that are about 60 pixels wide on a map of this zoom. */
export function cellZoom(zoom: number): number {
  return Math.max(0, Math.min(20, Math.floor(zoom) + 3))
}

/** A disc in each cell, larger and stronger with more devices. */
export function densityMarks(cells: readonly DensityCell[], zoom: number): Mark[] {
  const most = Math.max(1, ...cells.map(({ count }) => count))
  return cells.map(({ x, y, count }): Mark => ({
    shape: 'point',
    color: count * 4 > most ? 'accent' : 'device',
    at: centerOf(x, y, zoom),
    sign: countWord(count),
  }))
}

function centerOf(x: number, y: number, zoom: number): LngLat {
  const side = 2 ** zoom
  const north = Math.PI * (1 - (2 * (y + 0.5)) / side)
  return [((x + 0.5) / side) * 360 - 180, (Math.atan(Math.sinh(north)) * 180) / Math.PI]
}

/** A count in few characters: `812`, `1.2k`, `48k`. */
function countWord(count: number): string {
  if (count < 1000) return String(count)
  return count < 10_000 ? `${(count / 1000).toFixed(1)}k` : `${Math.round(count / 1000)}k`
}
