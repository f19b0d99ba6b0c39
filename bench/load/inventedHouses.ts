/**
 * Invented houses in real towns. Everything that a house says agrees with the world: its town, state and postal code belong
 * together, and it stands near the centre of the postal code. As in reality, the towns have streets of the same names.
 */
import type { Position } from '../../src/model/geofence.ts'
import { seededRandom } from '../../src/simulation/streets.ts'
import type { World } from '../../src/geo/world/port.ts'

export interface InventedHouse {
  readonly number: string
  readonly street: string
  readonly city: string
  /** Two letters. */
  readonly state: string
  readonly postalCode: string
  readonly position: Position
}

const STATE = 'KS'
/** West, south, east and north of the state. */
const STATE_BOX = [-102.06, 36.99, -94.58, 40.01] as const
const TOWNS = 100
const STREETS_PER_TOWN = 80
const NAMES = [
  'Oak',
  'Pine',
  'Maple',
  'Cedar',
  'Elm',
  'Lake',
  'Hill',
  'Park',
  'River',
  'Church',
  'Mill',
  'Spring',
]
const KINDS = ['St', 'Ave', 'Rd', 'Dr', 'Ln', 'Ct']
/** Between two streets, and between two houses of a street, in degrees. */
const STREET_DEGREES = 5e-4
const HOUSE_DEGREES = 1e-4
/** How far a house may stand from its place in the row. */
const SCATTER_DEGREES = 1e-5

interface Town {
  readonly city: string
  readonly postalCode: string
  readonly centre: Position
}

/** Houses, one town after the other, and one street after the other within these turns. */
export function* inventedHouses(world: World, count: number, seed: number): Generator<InventedHouse> {
  const random = seededRandom(seed)
  const towns = townsOf(world)
  for (let i = 0; i < count; i++) {
    const { city, postalCode, centre } = towns[i % TOWNS]!
    const street = Math.floor(i / TOWNS) % STREETS_PER_TOWN
    const number = 1 + 2 * Math.floor(i / (TOWNS * STREETS_PER_TOWN))
    yield {
      number: String(number),
      street: `${NAMES[street % NAMES.length]} ${NAMES[Math.floor(street / 7)]} ${KINDS[street % KINDS.length]}`,
      city,
      state: STATE,
      postalCode,
      position: [
        centre[0] + number * HOUSE_DEGREES + random() * SCATTER_DEGREES,
        centre[1] + (street - STREETS_PER_TOWN / 2) * STREET_DEGREES + random() * SCATTER_DEGREES,
      ],
    }
  }
}

/** Towns with different names, spread evenly over the postal codes of the state. */
function townsOf(world: World): Town[] {
  const [west, south, east, north] = STATE_BOX
  const named = new Map<string, Town>()
  for (const { code, position } of world.zipsIn({ west, south, east, north })) {
    const area = world.postalArea('US', code)
    if (area?.stateCode === STATE && world.stateAt(position)?.code === STATE)
      named.set(area.city, { city: area.city, postalCode: code, centre: position })
  }
  const towns = [...named.values()].sort((a, b) => (a.postalCode < b.postalCode ? -1 : 1))
  const step = towns.length / TOWNS
  return Array.from({ length: TOWNS }, (_, i) => towns[Math.floor(i * step)]!)
}
