import tzLookup from '@photostructure/tz-lookup'
import Type, { type TLiteral, type TUnion } from 'typebox'
import { dateText, parseCoordinates, parseDate, Text } from '../../http/schemas.ts'
import type { PlacedPoint } from '../extract/port.ts'
import type { TravelMode } from '../../model/geofence.ts'
import { PLAIN_OFFSETS } from '../../model/zoneOffsets.ts'
import { badParam } from '../../runtime/errors.ts'
import type { GeometryForm } from './geometryForm.ts'
import type { Costing, CostingOptions, RoutingLocation, RoutingTime } from './valhallaJson.ts'
import type { Units } from './units.ts'

/** The parameters that the routing endpoints share, and what they mean for the engine. */

/**
 * A road that is farther from a point than this is not the intended one. A point in the sea, for instance, has no
 * road.
 */
export const SNAP_METERS = 1000

const COSTINGS: Readonly<Record<TravelMode, Costing>> = {
  car: 'auto',
  truck: 'truck',
  foot: 'pedestrian',
  bike: 'bicycle',
  motorbike: 'motorcycle',
}
const MODES = Object.keys(COSTINGS) as TravelMode[]

const AVOIDABLE = ['tolls', 'highways', 'ferries', 'borderCrossings'] as const
type Avoidable = (typeof AVOIDABLE)[number]

/** Valhalla's name of each language of the interface. */
export const NARRATIVE_LANGUAGES = {
  de: 'de-DE',
  en: 'en-US',
  es: 'es-ES',
  fr: 'fr-FR',
  ja: 'ja-JP',
  ko: 'ko-KR',
  pt: 'pt-PT',
  ru: 'ru-RU',
} as const
export type NarrativeLanguage = keyof typeof NARRATIVE_LANGUAGES

// The schemas of the parameters.

export const ModeText = oneOf(MODES, 'How to travel.')
export const ModesText = Text(256, `How to travel: one or more of ${MODES.join(', ')}, separated by commas.`)
export const UnitsText = Type.Union([Type.Literal('metric'), Type.Literal('imperial')], {
  default: 'imperial',
  description: '`metric`: distances in metres, and their texts in kilometres. `imperial`: feet and miles.',
})
export const AvoidText = Text(
  256,
  `What to avoid if another route exists: one or more of ${AVOIDABLE.join(', ')}, separated by commas.`,
)
export const GeometryText = oneOf<GeometryForm | 'polyline'>(
  ['linestring', 'polyline5', 'polyline6', 'polyline'],
  'The route as GeoJSON, or as a polyline with five or six digits; `polyline` has five.',
)
export const DepartureText = dateText(
  'The time at which the journey starts. Roads that are closed at that time of the week are not used. Without it, closing times are ignored.',
)
export const NarrativeLanguageText = oneOf(
  Object.keys(NARRATIVE_LANGUAGES) as NarrativeLanguage[],
  'Language of all texts.',
)

/** The schema of `latitude,longitude|latitude,longitude|…`, which {@link parseLocations} reads. */
export function LocationsText(description: string) {
  return Type.String({
    maxLength: 65_536,
    description: `\`latitude,longitude\` in degrees, separated by \`|\`. ${description}`,
    examples: ['-34.9059,-56.1913|-34.9121,-56.1637'],
  })
}

/** One of several words. */
function oneOf<T extends string>(values: readonly T[], description: string): TUnion<TLiteral<T>[]> {
  return Type.Union(
    values.map((value) => Type.Literal(value)),
    { description },
  )
}

// The readers of the parameters.

/**
 * Reads points that are separated by `|`.
 * @throws ApiError 400 naming the parameter and the point
 */
export function parseLocations(param: string, text: string): PlacedPoint[] {
  return text.split('|').map((one, i, all) => {
    const { latitude, longitude } = parseCoordinates(param, one, all.length > 1 ? `Number ${i + 1}: ` : '')
    return { param, position: [longitude, latitude] }
  })
}

/**
 * Does the same as {@link parseLocations} for a journey with stops.
 * @throws {ApiError} 400 naming the parameter `locations`, also if there are fewer than two or more than `most`
 */
export function parseStops(text: string, most: number): PlacedPoint[] {
  const points = parseLocations('locations', text)
  if (points.length < 2) throw badParam('locations', 'At least 2 locations, separated by |.')
  if (points.length > most) {
    throw badParam('locations', `At most ${most} locations. These are ${points.length}.`)
  }
  return points
}

/**
 * Reads modes.
 * @throws {ApiError} 400 naming the parameter `modes`
 */
export function parseModes(text: string): TravelMode[] {
  return parseWords('modes', text, MODES)
}

/**
 * Reads what is to be avoided.
 * @throws {ApiError} 400 naming the parameter `avoid`
 */
export function parseAvoid(text: string | undefined): Avoidable[] {
  return text === undefined ? [] : parseWords('avoid', text, AVOIDABLE)
}

/**
 * Reads words separated by commas, without duplicates.
 * @throws ApiError 400 naming the parameter
 */
export function parseWords<T extends string>(param: string, text: string, words: readonly T[]): T[] {
  const found = new Set<T>()
  for (const part of text.split(',')) {
    const word = words.find((one) => one === part.trim())
    if (word === undefined) throw badParam(param, `Must be some of ${words.join(', ')}, separated by commas.`)
    found.add(word)
  }
  return [...found]
}

/** The form of the geometry. `polyline` is the web SDK's name for the form with five digits. */
export function formOf(text: GeometryForm | 'polyline'): GeometryForm {
  return text === 'polyline' ? 'polyline5' : text
}

// What the parameters mean for the engine.

export function costingOf(mode: TravelMode): Costing {
  return COSTINGS[mode]
}

export function locationOf({ position: [lon, lat] }: PlacedPoint): RoutingLocation {
  return { lat, lon, search_cutoff: SNAP_METERS }
}

/** The units of the engine's texts. */
export function textUnits(units: Units): 'kilometers' | 'miles' {
  return units === 'metric' ? 'kilometers' : 'miles'
}

/**
 * When a journey begins, in the engine's form: the local time at its first point.
 * @throws {ApiError} 400 naming the parameter `departureTime`
 */
export function departureOf(
  text: string | number | undefined,
  { position: [longitude, latitude] }: PlacedPoint,
): { readonly date_time?: RoutingTime } {
  if (text === undefined) return {}
  const time = parseDate('departureTime', text)
  // The engine only knows this century.
  if (time < EARLIEST || time >= LATEST) throw badParam('departureTime', 'Must be from 1970 to 9998.')
  const local = new Date(time + PLAIN_OFFSETS.offsetMs(tzLookup(latitude, longitude), time))
  return { date_time: { type: 1, value: local.toISOString().slice(0, 16) } }
}

const EARLIEST = Date.UTC(1970)
const LATEST = Date.UTC(9999)

/** Excludes everything that must be avoided. There is no such rule for borders: crossing one gets the highest cost. */
export function withoutAny(avoid: readonly Avoidable[]): CostingOptions {
  return {
    ...(avoid.includes('tolls') && { exclude_tolls: true }),
    ...(avoid.includes('highways') && { exclude_highways: true }),
    ...(avoid.includes('ferries') && { exclude_ferries: true }),
    ...(avoid.includes('borderCrossings') && { country_crossing_penalty: MOST_SECONDS }),
  }
}

/** Uses the roads that are to be avoided as little as possible. */
export function withLittle(avoid: readonly Avoidable[]): CostingOptions {
  return {
    ...(avoid.includes('tolls') && { use_tolls: 0 }),
    ...(avoid.includes('highways') && { use_highways: 0 }),
    ...(avoid.includes('ferries') && { use_ferry: 0 }),
    ...(avoid.includes('borderCrossings') && { country_crossing_penalty: MOST_SECONDS }),
  }
}

/** The highest penalty that Valhalla accepts, which is twelve hours. */
const MOST_SECONDS = 43_200
