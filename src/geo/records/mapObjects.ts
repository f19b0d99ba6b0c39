/** What an object of OpenStreetMap is on a map, according to its tags. The code is pure. */
import { areaOf } from './objectRecords.ts'
import { cleanName, namesByLanguage, type Language } from './names.ts'
import type { Tags } from './tags.ts'

/** The name of a kind of geo/mapFile, and what the map says about the object. */
export interface MapObject {
  /** The layer, kind, detail if it has one, and shape: `roads major_road primary line`. */
  readonly kind: string
  readonly name?: string | undefined
  readonly names?: ReadonlyMap<Language, string> | undefined
  readonly ref?: string | undefined
  readonly population?: number | undefined
  readonly isLink?: boolean
  readonly isTunnel?: boolean
  readonly isBridge?: boolean
  readonly isOneway?: boolean
}

const REF_LENGTH = 12

const ROADS: Readonly<Record<string, string>> = {
  motorway: 'highway motorway',
  trunk: 'major_road trunk',
  primary: 'major_road primary',
  secondary: 'major_road secondary',
  tertiary: 'major_road tertiary',
  residential: 'minor_road residential',
  living_street: 'minor_road residential',
  unclassified: 'minor_road unclassified',
  road: 'minor_road unclassified',
  busway: 'minor_road service',
  service: 'minor_road service',
  raceway: 'minor_road service',
  pedestrian: 'path pedestrian',
  track: 'path track',
  cycleway: 'path cycleway',
  footway: 'path footway',
  path: 'path footway',
  bridleway: 'path footway',
  steps: 'path steps',
}

const RAILWAYS: Readonly<Record<string, string>> = {
  rail: 'rail',
  light_rail: 'rail',
  narrow_gauge: 'rail',
  monorail: 'rail',
  funicular: 'rail',
  subway: 'subway',
  tram: 'tram',
}
/** Tracks without regular trains, such as sidings. */
const SIDE_TRACKS: ReadonlySet<string> = new Set(['yard', 'siding', 'spur', 'crossover'])

const WATERWAYS: Readonly<Record<string, string>> = {
  river: 'river',
  canal: 'canal',
  stream: 'stream',
  ditch: 'ditch',
  drain: 'ditch',
}

/** The kinds of areas by key and value. */
const AREAS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  natural: {
    water: 'water lake',
    wood: 'landuse forest',
    scrub: 'landuse scrub',
    heath: 'landuse scrub',
    grassland: 'landuse grass',
    wetland: 'landuse wetland',
    beach: 'landuse beach',
    sand: 'landuse beach',
    glacier: 'landuse glacier',
    bare_rock: 'landuse bare_rock',
    scree: 'landuse bare_rock',
  },
  waterway: { riverbank: 'water river', dock: 'water basin' },
  landuse: {
    reservoir: 'water lake',
    basin: 'water basin',
    forest: 'landuse forest',
    residential: 'landuse residential',
    industrial: 'landuse industrial',
    commercial: 'landuse commercial',
    retail: 'landuse commercial',
    grass: 'landuse grass',
    meadow: 'landuse grass',
    village_green: 'landuse park',
    recreation_ground: 'landuse park',
    farmland: 'landuse farmland',
    farm: 'landuse farmland',
    orchard: 'landuse farmland',
    vineyard: 'landuse farmland',
    allotments: 'landuse farmland',
    cemetery: 'landuse cemetery',
    military: 'landuse military',
    railway: 'landuse railway',
    quarry: 'landuse quarry',
    landfill: 'landuse quarry',
  },
  leisure: {
    park: 'landuse park',
    garden: 'landuse park',
    nature_reserve: 'landuse nature_reserve',
    golf_course: 'landuse golf_course',
    pitch: 'landuse pitch',
    track: 'landuse pitch',
    stadium: 'landuse pitch',
    sports_centre: 'landuse park',
    playground: 'landuse playground',
    swimming_pool: 'water swimming_pool',
  },
  amenity: {
    school: 'landuse school',
    kindergarten: 'landuse school',
    college: 'landuse school',
    university: 'landuse school',
    hospital: 'landuse hospital',
    clinic: 'landuse hospital',
    parking: 'landuse parking',
    grave_yard: 'landuse cemetery',
  },
  aeroway: { aerodrome: 'landuse aerodrome', apron: 'landuse pedestrian' },
  boundary: { national_park: 'landuse nature_reserve' },
  place: { square: 'landuse pedestrian' },
}

const SETTLEMENTS: Readonly<Record<string, string>> = {
  city: 'locality city',
  town: 'locality town',
  village: 'locality village',
  hamlet: 'locality hamlet',
  isolated_dwelling: 'locality hamlet',
  borough: 'macrohood',
  suburb: 'macrohood',
  quarter: 'neighbourhood',
  neighbourhood: 'neighbourhood',
  island: 'island',
  islet: 'island',
}

/** A point: a settlement or an island. */
export function mapPointOf(tags: Tags): MapObject | undefined {
  const settlement = valueOf(SETTLEMENTS, tags.get('place'))
  const name = cleanName(tags.get('name'))
  if (settlement === undefined || name === undefined) return undefined
  const population = areaOf(tags)?.population ?? 0
  return {
    kind: `places ${settlement} point`,
    name,
    names: namesByLanguage(tags, name),
    ...(population > 0 && { population: Math.min(population, 2 ** 31) }),
  }
}

/** The map object of a line: a road, a railway, a waterway. */
export function mapLineOf(tags: Tags): MapObject | undefined {
  const highway = tags.get('highway')
  if (highway !== undefined) {
    const road = valueOf(ROADS, highway.replace(/_link$/, ''))
    if (road === undefined || tags.get('area') === 'yes') return undefined
    const oneway = tags.get('oneway')
    return {
      kind: `roads ${road} line`,
      ...labels(tags),
      isLink: highway.endsWith('_link'),
      isOneway: oneway === 'yes' || oneway === '1' || highway === 'motorway',
      ...courses(tags),
    }
  }
  const railway = valueOf(RAILWAYS, tags.get('railway'))
  if (railway !== undefined) {
    const isSide = railway === 'rail' && SIDE_TRACKS.has(tags.get('service') ?? '')
    return { kind: `roads rail ${isSide ? 'service' : railway} line`, ...courses(tags) }
  }
  const waterway = valueOf(WATERWAYS, tags.get('waterway'))
  if (waterway !== undefined)
    return { kind: `water ${waterway} line`, name: cleanName(tags.get('name')), ...courses(tags) }
  const aeroway = tags.get('aeroway')
  if (aeroway === 'runway' || aeroway === 'taxiway') return { kind: `roads aeroway ${aeroway} line` }
  return tags.get('route') === 'ferry' ? { kind: 'roads ferry ferry line', ...labels(tags) } : undefined
}

/**
 * The map object of an area: a building, water, a use of land. Only the name of water is kept, because other areas
 * with names are places.
 */
export function mapAreaOf(tags: Tags): MapObject | undefined {
  const building = tags.get('building')
  if (building !== undefined && building !== 'no') return { kind: 'buildings building area' }
  if (tags.get('highway') === 'pedestrian' || (tags.has('highway') && tags.get('area') === 'yes'))
    return { kind: 'landuse pedestrian area' }
  for (const key in AREAS) {
    const area = valueOf(AREAS[key]!, tags.get(key))
    if (area === undefined) continue
    const isRiver = area === 'water lake' && /^(?:river|canal|stream)$/.test(tags.get('water') ?? '')
    const name = area === 'water lake' && !isRiver ? cleanName(tags.get('name')) : undefined
    return {
      kind: `${isRiver ? 'water river' : area} area`,
      ...(name !== undefined && { name, names: namesByLanguage(tags, name) }),
    }
  }
  return undefined
}

/** Whether a way is a coastline. Land is on its left, water on its right. */
export function isCoastline(tags: Tags): boolean {
  return tags.get('natural') === 'coastline'
}

/** Whether a relation is an area that maps show. */
export function isMapArea(tags: Tags): boolean {
  return tags.get('type') === 'multipolygon' && mapAreaOf(tags) !== undefined
}

function labels(tags: Tags): Pick<MapObject, 'name' | 'ref'> {
  // If there are several numbers, the first one counts. Long texts are not numbers.
  const ref = cleanName(tags.get('ref')?.split(';', 1)[0])
  return {
    name: cleanName(tags.get('name')),
    ref: ref !== undefined && ref.length <= REF_LENGTH ? ref : undefined,
  }
}

function courses(tags: Tags): Pick<MapObject, 'isTunnel' | 'isBridge'> {
  const [tunnel, bridge] = [tags.get('tunnel'), tags.get('bridge')]
  return {
    isTunnel: tunnel !== undefined && tunnel !== 'no',
    isBridge: bridge !== undefined && bridge !== 'no',
  }
}

function valueOf(table: Readonly<Record<string, string>>, value: string | undefined): string | undefined {
  return value !== undefined && Object.hasOwn(table, value) ? table[value] : undefined
}
