/** Real addresses of a place database, and the ways in which people write them. */
import Database from 'better-sqlite3'
import { UNITS } from '../../src/geo/placeDatabase/schema.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import type { Position } from '../../src/model/geofence.ts'

export interface House {
  readonly number: string
  readonly street: string
  readonly streetId: number
  /** The city that the house's own tags name. */
  readonly city: string | null
  readonly position: Position
}

export interface Street {
  readonly id: number
  readonly name: string
  readonly city: string | null
  readonly position: Position
}

/** Houses with the same street and number within this distance are one answer. */
export const SAME_METERS = 50

/** All houses of a place database. */
export function housesIn(file: string): House[] {
  const database = new Database(file, { readonly: true })
  type Row = Omit<House, 'position'> & { readonly x: number; readonly y: number }
  const rows = database
    .prepare(
      `SELECT number, text AS street, streetId, (SELECT text FROM label WHERE id = city) AS city, x, y
       FROM address JOIN label ON label.id = street`,
    )
    .all() as Row[]
  database.close()
  return rows.map(({ x, y, ...house }) => ({ ...house, position: [x / UNITS, y / UNITS] }))
}

/** All streets of a place database, also those without houses. */
export function streetsIn(file: string): Street[] {
  const database = new Database(file, { readonly: true })
  type Row = Omit<Street, 'position'> & { readonly x: number; readonly y: number }
  const rows = database
    .prepare(
      `SELECT street.id, text AS name, (SELECT text FROM label WHERE id = city) AS city, x, y
       FROM street JOIN label ON label.id = street.name`,
    )
    .all() as Row[]
  database.close()
  return rows.map(({ x, y, ...street }) => ({ ...street, position: [x / UNITS, y / UNITS] }))
}

/** Those of the houses of which the street and number occur once within 50 m. */
export function distinctHouses(houses: readonly House[]): House[] {
  const groups = new Map<string, House[]>()
  for (const house of houses) {
    const key = `${house.number}\n${house.street.toLowerCase()}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [house])
    else group.push(house)
  }
  return [...groups.values()].flatMap((group) =>
    group.every(({ position }) => metersBetween(position, group[0]!.position) <= SAME_METERS)
      ? [group[0]!]
      : [],
  )
}

export function metersBetween([x, y]: Position, [px, py]: Position): number {
  return pointDistance(y, x, py, px)
}

/** How addresses are written in a region. */
export interface Manner {
  /** For houses whose tags name no city: what follows the last comma. */
  readonly city: string
  readonly isNumberFirst: boolean
}

type Spelling = (house: House, manner: Manner, random: () => number) => string | undefined

const joined = ({ number }: House, street: string, isNumberFirst: boolean): string =>
  isNumberFirst ? `${number} ${street}` : `${street} ${number}`

const cityOf = (house: House, { city }: Manner): string => house.city ?? city

const asWritten: Spelling = (house, manner) =>
  `${joined(house, house.street, manner.isNumberFirst)}, ${cityOf(house, manner)}`

export const SPELLINGS: Readonly<Record<string, Spelling>> = {
  'as written': asWritten,
  'in lower case': (house, manner, random) => asWritten(house, manner, random)!.toLowerCase(),
  abbreviated: (house, manner) =>
    `${joined(house, abbreviated(house.street), manner.isNumberFirst)}, ${cityOf(house, manner)}`,
  'without the city': (house, { isNumberFirst }) => joined(house, house.street, isNumberFirst),
  'number at the other end': (house, manner) =>
    `${joined(house, house.street, !manner.isNumberFirst)}, ${cityOf(house, manner)}`,
  'one wrong letter': (house, manner, random) => {
    const street = withWrongLetter(house.street, random)
    return street === undefined
      ? undefined
      : `${joined(house, street, manner.isNumberFirst)}, ${cityOf(house, manner)}`
  },
}

const ABBREVIATIONS: Readonly<Record<string, string>> = {
  Avenida: 'Av',
  General: 'Gral',
  Doctor: 'Dr',
  Coronel: 'Cnel',
  Camino: 'Cno',
  Street: 'St',
  Avenue: 'Ave',
  Boulevard: 'Blvd',
  Road: 'Rd',
}

/** The street with the usual abbreviations of its words. */
export function abbreviated(street: string): string {
  const words = street.split(' ').map((word) => ABBREVIATIONS[word] ?? word)
  return words.join(' ').replace(/strasse$/, 'str')
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'

/** A word of at least five letters with one letter too few, too many, changed or swapped, but for the first and last. */
function withWrongLetter(street: string, random: () => number): string | undefined {
  const words = street.split(' ')
  const long = words.flatMap((word, index) => (/^\p{L}{5,}$/u.test(word) ? [index] : []))
  if (long.length === 0) return undefined
  const pick = (count: number): number => Math.floor(random() * count)
  const index = long[pick(long.length)]!
  const word = words[index]!
  const at = 1 + pick(word.length - 2)
  const letter = LETTERS[pick(LETTERS.length)]!
  words[index] = [
    word.slice(0, at) + word.slice(at + 1),
    word.slice(0, at) + letter + word.slice(at),
    word.slice(0, at) + letter + word.slice(at + 1),
    word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2),
  ][pick(4)]!
  return words.join(' ')
}
