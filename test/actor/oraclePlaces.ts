import { pointDistance } from '../../src/geometry/distance.ts'
import type { Place } from '../../src/model/place.ts'
import type { Settings } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'

/**
 * The places part of oracle.ts: written from docs/spec.md, "Places". It looks at every place for every update. Places
 * are circles, and distances are the facts of the invented world, so no decision is too near to call.
 */

/** What the evaluator sees of an invented world. */
export interface PlaceWorld {
  /** Those that are in the data. */
  readonly present: readonly { readonly place: Place; readonly radius: number }[]
}

export interface PlaceMemory {
  readonly stay: { readonly place: Place; readonly enteredAt: number } | undefined
  /** The first candidate of the last update, and since when it is the first. */
  readonly first: { readonly id: string; readonly since: number } | undefined
  /** Slugs of chains that are near, in the order in which they came near. */
  readonly nearby: readonly string[]
  /** The slug of each visit to a chain, in order. */
  readonly visits: readonly string[]
}

export const NO_MEMORY: PlaceMemory = { stay: undefined, first: undefined, nearby: [], visits: [] }

export interface PlaceEvent {
  readonly type: string
  readonly place: object
  readonly alternatePlaces?: readonly object[]
  readonly confidence: number
  readonly minutes?: number
}

interface Candidate {
  readonly place: Place
  readonly s: number
  readonly d: number
  readonly area: number
}

export function evaluatePlaces(
  world: PlaceWorld,
  before: PlaceMemory,
  update: Update,
  time: number,
  settings: Settings,
): { readonly after: PlaceMemory; readonly events: readonly PlaceEvent[] } {
  const events: PlaceEvent[] = []
  let { stay, first, visits } = before
  const accuracy = Math.min(update.accuracy ?? 0, 50_000)
  const all = world.present.map(({ place, radius }): Candidate => {
    const [longitude, latitude] = place.position
    const d = pointDistance(update.latitude, update.longitude, latitude, longitude)
    return { place, s: d - radius, d, area: Math.PI * radius * radius }
  })
  if (settings.places) visit()
  else stay = first = undefined
  const nearby = chains()
  return { after: { stay, first, nearby, visits }, events }

  function visit(): void {
    const passing = all.filter(({ place, s }) => isWanted(place, settings) && s <= 75 && accuracy <= 200)
    const candidates = passing.toSorted(compare)
    const p = candidates[0]
    const was = stay
    const id = p === undefined || p.place.id === was?.place.id ? undefined : p.place.id
    first = id === undefined ? undefined : first?.id === id ? first : { id, since: time }
    const second = candidates[1]
    const byAccuracy = update.accuracy === undefined ? 1 : accuracy <= 20 ? 3 : accuracy <= 65 ? 2 : 1
    const isAlone = second === undefined || second.s - p!.s >= 20
    const confidence = byAccuracy === 3 && !isAlone ? 2 : byAccuracy
    const waited = first !== undefined && time - first.since >= settings.placeMinimumStaySeconds * 1000
    const isStop = update.stopped || update.foreground || waited
    const rowOne = first !== undefined && isStop && confidence >= settings.minimumConfidence
    const enter = () => {
      const others = candidates.slice(1, 5).map(({ place }) => shown(place))
      const place = shown(p!.place)
      events.push({ type: 'user.entered_place', place, alternatePlaces: others, confidence })
      stay = { place: p!.place, enteredAt: time }
      first = undefined
      if (p!.place.chain !== undefined) visits = [...visits, p!.place.chain.slug]
    }
    const leave = () => {
      const minutes = (time - was!.enteredAt) / 60_000
      events.push({ type: 'user.exited_place', place: shown(was!.place), confidence: byAccuracy, minutes })
      stay = undefined
    }
    if (was === undefined) {
      if (rowOne) enter()
      return
    }
    const own = all.find(({ place }) => place.id === was.place.id)
    if (own === undefined || !isWanted(was.place, settings)) {
      stay = undefined
      return
    }
    if (own.s <= 75) return
    if (own.s <= 125 && !(rowOne && confidence >= 2)) return
    leave()
    if (rowOne) enter()
  }

  function chains(): string[] {
    const radius = settings.nearbyPlaceChainMeters
    const nearest = new Map(
      settings.nearbyPlaceChains.map((slug) => {
        const own = all.filter(({ place }) => place.chain?.slug === slug)
        return [slug, own.toSorted((a, b) => a.d - b.d)[0]]
      }),
    )
    const stays = before.nearby.filter((slug) => (nearest.get(slug)?.d ?? Infinity) <= 1.5 * radius)
    const comes = [...nearest].filter(
      ([slug, one]) => one !== undefined && one.d <= radius && !before.nearby.includes(slug),
    )
    for (const [, one] of comes) {
      const known = one!.d + accuracy <= radius ? 3 : 2
      const confidence = update.accuracy === undefined ? 1 : known
      events.push({ type: 'user.nearby_place_chain', place: shown(one!.place), confidence })
    }
    return [...stays, ...comes.map(([slug]) => slug)]
  }
}

function compare(a: Candidate, b: Candidate): number {
  const keys = ({ place, s, d, area }: Candidate) => [
    Math.max(0, s),
    area,
    place.chain === undefined ? 1 : 0,
    d,
    Number.parseInt(place.id, 16),
  ]
  const others = keys(b)
  return keys(a).reduce((order, key, i) => order || key - others[i]!, 0)
}

function isWanted({ chain, categories }: Place, { placeFilters }: Settings): boolean {
  const isAll = placeFilters.chain.length === 0 && placeFilters.category.length === 0
  const slugs = placeFilters.chain.filter((slug) => slug === chain?.slug)
  return isAll || slugs.length > 0 || placeFilters.category.some((slug) => categories.includes(slug))
}

/** What the user shows of it. */
export function placeMembers({ stay, nearby, visits }: PlaceMemory, settings: Settings): object {
  const latest = [...new Set(visits.toReversed())].slice(0, 20)
  const count = (slug: string) => visits.filter((one) => one === slug).length
  const top = latest.toSorted((a, b) => count(b) - count(a)).slice(0, 5)
  return {
    ...(stay !== undefined && { place: shown(stay.place) }),
    ...(settings.nearbyPlaceChains.length > 0 && { nearbyPlaceChains: nearby.map(chainOf) }),
    topChains: settings.places ? top.map(chainOf) : [],
  }
}

/** As test/actor/randomPlaces.ts names them. */
function chainOf(slug: string): object {
  return { slug, name: slug.toUpperCase() }
}

function shown({ id, name, categories, position, chain }: Place): object {
  return {
    _id: id,
    name,
    categories,
    location: { type: 'Point', coordinates: position },
    ...(chain !== undefined && { chain: chainOf(chain.slug) }),
  }
}
