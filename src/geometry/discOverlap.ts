/**
 * The area that a disc about the origin shares with a polygon, added up piece by piece of its boundary.
 *
 * The usual way (sum over edges of triangle and circular-sector parts) must also follow what lies outside the disc,
 * for the angle it sweeps. By Green's theorem the shared area is ½∮(x dy − y dx) over the pieces inside the disc and
 * the arcs between them; an arc from where the boundary leaves to where it next enters gives ½r²(θ entry − θ exit),
 * up to whole turns. So only pieces that meet the disc count, in any order, and the result is known up to multiples
 * of the disc's area. That is enough, since a share lies between 0 and 1.
 */
const CROSS = 0
const ANGLE = 1
const INSIDE = 2
const CROSSINGS = 3
const sum = new Float64Array(4)

/** Begins a new sum. */
export function resetOverlap(): void {
  sum.fill(0)
}

/**
 * Adds the straight piece from a to b of a boundary with the polygon on its left, in metres. Neighbouring pieces must
 * share exactly the same end point.
 * @param radius2 the disc's radius squared
 */
export function addPiece(ax: number, ay: number, bx: number, by: number, radius2: number): void {
  const aInside = ax * ax + ay * ay <= radius2
  const bInside = bx * bx + by * by <= radius2
  if (aInside && bInside) {
    sum[CROSS] = sum[CROSS]! + ax * by - ay * bx
    sum[INSIDE] = 1
    return
  }
  const dx = bx - ax
  const dy = by - ay
  const a = dx * dx + dy * dy
  const b = ax * dx + ay * dy
  // This finds the distance of the line from the origin by the cross product, which has no cancellation for distant
  // ends.
  const cross = ax * dy - ay * dx
  const root2 = a * radius2 - cross * cross
  if (!(root2 > 0)) return
  const root = Math.sqrt(root2)
  const enter = (-b - root) / a
  const leave = (-b + root) / a
  if (!aInside && !bInside && !(enter > 0 && leave < 1)) return
  let fromX = ax
  let fromY = ay
  let toX = bx
  let toY = by
  if (!aInside) {
    fromX = ax + enter * dx
    fromY = ay + enter * dy
    sum[ANGLE] = sum[ANGLE]! + Math.atan2(fromY, fromX)
    sum[CROSSINGS] = sum[CROSSINGS]! + 1
  }
  if (!bInside) {
    toX = ax + leave * dx
    toY = ay + leave * dy
    sum[ANGLE] = sum[ANGLE]! - Math.atan2(toY, toX)
    sum[CROSSINGS] = sum[CROSSINGS]! + 1
  }
  sum[CROSS] = sum[CROSS]! + fromX * toY - fromY * toX
  sum[INSIDE] = 1
}

/** Adds pieces that lie inside the disc: the sum of ax·by − ay·bx over them. */
export function addInside(cross: number): void {
  sum[CROSS] = sum[CROSS]! + cross
  sum[INSIDE] = 1
}

/** Whether no piece met the disc, so that it lies wholly inside or wholly outside the polygon. */
export function overlapIsUndecided(): boolean {
  return sum[INSIDE] === 0
}

/**
 * The share of the disc that the polygon covers, from all pieces. With crossings it is exact up to whole turns, so a
 * value within 10⁻⁹ of 0 or 1 could be either: NaN.
 */
export function overlapShare(radius2: number): number {
  const share = (sum[CROSS]! + radius2 * sum[ANGLE]!) / (2 * Math.PI * radius2)
  if (sum[CROSSINGS] === 0) return Math.min(1, Math.max(0, share))
  const part = share - Math.floor(share)
  return part < 1e-9 || part > 1 - 1e-9 ? NaN : part
}

/**
 * The share of a disc that another disc covers (circle-circle intersection: E. W. Weisstein, MathWorld).
 * @param radius of the disc that is covered, metres, > 0
 * @param other radius of the covering disc, metres, > 0
 * @param distance of their centres, metres
 */
export function lensShare(radius: number, other: number, distance: number): number {
  if (distance >= radius + other) return 0
  if (distance <= other - radius) return 1
  if (distance <= radius - other) return (other * other) / (radius * radius)
  const r2 = radius * radius
  const o2 = other * other
  const d2 = distance * distance
  const alpha = Math.acos(Math.max(-1, Math.min(1, (d2 + r2 - o2) / (2 * distance * radius))))
  const beta = Math.acos(Math.max(-1, Math.min(1, (d2 + o2 - r2) / (2 * distance * other))))
  // Heron's formula gives the area of the triangle of the centres and a corner of the lens.
  const s1 = radius + other - distance
  const s2 = distance + radius - other
  const s3 = distance - radius + other
  const kite = 0.5 * Math.sqrt(Math.max(0, s1 * s2 * s3 * (distance + radius + other)))
  const area = r2 * alpha + o2 * beta - kite
  return Math.max(0, Math.min(1, area / (Math.PI * r2)))
}
