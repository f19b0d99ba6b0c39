/** Where a map begins that nobody has told another place. Pure. */
import type { BoundingBox } from '../extract/port.ts'
import { project, unproject, WORLD_BITS } from '../mapFile/grid.ts'
import type { MapView } from './port.ts'

/** Most of the land. */
const WORLD_VIEW: MapView = { center: [8, 30], zoom: 1.6 }
/** Nearer than this, a map of a few houses would begin without its surroundings. */
const MAX_ZOOM = 15

/**
 * The view of the largest of these boxes, which then fills a map of 512 pixels; without a box, that of the world. The
 * sample is a small one, so a region that the operator has imported goes before it.
 */
export function firstView(boxes: readonly BoundingBox[]): MapView {
  let [largest, view] = [-1, WORLD_VIEW]
  for (const [west, south, east, north] of boxes) {
    const [left, bottom] = project([west, south])
    const [right, top] = project([east, north])
    const [width, height] = [right - left, bottom - top]
    if (!(width * height > largest)) continue
    largest = width * height
    const zoom = WORLD_BITS - Math.log2(Math.max(width, height, 1))
    const [longitude, latitude] = unproject((left + right) / 2, (top + bottom) / 2)
    view = {
      center: [rounded(longitude, 5), rounded(latitude, 5)],
      zoom: rounded(Math.min(MAX_ZOOM, zoom), 2),
    }
  }
  return view
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
