/** Pictures of places: what is where, to scale. */
import { Way, touch } from '../../../src/geometry/way.ts'
import { arrowhead, box, circle, label, line, path, picture } from './svg.ts'
import { circleAt, confidenceAt, decideTrace, placeAt, polygonOf, type Offset } from './world.ts'

const METERS = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** Discs of an accuracy at several places, in one circle: how confident an entry and an exit there is. */
export function confidence(): string {
  const fence = circleAt(100)
  const parts: string[] = []
  const cases = [
    { of: 'entry', places: [0, 60, 85, 99.2], accuracy: 35, top: 0, text: 'Entry' },
    { of: 'exit', places: [104, 121, 142], accuracy: 35, top: 265, text: 'Exit' },
  ] as const
  for (const { of, places, accuracy, top, text } of cases) {
    parts.push(label(18, top + 28, `${text}, accuracy ${accuracy} m`, 'strong'))
    for (const [i, east] of places.entries()) {
      const left = 15 + i * 192
      const scale = 0.62
      const x = left + 62
      const y = top + 128
      const at: Offset = [east, 0]
      const { distance, coverage } = fence.fact(at, accuracy)
      const level = confidenceAt(fence, at, accuracy, of)
      parts.push(
        circle(x, y, 100 * scale, 'fence'),
        circle(x + east * scale, y, accuracy * scale, `disc${level}`),
        circle(x + east * scale, y, 2.5, 'dot'),
        label(left, top + 212, `confidence ${level}`, `text${level}`),
        label(left, top + 230, `d = ${signed(distance)} m`, 'small'),
      )
      const how =
        of === 'entry' ? `${Math.round(coverage * 100)} % of the disc covered` : exitWords(distance, accuracy)
      parts.push(label(left, top + 246, how, 'small'))
    }
  }
  parts.push(label(600, 328, 'd: distance of the location', 'small'))
  parts.push(label(600, 344, 'from the boundary,', 'small'))
  parts.push(label(600, 360, 'negative inside', 'small'))
  return picture(780, 530, 'Confidence of entries and exits at several places of a circle', parts)
}

function exitWords(distance: number, accuracy: number): string {
  if (distance >= accuracy) return 'd ≥ accuracy'
  return distance >= accuracy / 2 ? 'd ≥ half the accuracy' : 'd < half the accuracy'
}

function signed(distance: number): string {
  return METERS.format(distance).replace('-', '−')
}

/** Confidence at the centre of circles by their radius and the accuracy. */
export function sizes(): string {
  const radii = [10, 25, 50, 100, 200, 500]
  const accuracies = [5, 10, 20, 50, 100, 300]
  const parts = [
    label(20, 28, 'Entry in the middle of a circle', 'strong'),
    label(130, 56, 'accuracy of the location', 'small'),
    label(20, 76, 'radius', 'small'),
  ]
  for (const [i, accuracy] of accuracies.entries())
    parts.push(label(150 + i * 76, 76, `${accuracy} m`, '', 'middle'))
  for (const [row, radius] of radii.entries()) {
    const y = 88 + row * 34
    parts.push(label(20, y + 20, `${radius} m`))
    const fence = circleAt(radius)
    for (const [i, accuracy] of accuracies.entries()) {
      const level = confidenceAt(fence, [0, 0], accuracy, 'entry')
      parts.push(
        box(115 + i * 76, y, 70, 29, `bar${level}`),
        label(150 + i * 76, y + 20, String(level), 'onbar', 'middle'),
      )
    }
  }
  return picture(600, 310, 'Confidence by radius of the geofence and accuracy of the location', parts)
}

/** A walk through a circle, and where it makes events with buffers off and on. */
export function buffers(): string {
  const accuracy = 30
  const fence = circleAt(80)
  const trace = Array.from({ length: 101 }, (_, i) => ({
    second: i * 10,
    at: [-150 + i * 3, 0] as const,
    accuracy,
  }))
  const rows = [
    { text: 'both off', settings: {} },
    { text: 'bufferEntries', settings: { bufferEntries: true } },
    { text: 'bufferExits', settings: { bufferExits: true } },
  ]
  const scale = 1.5
  const x = (east: number) => 355 + east * scale
  const parts = [
    circle(x(0), 190, 80 * scale, 'fence'),
    circle(x(0), 190, (80 + accuracy) * scale, 'outline'),
  ]
  parts.push(
    line(x(-150), 190, x(150), 190, 'way'),
    arrowhead(x(150), 190, 0, 'faintdot'),
    label(x(0), 52, `accuracy ${accuracy} m`, 'small', 'middle'),
    label(x(-150), 182, 'walks', 'small'),
  )
  for (const [i, { text, settings }] of rows.entries()) {
    const y = 400 + i * 34
    const decided = decideTrace(fence, trace, settings)
    const entered = decided.find(({ decision }) => decision.outcome === 'entered')!.at[0]
    const exited = decided.find(({ decision }) => decision.outcome === 'exited')!.at[0]
    parts.push(
      label(20, y + 5, text),
      line(x(-150), y, x(150), y, 'grid'),
      box(x(entered), y - 8, x(exited) - x(entered), 16, 'inside'),
    )
  }
  for (const east of [-110, -80, 80, 110]) parts.push(line(x(east), 190, x(east), 482, 'dashed'))
  parts.push(label(x(0), 380, 'inside, as the events say', 'small', 'middle'))
  return picture(620, 490, 'Where a walk through a circle enters and leaves with buffers off and on', parts)
}

/** Two updates on either side of geofences, and the points in between at which they were crossed. */
export function crossing(): string {
  const from: Offset = [-330, -70]
  const to: Offset = [330, 90]
  const fences = [
    { fence: circleAt(70, [-120, 10]), draw: (x: X, y: Y) => circle(x(-120), y(10), 70 * SCALE, 'fence') },
    {
      fence: polygonOf(BLOCK),
      draw: (x: X, y: Y) =>
        path(
          BLOCK.map(([e, n]) => [x(e), y(n)] as const),
          'fence',
          true,
        ),
    },
  ]
  const x: X = (east) => 345 + east * SCALE
  const y: Y = (north) => 140 - north * SCALE
  const parts = fences.map(({ draw }) => draw(x, y))
  parts.push(line(x(from[0]), y(from[1]), x(to[0]), y(to[1]), 'dashed'))
  const way = new Way(placeAt(from), placeAt(to))
  for (const { fence } of fences) {
    const at = (share: number): Offset => [
      from[0] + share * (to[0] - from[0]),
      from[1] + share * (to[1] - from[1]),
    ]
    const touched = touch(way.lengthMeters, (share) => fence.distance(at(share)))!
    for (const [share, word] of [
      [touched.first, 'entered'],
      [touched.last, 'exited'],
    ] as const) {
      const [east, north] = at(share)
      const second = Math.round(share * 60)
      parts.push(
        circle(x(east), y(north), 4.5, 'disc1'),
        label(x(east), y(north) + (word === 'entered' ? 24 : -24), word, 'text1', 'middle'),
        label(
          x(east),
          y(north) + (word === 'entered' ? 38 : -10),
          `0:${String(second).padStart(2, '0')}`,
          'small',
          'middle',
        ),
      )
    }
  }
  for (const [offset, word, time] of [
    [from, 'update', '0:00'],
    [to, 'next update', '1:00'],
  ] as const) {
    const anchor = offset === from ? 'start' : 'end'
    parts.push(
      circle(x(offset[0]), y(offset[1]), 5, 'dot'),
      label(x(offset[0]), y(offset[1]) - 26, word, '', anchor),
      label(x(offset[0]), y(offset[1]) - 11, time, 'small', anchor),
    )
  }
  return picture(
    690,
    290,
    'A circle and a polygon between two updates, and where the way between them crosses them',
    parts,
  )
}

type X = (east: number) => number
type Y = (north: number) => number
const SCALE = 0.95
const BLOCK: readonly Offset[] = [
  [60, -40],
  [190, -60],
  [210, 100],
  [90, 120],
]

/** A circle and a polygon, with what a definition gives of each. */
export function shapes(): string {
  const ring: readonly Offset[] = [
    [-110, -60],
    [60, -80],
    [105, 15],
    [20, 20],
    [10, 85],
    [-90, 70],
  ]
  const points = ring.map(([east, north]) => [500 + east, 145 - north] as const)
  const parts = [
    circle(150, 145, 85, 'fence'),
    circle(150, 145, 3, 'dot'),
    line(150, 145, 235, 145, 'way'),
    label(160, 136, 'radius, in metres'),
    label(150, 168, '[longitude, latitude]', 'small', 'middle'),
    label(150, 262, 'circle', 'strong', 'middle'),
    path(points, 'fence', true),
    label(500, 262, 'polygon', 'strong', 'middle'),
  ]
  for (const [i, [px, py]] of points.entries()) {
    const right = px > 500
    parts.push(circle(px, py, 3, 'dot'))
    parts.push(
      label(
        px + (right ? 8 : -8),
        py + (py > 145 ? 16 : -6),
        i === 0 ? '0 and 6' : String(i),
        'small',
        right ? 'start' : 'end',
      ),
    )
  }
  return picture(
    690,
    285,
    'A circle is a centre and a radius; a polygon is a closed ring of positions',
    parts,
  )
}

/** Beacons around a device: those that it is told of, and the one that it ranges. */
export function beacons(): string {
  const scale = 0.14
  const x = (east: number) => 175 + east * scale
  const y = (north: number) => 165 - north * scale
  const parts = [
    circle(x(0), y(0), 1000 * scale, 'outline'),
    label(x(0), y(1000) - 6, '1 km', 'small', 'middle'),
    circle(x(0), y(0), 4, 'dot'),
  ]
  for (const [east, north, known] of [
    [150, 90, true],
    [420, 330, true],
    [-560, 260, true],
    [-250, -640, true],
    [930, -720, false],
    [-980, -700, false],
  ] as const)
    parts.push(circle(x(east), y(north), 5, known ? 'beacon' : 'bar0'))
  parts.push(label(20, 350, 'nearbyBeacons: those within 1 km, nearest first', 'small'))

  const cx = 520
  const cy = 165
  const meters = 0.8
  parts.push(
    circle(cx, cy, 100 * meters, 'outline'),
    circle(cx, cy, 5, 'beacon'),
    label(cx, cy - 88, '100 m', 'small', 'middle'),
    circle(cx + 40 * meters, cy + 20 * meters, 20 * meters, 'disc3'),
    circle(cx + 40 * meters, cy + 20 * meters, 2.5, 'dot'),
    label(cx + 40 * meters, cy + 60 * meters, 'ranged: inside', 'text3', 'middle'),
    circle(cx + 150 * meters, cy - 30 * meters, 20 * meters, 'disc0'),
    circle(cx + 150 * meters, cy - 30 * meters, 2.5, 'dot'),
    label(cx + 150 * meters, cy - 62 * meters, 'no array, too far', 'small', 'middle'),
    label(cx + 150 * meters, cy + 6 * meters, 'exited', 'text1', 'middle'),
    label(400, 350, 'left unranged beyond 100 m + accuracy', 'small'),
  )
  return picture(720, 370, 'Which beacons a device is told of, and when it has left one', parts)
}
