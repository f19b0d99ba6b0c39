import type { Metadata } from './metadata.ts'
import type { Settings } from './settings.ts'

/** A brand with several places. Chains with the same slug are one. */
export interface Chain {
  /** The slug, such as `burger-king`. */
  readonly slug: string
  readonly name: string
  /** The domain of its website, e.g. `bk.com`. */
  readonly domain: string | undefined
}

/** A chain as an environment sees it. */
export interface ShownChain {
  readonly name: string
  readonly slug: string
  readonly domain?: string
  /** The customer's own id. */
  readonly externalId?: string
  readonly metadata?: Metadata
}

/**
 * A chain as an environment sees it.
 * @param settings those of the environment
 */
export function shownChain(
  { slug, name, domain }: Chain,
  { chainMappings, chainMetadata }: Pick<Settings, 'chainMappings' | 'chainMetadata'>,
): ShownChain {
  return {
    name,
    slug,
    ...(domain !== undefined && { domain }),
    ...(Object.hasOwn(chainMappings, slug) && { externalId: chainMappings[slug]! }),
    ...(Object.hasOwn(chainMetadata, slug) && { metadata: chainMetadata[slug]! }),
  }
}

/** A place that users can visit, as the evaluators see it. */
export interface Place {
  /** 24 hexadecimal digits, which are the public `_id`. */
  readonly id: string
  readonly name: string
  /** The slugs of its categories, the root first. */
  readonly categories: readonly string[]
  /** Longitude and latitude in degrees. */
  readonly position: readonly [longitude: number, latitude: number]
  readonly chain: Chain | undefined
  /** The distance from its point within which all of its area lies, in metres. */
  readonly extentMeters: number
}

/** A place as an environment sees it, in users, events and contexts. */
export interface ShownPlace {
  readonly _id: string
  readonly name: string
  readonly categories: readonly string[]
  readonly location: {
    readonly type: 'Point'
    readonly coordinates: readonly [longitude: number, latitude: number]
  }
  readonly chain?: ShownChain
}

/**
 * A place as an environment sees it.
 * @param settings those of the environment
 */
export function shownPlace(place: Place, settings: ChainSettings): ShownPlace {
  const last = shownBefore.get(place)
  if (last?.settings === settings) return last.shown
  const { id, name, categories, position, chain } = place
  const shown: ShownPlace = {
    _id: id,
    name,
    categories,
    location: { type: 'Point', coordinates: position },
    ...(chain !== undefined && { chain: shownChain(chain, settings) }),
  }
  shownBefore.set(place, { settings, shown })
  return shown
}

type ChainSettings = Pick<Settings, 'chainMappings' | 'chainMetadata'>

/** Each place as it was shown last, and the settings, which an edit replaces. */
const shownBefore = new WeakMap<Place, { readonly settings: ChainSettings; readonly shown: ShownPlace }>()

/** A stay in a place. It contains what is shown of the place, because the place may leave the data in the meantime. */
export interface PlaceStay {
  readonly place: Place
  /** The time t of the update that entered, in epoch milliseconds. */
  readonly enteredAt: number
}

/** A chain that a user has visited. */
export interface ChainVisits {
  readonly chain: Chain
  /** How often one of its places was entered. */
  readonly count: number
}

/** What is known about the places of a user. Immutable. */
export interface PlaceStays {
  readonly stay: PlaceStay | undefined
  /**
   * The place that is first among the candidates, unless the user is in it, and the time t since which it is, in epoch
   * milliseconds.
   */
  readonly first: { readonly id: string; readonly since: number } | undefined
  /** The watched chains that are near. */
  readonly nearby: readonly Chain[]
  /** At most {@link MOST_VISITED} chains, the latest one last. */
  readonly visited: readonly ChainVisits[]
}

/** How many visited chains a user remembers. */
const MOST_VISITED = 20
/** How many of them are shown. */
const MOST_SHOWN = 5

/** The value of a user without any places. */
export const NO_PLACES: PlaceStays = { stay: undefined, first: undefined, nearby: [], visited: [] }

/** The chains after a visit to one of them. */
export function visitedAfter(visited: readonly ChainVisits[], chain: Chain): readonly ChainVisits[] {
  const count = visited.find((one) => one.chain.slug === chain.slug)?.count ?? 0
  const others = visited.filter((one) => one.chain.slug !== chain.slug)
  return [...others.slice(-(MOST_VISITED - 1)), { chain, count: count + 1 }]
}

/** A chain among the most visited ones. */
export interface TopChain {
  readonly name: string
  readonly slug: string
  readonly externalId?: string
}

/** The chains that were visited most often. Of those visited equally often, the latest comes first. */
export function topChains(
  visited: readonly ChainVisits[],
  { chainMappings }: Pick<Settings, 'chainMappings'>,
): TopChain[] {
  return visited
    .toReversed()
    .sort((a, b) => b.count - a.count)
    .slice(0, MOST_SHOWN)
    .map(({ chain: { slug, name } }) => ({
      name,
      slug,
      ...(Object.hasOwn(chainMappings, slug) && { externalId: chainMappings[slug]! }),
    }))
}

/** The stay of a user as it is shown: undefined if places are off, or if the place does not pass the filters any more. */
export function shownStay(
  { stay }: PlaceStays,
  { places, placeFilters }: Pick<Settings, 'places' | 'placeFilters'>,
): PlaceStay | undefined {
  return places && stay !== undefined && passesFilters(stay.place, placeFilters) ? stay : undefined
}

/** Whether a place is among those that an environment wants to know about. */
export function passesFilters(
  { chain, categories }: Pick<Place, 'chain' | 'categories'>,
  filters: Settings['placeFilters'],
): boolean {
  if (filters.chain.length + filters.category.length === 0) return true
  if (chain !== undefined && filters.chain.includes(chain.slug)) return true
  return categories.some((slug) => filters.category.includes(slug))
}
