/** Which chain a place belongs to, by the items of name-suggestion-index. Pure. */
import type { Chain } from '../../model/place.ts'
import { fold } from '../text/words.ts'
import type { Tags } from './tags.ts'

/** Where an item is used: codes of countries and regions, features such as `us-il.geojson`, or points. */
export interface LocationSet {
  readonly include?: readonly Location[]
  readonly exclude?: readonly Location[]
}

/** A code or feature, or a point: longitude, latitude, and sometimes a radius. */
export type Location = string | readonly number[]

/** An item of name-suggestion-index, with the tag of its category. */
export interface ChainItem {
  readonly key: string
  readonly value: string
  /** The id, made of the name and a hash: `burgerking-f206b9`. */
  readonly id: string
  readonly displayName: string
  readonly matchNames?: readonly string[]
  readonly locationSet: LocationSet
  readonly tags: Readonly<Record<string, string>>
}

/** Facts to which the items refer. */
export interface ChainFacts {
  /**
   * Whether a location set contains a country.
   * @param country alpha-2
   */
  isUsedIn(locations: LocationSet, country: string): boolean
  /**
   * The domain of a brand's website.
   * @param brandId the brand's id in Wikidata
   */
  domainOf(brandId: string): string | undefined
}

/**
 * Returns the chain of a place.
 * @param countryAt returns the alpha-2 code of its country; called only if the result depends on it
 */
export type ChainOf = (tags: Tags, countryAt: () => string | undefined) => Chain | undefined

/** The items of one tag: by display name, name and brand, and by the other names that they are known by. */
interface ItemsOfTag {
  readonly named: Map<string, ChainItem[]>
  readonly matched: Map<string, ChainItem[]>
}

/** How many values of a tag are read. They are separated by `;`. */
const MAX_VALUES = 8
const HASH = /-[0-9a-f]{6}$/

export class Chains {
  readonly #facts: ChainFacts
  readonly #byBrandId = new Map<string, ChainItem[]>()
  /** Items by the key of their tag, then by its value. */
  readonly #byTag = new Map<string, Map<string, ItemsOfTag>>()
  /** The names of each slug, and how many items have each. */
  readonly #names = new Map<string, Map<string, number>>()

  constructor(items: Iterable<ChainItem>, facts: ChainFacts) {
    this.#facts = facts
    for (const item of items) this.#add(item)
  }

  /**
   * The chain of a place. It is found by the brand's id in Wikidata, or else by brand or name among the items that
   * have its tag and are used in its country.
   */
  readonly of: ChainOf = (tags, countryAt) => {
    const item = this.#byId(tags, countryAt) ?? this.#byName(tags, countryAt)
    if (item === undefined) return undefined
    const brandId = item.tags['brand:wikidata']
    const slug = slugOf(item)
    return {
      slug,
      name: this.#nameOf(slug),
      domain: brandId === undefined ? undefined : this.#facts.domainOf(brandId),
    }
  }

  #add(item: ChainItem): void {
    const { key, value, displayName, tags, matchNames = [] } = item
    const brandId = tags['brand:wikidata']
    if (brandId !== undefined) append(this.#byBrandId, brandId, item)
    const values = this.#byTag.get(key) ?? new Map<string, ItemsOfTag>()
    this.#byTag.set(key, values)
    const items = values.get(value) ?? { named: new Map(), matched: new Map() }
    values.set(value, items)
    const named = [displayName, tags['name'], tags['brand']].map(nameKey)
    for (const name of new Set(named)) append(items.named, name, item)
    for (const name of new Set(matchNames.map(nameKey))) append(items.matched, name, item)
    const names = this.#names.get(slugOf(item)) ?? new Map<string, number>()
    this.#names.set(slugOf(item), names)
    names.set(nameOf(item), (names.get(nameOf(item)) ?? 0) + 1)
  }

  #byId(tags: Tags, countryAt: () => string | undefined): ChainItem | undefined {
    const items = this.#byBrandId.get(tags.get('brand:wikidata') ?? '')
    if (items === undefined || items.length === 1) return items?.[0]
    // A brand may have items for shops, fuel stations and so on in several countries. The one that fits best is taken.
    const here = items.filter(({ key, value }) => valuesOf(tags, key).includes(value))
    return this.#usedIn(here, countryAt) ?? here[0] ?? this.#usedIn(items, countryAt) ?? items[0]
  }

  #byName(tags: Tags, countryAt: () => string | undefined): ChainItem | undefined {
    const texts = [tags.get('brand'), tags.get('name')].map(nameKey).filter((text) => text !== '')
    if (texts.length === 0) return undefined
    const lists = [...this.#byTag].flatMap(([key, values]) =>
      valuesOf(tags, key)
        .map((value) => values.get(value))
        .filter((items) => items !== undefined),
    )
    for (const kind of ['named', 'matched'] as const) {
      for (const text of texts) {
        for (const items of lists) {
          const found = this.#usedIn(items[kind].get(text) ?? [], countryAt)
          if (found !== undefined) return found
        }
      }
    }
    return undefined
  }

  #usedIn(items: readonly ChainItem[], countryAt: () => string | undefined): ChainItem | undefined {
    if (items.length === 0) return undefined
    const country = countryAt()
    return items.find(
      ({ locationSet }) => country !== undefined && this.#facts.isUsedIn(locationSet, country),
    )
  }

  /** The most frequent name of its items, so that a chain has one name. */
  #nameOf(slug: string): string {
    const [[name]] = [...this.#names.get(slug)!].sort(
      ([a, count], [b, other]) => other - count || (a < b ? -1 : 1),
    ) as [[string, number]]
    return name
  }
}

function nameOf({ tags, displayName }: ChainItem): string {
  return tags['brand:en'] ?? tags['brand'] ?? displayName
}

/** The public slug of an item's chain, made of its English name, or else of its id. */
export function slugOf(item: ChainItem): string {
  const slug = nameOf(item)
    .slice(0, MAX_NAME_LENGTH)
    .normalize('NFKD')
    .replaceAll(/[\p{M}'’.]/gu, '')
    .replaceAll('&', 'and')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .replace(/-$/, '')
  return slug === '' ? item.id.replace(HASH, '') : slug
}

/** The longest name in OpenStreetMap. */
const MAX_NAME_LENGTH = 255

function nameKey(name: string | undefined): string {
  return name === undefined ? '' : fold(name.slice(0, MAX_NAME_LENGTH)).replaceAll(' ', '')
}

function valuesOf(tags: Tags, key: string): string[] {
  const text = tags.get(key)
  return text === undefined ? [] : text.split(';', MAX_VALUES).map((value) => value.trim())
}

function append<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const others = map.get(key)
  if (others === undefined) map.set(key, [value])
  else others.push(value)
}
