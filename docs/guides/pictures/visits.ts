/** Pictures of visits and borders, from the rules by which the engine decides them. */
import { NO_PLACES, type Place } from '../../../src/model/place.ts'
import { regionCodes } from '../../../src/model/region.ts'
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts'
import { PLAIN_OFFSETS } from '../../../src/model/zoneOffsets.ts'
import { NO_ATLAS, type Atlas, type PlaceNear, type PlacesHere } from '../../../src/rules/atlas.ts'
import { circumstancesOf, type Circumstances } from '../../../src/rules/circumstances.ts'
import { NO_STATE } from '../../../src/rules/deviceState.ts'
import type { Situation } from '../../../src/rules/evaluator.ts'
import { CANDIDATE_METERS, candidatesAmong, LEAVE_METERS } from '../../../src/rules/placeOrder.ts'
import { MOST_NEEDED, stepPlaces } from '../../../src/rules/placeStep.ts'
import { RegionEvaluator } from '../../../src/rules/regions.ts'
import { arrowhead, circle, label, line, path, picture } from './svg.ts'
import { offsetOf, placeAt, type Offset } from './world.ts'

const SETTINGS = { ...DEFAULT_SETTINGS, places: true, regions: true }
const PLACE_RADIUS = 30

interface Shop {
  readonly name: string
  readonly at: Offset
}
const CAFE: Shop = { name: 'Café', at: [0, 0] }
const BAKERY: Shop = { name: 'Bakery', at: [78, 48] }

interface Stop {
  readonly at: Offset
  readonly stopped: boolean
  readonly text: string
  /** How far below it the text is, in pixels. */
  readonly below: number
}
const WALK: readonly Stop[] = [
  { at: [-175, -34], stopped: false, text: '', below: 0 },
  { at: [-75, -26], stopped: false, text: 'walks by: no visit', below: -14 },
  { at: [-6, -6], stopped: true, text: 'stops', below: 56 },
  { at: [66, -22], stopped: false, text: 'still in it', below: -14 },
  { at: [126, -26], stopped: false, text: 'still, for want of another', below: 24 },
  { at: [195, -34], stopped: false, text: '', below: 46 },
]

/** A walk into a café and on: where a visit begins, lasts and ends. */
export function visit(): string {
  const scale = 1.45
  const x = (east: number) => 335 + east * scale
  const y = (north: number) => 245 - north * scale
  const parts = [
    circle(x(0), y(0), (PLACE_RADIUS + LEAVE_METERS) * scale, 'outline'),
    circle(x(0), y(0), (PLACE_RADIUS + CANDIDATE_METERS) * scale, 'outline'),
  ]
  for (const { name, at } of [CAFE, BAKERY])
    parts.push(
      circle(x(at[0]), y(at[1]), PLACE_RADIUS * scale, 'fence'),
      label(x(at[0]), y(at[1] + 12), name, 'strong', 'middle'),
    )
  for (const meters of [CANDIDATE_METERS, LEAVE_METERS])
    parts.push(label(x(0), y(PLACE_RADIUS + meters) + 15, `${meters} m`, 'small', 'middle'))
  const points = WALK.map(({ at }) => [x(at[0]), y(at[1])] as const)
  parts.push(path(points, 'way'))
  let places = NO_PLACES
  for (const [i, { at, stopped, text, below: pixels }] of WALK.entries()) {
    const now = circumstances(i * 60_000, 10, stopped)
    const near = [CAFE, BAKERY].map((shop) => nearOf(shop, at))
    const here: PlacesHere = { isCovered: true, near, restMeters: 20_000 }
    const candidates = candidatesAmong(here, SETTINGS.placeFilters, now.accuracy, MOST_NEEDED)
    const stayAt = near.find(({ place }) => place.id === places.stay?.place.id)?.meters
    const step = stepPlaces(places, { here, candidates, stayAt }, now)
    places = step.places
    const isIn = places.stay !== undefined
    parts.push(circle(x(at[0]), y(at[1]), 5, isIn ? 'disc3' : 'disc0'), circle(x(at[0]), y(at[1]), 2, 'dot'))
    const below = y(at[1]) + pixels
    parts.push(label(x(at[0]), below, text, 'small', 'middle'))
    for (const { type, confidence, alternatePlaces = [] } of step.transitions) {
      const others = alternatePlaces.map(({ name }) => name).join(', ')
      parts.push(label(x(at[0]), below + 17, type, 'text3', 'middle'))
      parts.push(
        label(
          x(at[0]),
          below + 32,
          `confidence ${confidence}${others === '' ? '' : `, or ${others}`}`,
          'small',
          'middle',
        ),
      )
    }
  }
  const [last, end] = points.slice(-2) as [(typeof points)[0], (typeof points)[0]]
  const angle = (Math.atan2(end[1] - last[1], end[0] - last[0]) * 180) / Math.PI
  parts.push(arrowhead(end[0] + 18, end[1] + 2, angle, 'faintdot'))
  return picture(710, 480, 'A walk into a café and on: where the visit begins, lasts and ends', parts)
}

function nearOf({ name, at }: Shop, from: Offset): PlaceNear {
  const pointMeters = Math.hypot(at[0] - from[0], at[1] - from[1])
  const place: Place = {
    id: name,
    name,
    categories: ['food-beverage'],
    position: [0, 0],
    chain: undefined,
    extentMeters: PLACE_RADIUS,
  }
  const area = Math.PI * PLACE_RADIUS ** 2
  return { place, meters: pointMeters - PLACE_RADIUS, pointMeters, area, isRound: true }
}

function circumstances(time: number, accuracy: number, stopped: boolean): Circumstances {
  return {
    time,
    receivedAt: time,
    accuracy,
    accuracyKnown: true,
    userId: undefined,
    ip: '',
    stopped,
    foreground: false,
    settings: SETTINGS,
    zones: PLAIN_OFFSETS,
  }
}

/** Countries as corners around them, in metres; everything else is the other country. */
const LANDS: readonly { readonly corners: readonly Offset[]; readonly at: Offset; readonly text: string }[] =
  [
    {
      text: 'far from the border',
      at: [50, 0],
      corners: [
        [0, 90],
        [100, 90],
        [100, -90],
        [0, -90],
      ],
    },
    {
      text: 'beside it',
      at: [22, 0],
      corners: [
        [0, 90],
        [100, 90],
        [100, -90],
        [0, -90],
      ],
    },
    {
      text: 'on a tongue of land',
      at: [22, 0],
      corners: [
        [0, 14],
        [100, 14],
        [100, -14],
        [0, -14],
      ],
    },
  ]
const BORDER_ACCURACY = 40

/** Entries of a country, and the four points that give their confidence. */
export function border(): string {
  const parts: string[] = []
  for (const [i, { text, at, corners }] of LANDS.entries()) {
    const x = (east: number) => 65 + i * 222 + east * 1.1
    const y = (north: number) => 150 - north * 1.1
    const isIn = ([east, north]: Offset) => {
      const [[west, top], , [right, bottom]] = corners as [Offset, Offset, Offset]
      return east > west && east < right && north < top && north > bottom
    }
    const level = confidenceOf(at, isIn)
    parts.push(
      path(
        corners.map(([east, north]) => [x(east), y(north)] as const),
        'fence',
        true,
      ),
      label(x(50), 34, text, 'strong', 'middle'),
    )
    for (const [east, north] of [
      [0, 1],
      [1, 0],
      [0, -1],
      [-1, 0],
    ] as const) {
      const point: Offset = [at[0] + east * BORDER_ACCURACY, at[1] + north * BORDER_ACCURACY]
      parts.push(
        line(x(at[0]), y(at[1]), x(point[0]), y(point[1]), 'dashed'),
        circle(x(point[0]), y(point[1]), 5, isIn(point) ? 'disc3' : 'disc0'),
      )
    }
    parts.push(
      circle(x(at[0]), y(at[1]), 4, 'dot'),
      label(x(50), y(-90) + 26, `confidence ${level}`, `text${level}`, 'middle'),
    )
  }
  parts.push(
    label(
      20,
      300,
      'The points north, east, south and west of the location, as far away as its accuracy,',
      'small',
    ),
    label(20, 316, 'in the country (green) and outside of it (grey)', 'small'),
  )
  return picture(690, 335, 'Entries of a country, and the four points that give their confidence', parts)
}

/** The confidence with which the country is entered. */
function confidenceOf([east, north]: Offset, isIn: (at: Offset) => boolean): 1 | 2 | 3 {
  const regionsAt: Atlas['regionsAt'] = (latitude, longitude) => {
    const inside = isIn(offsetOf({ latitude, longitude }))
    return { codes: regionCodes([inside ? 'AA' : 'BB', undefined, undefined, undefined]), clearanceMeters: 0 }
  }
  const evaluator = new RegionEvaluator()
  const atlas: Atlas = { ...NO_ATLAS, regionsAt, region: NO_ATLAS.region }
  const update = {
    ...placeAt([east, north]),
    accuracy: BORDER_ACCURACY,
    stopped: false,
    foreground: false,
    receivedAt: 0,
  } as Situation['update']
  const now = circumstancesOf(update, 0, { settings: SETTINGS, zones: PLAIN_OFFSETS })
  const situation = { update, now, view: { atlas, settings: SETTINGS } } as unknown as Situation
  const facts = evaluator.facts(NO_STATE, situation)
  const { transitions } = evaluator.step(NO_STATE, facts as never, situation)
  return transitions[0]!.confidence as 1 | 2 | 3
}
