import { entryConfidence, exitConfidence, type Confidence } from '../../../src/geometry/confidence.ts'
import type { LngLat } from './geometry.ts'

/**
 * What a fix would mean for the area that is being drawn, for drawing: plane geometry around the area, and coverage by
 * samples. The server measures exactly.
 */

const METERS_PER_DEGREE = 111_195
/** The number of samples of a disc; each stands for the same area. */
const SAMPLES = 220
/** The number of cells on the longer side of the picture of confidences. */
const CELLS = 34
/** The largest product of corners and cells that is worth waiting for; beyond it the picture is coarser. */
const MOST_WORK = 3_000_000

type Point = readonly [x: number, y: number]

/** What the server would say of an update here. */
export interface GhostVerdict {
  /** Metres to the boundary, negative inside. */
  readonly distance: number
  /** The share of the accuracy disc that is covered. */
  readonly coverage: number
  readonly isInside: boolean
  /** The confidence of an entry if it is inside, else of an exit. */
  readonly confidence: Confidence
}

/** A square of the picture: an entry from there would have this confidence. */
export interface ConfidenceCell {
  readonly ring: readonly LngLat[]
  readonly confidence: Confidence
}

/**
 * Judges one fix.
 * @param ring closed
 */
export function judgeFix(ring: readonly LngLat[], at: LngLat, accuracy: number): GhostVerdict {
  const plane = new Plane(ring)
  const point = plane.to(at)
  const distance = plane.distance(point)
  const coverage = plane.coverage(point, accuracy, distance, SAMPLES)
  const isInside = distance <= 0
  const confidence = isInside
    ? entryConfidence(distance, coverage, accuracy)
    : exitConfidence(distance, accuracy)
  return { distance, coverage, isInside, confidence }
}

/** Where a fix of this accuracy gives which confidence: squares over the area and around it. */
export function confidenceCells(ring: readonly LngLat[], accuracy: number): ConfidenceCell[] {
  const plane = new Plane(ring)
  const [west, south, east, north] = plane.box(accuracy * 1.1)
  const cells = Math.max(10, Math.min(CELLS, Math.floor(Math.sqrt(MOST_WORK / (ring.length * 60)))))
  const side = Math.max(east - west, north - south) / cells
  const found: ConfidenceCell[] = []
  for (let y = south; y < north; y += side)
    for (let x = west; x < east; x += side) {
      const center: Point = [x + side / 2, y + side / 2]
      const distance = plane.distance(center)
      // Half of a disc is covered only if its centre is inside or nearly so.
      if (distance > accuracy) continue
      const coverage = distance <= -accuracy ? 1 : plane.coverage(center, accuracy, distance, 40)
      const corners: Point[] = [
        [x, y],
        [x + side, y],
        [x + side, y + side],
        [x, y + side],
        [x, y],
      ]
      found.push({
        ring: corners.map((corner) => plane.from(corner)),
        confidence: entryConfidence(distance, coverage, accuracy),
      })
    }
  return found
}

/** A plane in metres around the middle of a ring. */
class Plane {
  readonly #points: readonly Point[]
  readonly #origin: LngLat
  readonly #cosine: number

  constructor(ring: readonly LngLat[]) {
    const longitudes = ring.map(([longitude]) => longitude)
    const latitudes = ring.map(([, latitude]) => latitude)
    this.#origin = [middle(longitudes), middle(latitudes)]
    this.#cosine = Math.max(0.01, Math.cos((this.#origin[1] * Math.PI) / 180))
    this.#points = ring.map((corner) => this.to(corner))
  }

  to([longitude, latitude]: LngLat): Point {
    return [
      (longitude - this.#origin[0]) * METERS_PER_DEGREE * this.#cosine,
      (latitude - this.#origin[1]) * METERS_PER_DEGREE,
    ]
  }

  from([x, y]: Point): LngLat {
    return [this.#origin[0] + x / (METERS_PER_DEGREE * this.#cosine), this.#origin[1] + y / METERS_PER_DEGREE]
  }

  box(margin: number): readonly [number, number, number, number] {
    const xs = this.#points.map(([x]) => x)
    const ys = this.#points.map(([, y]) => y)
    return [
      Math.min(...xs) - margin,
      Math.min(...ys) - margin,
      Math.max(...xs) + margin,
      Math.max(...ys) + margin,
    ]
  }

  /** Metres to the boundary, negative inside. */
  distance(point: Point): number {
    let least = Infinity
    for (let i = 1; i < this.#points.length; i++)
      least = Math.min(least, segmentDistance(point, this.#points[i - 1]!, this.#points[i]!))
    return this.#contains(point) ? -least : least
  }

  coverage([x, y]: Point, accuracy: number, distance: number, samples: number): number {
    if (distance <= -accuracy) return 1
    if (distance >= accuracy) return 0
    let inside = 0
    for (let i = 0; i < samples; i++) {
      // The samples lie on a spiral of the golden angle, so that each stands for the same area.
      const radius = accuracy * Math.sqrt((i + 0.5) / samples)
      const angle = i * 2.399963
      if (this.#contains([x + radius * Math.cos(angle), y + radius * Math.sin(angle)])) inside++
    }
    return inside / samples
  }

  #contains([x, y]: Point): boolean {
    let isInside = false
    for (let i = 1; i < this.#points.length; i++) {
      const [ax, ay] = this.#points[i - 1]!
      const [bx, by] = this.#points[i]!
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) isInside = !isInside
    }
    return isInside
  }
}

function segmentDistance([x, y]: Point, [ax, ay]: Point, [bx, by]: Point): number {
  const [dx, dy] = [bx - ax, by - ay]
  const length2 = dx * dx + dy * dy
  const share = length2 === 0 ? 0 : Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / length2))
  return Math.hypot(x - ax - share * dx, y - ay - share * dy)
}

function middle(values: readonly number[]): number {
  return (Math.min(...values) + Math.max(...values)) / 2
}
