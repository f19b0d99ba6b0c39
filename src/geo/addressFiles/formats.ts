/** The formats of address files, told apart by their columns. Pure. */
import type { Position } from '../../model/geofence.ts'
import { numberValue } from '../records/houseNumbers.ts'
import { cleanName } from '../records/names.ts'
import type { Parity } from '../records/numberRanges.ts'
import type { StreetImportance } from '../records/records.ts'
import type { AddressFileRow, Credit, EdgeSide } from './rows.ts'

/** A row of a table, or the properties of a GeoJSON feature: texts by the name of their column in lower case. */
export interface Cells {
  /** The text of a column without spaces around it. Undefined if it is empty, or says that the value is not known. */
  text(column: string): string | undefined
  /** The positions of a point or line, in degrees; empty without geometry. */
  readonly positions: readonly Position[]
}

export interface AddressFormat {
  readonly name: string
  readonly credit: Credit
  /** The columns by which the format is recognised. A file has at least one of each list. */
  readonly columns: readonly (readonly string[])[]
  /** Reads a row. Undefined if it is not an address, or lacks something. */
  readonly rowOf: (cells: Cells) => AddressFileRow | undefined
}

const TIGER: Credit = {
  attribution: 'U.S. Census Bureau, TIGER/Line',
  licence: 'public domain, https://www.census.gov',
}
const MAJOR_ROADS = /^S11/
const SECONDARY_ROADS = /^S12/

/** The formats. The first one that fits a file is used. */
export const ADDRESS_FORMATS: readonly AddressFormat[] = [
  {
    name: 'TIGER/Line',
    credit: TIGER,
    columns: [['tlid'], ['fullname'], ['geometry']],
    rowOf(cells) {
      const street = cleanName(cells.text('fullname'))
      if (street === undefined || cells.positions.length < 2) return undefined
      const side = (from: string, to: string, zip: string): EdgeSide[] => {
        const [first, last] = [from, to].map((one) => cells.text(`${one}hn`) ?? cells.text(`${one}add`))
        const postalCode = cleanName(cells.text(zip))
        if (first === undefined || last === undefined) return []
        return [{ first, last, parity: parityOf(first, last), city: undefined, state: undefined, postalCode }]
      }
      const sides = [...side('lfrom', 'lto', 'zipl'), ...side('rfrom', 'rto', 'zipr')]
      // The file of all edges has rivers and railways, too.
      if (sides.length === 0 && cells.text('roadflg') !== 'Y') return undefined
      return {
        kind: 'edge',
        id: cells.text('tlid'),
        street,
        importance: importanceOf(cells.text('mtfcc') ?? ''),
        line: cells.positions,
        sides,
      }
    },
  },
  {
    name: 'ranges of TIGER for Nominatim',
    credit: TIGER,
    columns: [['from'], ['to'], ['interpolation'], ['street'], ['geometry']],
    rowOf(cells) {
      const [street, first, last] = ['street', 'from', 'to'].map((column) => cleanName(cells.text(column)))
      const line = cells.positions
      if (street === undefined || first === undefined || last === undefined || line.length < 2)
        return undefined
      const [city, state, postalCode] = ['city', 'state', 'postcode'].map((column) =>
        cleanName(cells.text(column)),
      )
      const said = cells.text('interpolation')
      const parity = said === 'even' || said === 'odd' || said === 'all' ? said : parityOf(first, last)
      const sides = [{ first, last, parity, city, state, postalCode }]
      return { kind: 'edge', id: undefined, street, importance: 0, line, sides }
    },
  },
  {
    name: 'National Address Database',
    credit: {
      attribution: 'U.S. DOT, National Address Database',
      licence: 'public domain, https://www.transportation.gov/gis/national-address-database',
    },
    columns: [['add_number'], ['stnam_full', 'st_name', 'streetname'], ['longitude'], ['latitude']],
    rowOf(cells) {
      const join = (...columns: readonly string[]): string | undefined =>
        cleanName(columns.map((column) => cells.text(column) ?? '').join(' '))
      const whole = cells.text('stnam_full') ?? streetOfParts(join, cells)
      const number =
        cells.text('addno_full') ?? `${cells.text('addnum_pre') ?? ''}${cells.text('add_number') ?? ''}`
      const suffix = cells.text('addno_full') === undefined ? cells.text('addnum_suf') : undefined
      return house(cells, {
        number: suffix === undefined ? number : `${number} ${suffix}`,
        street: whole,
        unit: cells.text('unit'),
        city: cells.text('post_city') ?? cells.text('post_comm') ?? cells.text('inc_muni'),
        state: cells.text('state'),
        postalCode: cells.text('zip_code'),
        position: pointOf(cells.text('longitude'), cells.text('latitude')),
      })
    },
  },
  {
    name: 'OpenAddresses',
    credit: {
      attribution: 'OpenAddresses contributors',
      licence: 'differs by source, https://openaddresses.io',
    },
    columns: [['number'], ['street'], ['lon', 'geometry'], ['lat', 'geometry']],
    rowOf: (cells) =>
      house(cells, {
        number: cells.text('number'),
        street: cells.text('street'),
        unit: cells.text('unit'),
        city: cells.text('city'),
        state: cells.text('region'),
        postalCode: cells.text('postcode'),
        position: cells.positions[0] ?? pointOf(cells.text('lon'), cells.text('lat')),
      }),
  },
]

/**
 * Finds the format with these columns.
 * @param columns in lower case; `geometry` stands for what GeoJSON and well-known text contain
 */
export function formatOf(columns: ReadonlySet<string>): AddressFormat | undefined {
  return ADDRESS_FORMATS.find((format) =>
    format.columns.every((some) => some.some((one) => columns.has(one))),
  )
}

function house(
  { positions }: Cells,
  {
    position = positions[0],
    ...texts
  }: Record<'number' | 'street' | 'unit' | 'city' | 'state' | 'postalCode', string | undefined> & {
    readonly position: Position | undefined
  },
): AddressFileRow | undefined {
  const number = cleanName(texts.number)
  const street = cleanName(texts.street)
  if (number === undefined || street === undefined || position === undefined) return undefined
  const [unit, city, state, postalCode] = [texts.unit, texts.city, texts.state, texts.postalCode].map(
    cleanName,
  )
  return { kind: 'house', number, street, unit, city, state, postalCode, position }
}

/** The street's name by the columns of releases before 13, which later ones have besides `StNam_Full`. */
function streetOfParts(
  join: (...columns: readonly string[]) => string | undefined,
  cells: Cells,
): string | undefined {
  const before = ['stn_predir', 'stn_pretyp', 'stn_presep']
  const after = ['stn_postyp', 'stn_posdir', 'stn_posmod']
  return cells.text('streetname') === undefined
    ? join(
        'st_premod',
        'st_predir',
        'st_pretyp',
        'st_presep',
        'st_name',
        'st_postyp',
        'st_posdir',
        'st_posmod',
      )
    : join('stn_premod', ...before, 'streetname', ...after)
}

function pointOf(longitude: string | undefined, latitude: string | undefined): Position | undefined {
  if (longitude === undefined || latitude === undefined) return undefined
  return placed(Number(longitude), Number(latitude))
}

/** A position. Undefined if it is not on Earth, or is 0,0, which stands for no position. */
export function placed(longitude: number, latitude: number): Position | undefined {
  const isOnEarth = Math.abs(longitude) <= 180 && Math.abs(latitude) <= 90
  return isOnEarth && (longitude !== 0 || latitude !== 0) ? [longitude, latitude] : undefined
}

/** The positions of well-known text like `LINESTRING(-122.1 37.0,-122.2 37.1)`; empty for any other text. */
export function lineOf(text: string): Position[] {
  const [, inside] = /^linestring ?\(([^()]{1,1000000})\)$/i.exec(text) ?? []
  return (inside ?? '').split(',').flatMap((pair) => {
    const [longitude, latitude] = pair.trim().split(' ').map(Number)
    const position = placed(longitude ?? Number.NaN, latitude ?? Number.NaN)
    return position === undefined ? [] : [position]
  })
}

function parityOf(first: string, last: string): Parity {
  const [a, b] = [numberValue(first) % 2, numberValue(last) % 2]
  return a === b ? (a === 0 ? 'even' : 'odd') : 'all'
}

/** The importance of a street by its class of the Census Bureau. */
function importanceOf(featureClass: string): StreetImportance {
  return MAJOR_ROADS.test(featureClass) ? 2 : SECONDARY_ROADS.test(featureClass) ? 1 : 0
}
