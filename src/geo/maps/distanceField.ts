/**
 * Signed distance fields: pictures of outlines that clients can draw in any size and colour. A value says how far the
 * middle of its pixel is from the outline. It is 191 on the outline, more inside, and 0 or 255 at eight pixels or more
 * from it. Clients of vector maps expect this format for letters and icons. The code is pure.
 */

/** How many pixels around the outline the picture has. */
export const FIELD_MARGIN = 3
const RADIUS = 8
const CUTOFF = 0.25
/** The distance from an outline, in pixels, at which the value is 0. */
const REACH = RADIUS * (1 - CUTOFF)
/** The number of straight pieces that replace a curve. */
const PIECES = 6

/** A command of a path, as in SVG, with absolute coordinates. */
export interface PathCommand {
  readonly type: string
  readonly x?: number
  readonly y?: number
  readonly x1?: number
  readonly y1?: number
  readonly x2?: number
  readonly y2?: number
}

/** The straight edges of closed outlines: x and y of both ends. */
export type Edges = readonly number[]

/** The edges of a path of the commands M, L, Q, C and Z. */
export function pathEdges(commands: Iterable<PathCommand>): Edges {
  const edges: number[] = []
  let [startX, startY, x, y] = [0, 0, 0, 0]
  const lineTo = (nextX: number, nextY: number): void => {
    edges.push(x, y, nextX, nextY)
    x = nextX
    y = nextY
  }
  for (const command of commands) {
    const { x: endX = 0, y: endY = 0, x1 = 0, y1 = 0, x2 = 0, y2 = 0 } = command
    const [fromX, fromY] = [x, y]
    if (command.type === 'Z' || command.type === 'M') {
      if (x !== startX || y !== startY) lineTo(startX, startY)
      if (command.type === 'Z') continue
      startX = x = endX
      startY = y = endY
    } else if (command.type === 'L') lineTo(endX, endY)
    else {
      const isCubic = command.type === 'C'
      for (let i = 1; i <= PIECES; i++) {
        const t = i / PIECES
        const s = 1 - t
        const at = (a: number, b: number, c: number, d: number): number =>
          isCubic
            ? s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d
            : s * s * a + 2 * s * t * b + t * t * d
        lineTo(at(fromX, x1, x2, endX), at(fromY, y1, y2, endY))
      }
    }
  }
  if (x !== startX || y !== startY) lineTo(startX, startY)
  return edges
}

/**
 * The field of outlines.
 * @param left the x of the left edge of its first column
 * @param top the y of the upper edge of its first row; y grows downwards
 * @returns the values row by row
 */
export function distanceField(
  edges: Edges,
  left: number,
  top: number,
  width: number,
  height: number,
): Uint8Array {
  // Squared distances. Everything beyond the reach has the value 0 or 255 anyway.
  const squares = new Float64Array(width * height).fill(REACH * REACH)
  // The sum of these values from the beginning of a row to a pixel says how often the outlines run around it.
  const crossings = new Int8Array((width + 1) * height)
  for (let i = 0; i < edges.length; i += 4) {
    // Coordinates are relative to the middle of the first pixel.
    const [ax, ay] = [edges[i]! - left - 0.5, edges[i + 1]! - top - 0.5]
    const [bx, by] = [edges[i + 2]! - left - 0.5, edges[i + 3]! - top - 0.5]
    measure(squares, width, height, ax, ay, bx, by)
    const [low, high] = [
      Math.max(0, Math.ceil(Math.min(ay, by))),
      Math.min(height, Math.ceil(Math.max(ay, by))),
    ]
    for (let row = low; row < high; row++) {
      const crossing = Math.ceil(ax + ((row - ay) * (bx - ax)) / (by - ay))
      crossings[row * (width + 1) + Math.min(width, Math.max(0, crossing))]! += ay < by ? 1 : -1
    }
  }
  const field = new Uint8Array(width * height)
  for (let row = 0; row < height; row++) {
    let winding = 0
    for (let column = 0; column < width; column++) {
      winding += crossings[row * (width + 1) + column]!
      const distance = Math.sqrt(squares[row * width + column]!)
      const outside = winding === 0 ? distance : -distance
      field[row * width + column] = Math.min(
        255,
        Math.max(0, Math.round(255 - 255 * (outside / RADIUS + CUTOFF))),
      )
    }
  }
  return field
}

/** Takes an edge into account for all pixels in its reach. */
function measure(
  squares: Float64Array,
  width: number,
  height: number,
  ax: number,
  ay: number,
  bx: number,
  by: number,
): void {
  const [ux, uy] = [bx - ax, by - ay]
  const length = ux * ux + uy * uy
  const first = Math.max(0, Math.ceil(Math.min(ax, bx) - REACH))
  const last = Math.min(width - 1, Math.floor(Math.max(ax, bx) + REACH))
  const bottom = Math.min(height - 1, Math.floor(Math.max(ay, by) + REACH))
  for (let y = Math.max(0, Math.ceil(Math.min(ay, by) - REACH)); y <= bottom; y++) {
    for (let x = first; x <= last; x++) {
      const along = length === 0 ? 0 : ((x - ax) * ux + (y - ay) * uy) / length
      const share = along < 0 ? 0 : along > 1 ? 1 : along
      const [dx, dy] = [ax + ux * share - x, ay + uy * share - y]
      const square = dx * dx + dy * dy
      if (square < squares[y * width + x]!) squares[y * width + x] = square
    }
  }
}
