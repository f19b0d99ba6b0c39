/**
 * Removes points from lines and rings, in time proportional to their length whatever their form, because extracts and
 * files may contain any. The code is pure.
 */

/**
 * The line without points that are closer than the tolerance to what is left of it. From each point that stays, the
 * line continues as long as one segment passes all points in between within the tolerance (the sleeve of Zhao and
 * Saalfeld). Its ends stay.
 * @param line x, y, x, y
 * @param tolerance in the units of the line; 0 only removes points that equal the one before
 */
export function simplifyLine(line: ArrayLike<number>, tolerance: number): number[] {
  const points = withoutRepeats(line)
  if (tolerance === 0 || points.length <= 4) return points
  const simple: number[] = []
  for (const at of pointsToKeep(points, tolerance)) simple.push(points[at]!, points[at + 1]!)
  return simple
}

/**
 * Where the points of the simplified line are in the line, as described for {@link simplifyLine}.
 * @param points x, y, x, y; at least two points, and none equals the one before
 * @param tolerance more than 0
 */
export function pointsToKeep(points: ArrayLike<number>, tolerance: number): number[] {
  const kept: number[] = [0]
  let [x, y] = [points[0]!, points[1]!]
  // The directions in which a segment from the last kept point passes all points since then: between right and left.
  let isOpen = true
  let [rightX, rightY, leftX, leftY] = [0, 0, 0, 0]
  let farthest = 0
  for (let i = 2; i < points.length; i += 2) {
    const [dx, dy] = [points[i]! - x, points[i + 1]! - y]
    const length = Math.hypot(dx, dy)
    const isPassed = isOpen || (rightX * dy - rightY * dx >= 0 && dx * leftY - dy * leftX >= 0)
    if (!isPassed || length < farthest - tolerance) {
      // The point before this one is the last that a segment from there can reach.
      x = points[i - 2]!
      y = points[i - 1]!
      kept.push(i - 2)
      isOpen = true
      farthest = 0
      i -= 2
      continue
    }
    farthest = Math.max(farthest, length)
    if (length <= tolerance) continue
    // The tangents from the kept point to the circle of the tolerance around this one.
    const sine = tolerance / length
    const cosine = Math.sqrt(1 - sine * sine)
    const [nowRightX, nowRightY] = [dx * cosine + dy * sine, dy * cosine - dx * sine]
    const [nowLeftX, nowLeftY] = [dx * cosine - dy * sine, dy * cosine + dx * sine]
    if (isOpen || rightX * nowRightY - rightY * nowRightX > 0) [rightX, rightY] = [nowRightX, nowRightY]
    if (isOpen || leftX * nowLeftY - leftY * nowLeftX < 0) [leftX, leftY] = [nowLeftX, nowLeftY]
    isOpen = false
  }
  kept.push(points.length - 2)
  return kept
}

/**
 * The ring with fewer points; empty if nothing is left of it.
 * @param ring x, y, x, y, not closed
 */
export function simplifyRing(ring: ArrayLike<number>, tolerance: number): number[] {
  const closed: number[] = []
  for (let i = 0; i < ring.length; i++) closed.push(ring[i]!)
  closed.push(ring[0]!, ring[1]!)
  const simple = simplifyLine(closed, tolerance)
  simple.length -= 2
  return simple.length < 6 ? [] : simple
}

/** The line without points that equal the one before. */
export function withoutRepeats(line: ArrayLike<number>): number[] {
  let [x, y] = [line[0]!, line[1]!]
  const distinct: number[] = [x, y]
  for (let i = 2; i < line.length; i += 2) {
    if (line[i] === x && line[i + 1] === y) continue
    x = line[i]!
    y = line[i + 1]!
    distinct.push(x, y)
  }
  return distinct
}
