/**
 * Points with codes, sorted into the squares of a grid, so that the nearest one is found among few. The code is pure.
 */
export interface CodedPoints {
  readonly codes: readonly string[]
  /** The grid: its south-west corner and the size of a square in degrees, and the number of squares. */
  readonly west: number
  readonly south: number
  readonly square: number
  readonly columns: number
  readonly rows: number
  /** For each square, row by row, the index of its first point. There is one more value at the end. */
  readonly starts: Uint32Array
  /** For each square, the index of the code that all its points have, or {@link NO_CODE} or {@link SEVERAL_CODES}. */
  readonly codeOf: Uint16Array
  /** Coordinates in {@link UNITS} per degree, the precision of the data. */
  readonly x: Int32Array
  readonly y: Int32Array
  /** The index of each point's code. */
  readonly coded: Uint16Array
}

const UNITS = 1e7
const NO_CODE = 0xffff
const SEVERAL_CODES = 0xfffe

/** The code that is nearest to a point. */
export interface NearestCode {
  readonly code: string
  readonly meters: number
  /** Everything with another code is at least this far away. */
  readonly otherMeters: number
}

interface Scale {
  readonly x: number
  readonly y: number
}

/** The approximate number of squares in each direction. */
const SQUARES = 24

/**
 * Sorts points into squares.
 * @param points each has a code; of several at one position, the first one counts
 * @param bounds contain all of them
 */
export function sortPoints(
  points: readonly { readonly x: number; readonly y: number; readonly code: string }[],
  { west, south, east, north }: { west: number; south: number; east: number; north: number },
): CodedPoints {
  const square = Math.max(east - west, north - south) / SQUARES
  const columns = Math.max(1, Math.ceil((east - west) / square))
  const rows = Math.max(1, Math.ceil((north - south) / square))
  const squareAt = (x: number, y: number): number => {
    const column = Math.min(columns - 1, Math.max(0, Math.floor((x - west) / square)))
    return Math.min(rows - 1, Math.max(0, Math.floor((y - south) / square))) * columns + column
  }
  const starts = new Uint32Array(columns * rows + 1)
  for (const { x, y } of points) starts[squareAt(x, y) + 1]!++
  for (let i = 0; i < columns * rows; i++) starts[i + 1]! += starts[i]!
  const next = starts.slice()
  const places = new Map<string, number>()
  const codeOf = new Uint16Array(columns * rows).fill(NO_CODE)
  const sorted = {
    x: new Int32Array(points.length),
    y: new Int32Array(points.length),
    coded: new Uint16Array(points.length),
  }
  for (const { x, y, code } of points) {
    let place = places.get(code)
    if (place === undefined) places.set(code, (place = places.size))
    const number = squareAt(x, y)
    const at = next[number]!++
    sorted.x[at] = Math.round(x * UNITS)
    sorted.y[at] = Math.round(y * UNITS)
    sorted.coded[at] = place
    codeOf[number] = codeOf[number] === NO_CODE || codeOf[number] === place ? place : SEVERAL_CODES
  }
  return { codes: [...places.keys()], west, south, square, columns, rows, starts, codeOf, ...sorted }
}

/**
 * The code of the nearest point within a distance, and how far away other codes are. It looks at squares in rings
 * around the point.
 * @param otherMeters how far beyond the nearest point to look for other codes
 */
export function nearestCode(
  points: CodedPoints,
  x: number,
  y: number,
  scale: Scale,
  maxMeters: number,
  otherMeters: number,
): NearestCode | undefined {
  const { west, south, square, columns, rows, codes } = points
  const column = Math.floor((x - west) / square)
  const row = Math.floor((y - south) / square)
  const ringMeters = square * Math.min(scale.x, scale.y)
  const last = Math.max(column, columns - 1 - column, row, rows - 1 - row)
  nearest.place = -1
  nearest.least = maxMeters * maxMeters
  nearest.other = Infinity
  let looked = Infinity
  for (let ring = 0; ring <= last; ring++) {
    // Everything in this ring and beyond is at least this far away.
    const beyond = (ring - 1) * ringMeters
    if (beyond > 0) {
      const isFound = nearest.place >= 0
      const need = isFound
        ? Math.min(Math.sqrt(nearest.least) + otherMeters, Math.sqrt(nearest.other))
        : maxMeters
      if (beyond > need) {
        looked = beyond
        break
      }
    }
    // Squares that are too far away for a nearer point matter only if they have other codes.
    const known =
      nearest.place >= 0 && beyond > 0 && beyond * beyond > nearest.least ? nearest.place : NO_CODE
    lookIntoRing(points, x, y, scale, column, row, ring, known)
  }
  if (nearest.place < 0) return undefined
  return {
    code: codes[nearest.place]!,
    meters: Math.sqrt(nearest.least),
    otherMeters: Math.min(Math.sqrt(nearest.other), looked),
  }
}

/** What the rings so far contained. Distances are squared. */
const nearest = { place: -1, least: 0, other: 0 }

function lookIntoRing(
  points: CodedPoints,
  x: number,
  y: number,
  scale: Scale,
  column: number,
  row: number,
  ring: number,
  known: number,
): void {
  const { columns, rows, codeOf } = points
  for (let r = Math.max(0, row - ring); r <= Math.min(rows - 1, row + ring); r++) {
    const isEnd = r === row - ring || r === row + ring
    const step = isEnd || ring === 0 ? 1 : 2 * ring
    for (let c = column - ring; c <= column + ring; c += step) {
      if (c < 0 || c >= columns) continue
      const code = codeOf[r * columns + c]!
      if (code !== NO_CODE && code !== known) lookInto(points, x, y, scale, r * columns + c)
    }
  }
}

function lookInto(
  { starts, x: xs, y: ys, coded }: CodedPoints,
  x: number,
  y: number,
  scale: Scale,
  square: number,
) {
  const end = starts[square + 1]!
  for (let i = starts[square]!; i < end; i++) {
    const dx = (xs[i]! / UNITS - x) * scale.x
    const dy = (ys[i]! / UNITS - y) * scale.y
    const distance = dx * dx + dy * dy
    const place = coded[i]!
    if (place === nearest.place) {
      if (distance < nearest.least) nearest.least = distance
    } else if (distance < nearest.least || (nearest.place < 0 && distance === nearest.least)) {
      if (nearest.place >= 0) nearest.other = nearest.least
      nearest.least = distance
      nearest.place = place
    } else if (distance < nearest.other) nearest.other = distance
  }
}
