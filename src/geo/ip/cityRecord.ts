/** Reads a record of a database of cities, in either of the two usual forms. The code is pure. */
import type { Position } from '../../model/geofence.ts'
import { cleanName, type Language } from '../records/names.ts'
import { isCountry } from '../world/countries.ts'
import { stateCodeOf } from '../world/usNames.ts'
import type { IpPlace } from './port.ts'

type Names = Readonly<Record<string, string>>

/** The form of the npm package of DB-IP. Unknown fields are `''`. */
export interface PlainRecord {
  readonly country_code: string
  readonly state1: string
  readonly city: string
  readonly postcode: string
  readonly latitude: number
  readonly longitude: number
}

/** The form of MaxMind's files, and of DB-IP's own. */
export interface GeoIp2Record {
  readonly country?: { readonly iso_code?: string }
  readonly registered_country?: { readonly iso_code?: string }
  readonly subdivisions?: readonly { readonly iso_code?: string; readonly names?: Names }[]
  readonly city?: { readonly names?: Names }
  readonly postal?: { readonly code?: string }
  readonly location?: { readonly latitude?: number; readonly longitude?: number }
}

/** Their names of languages that differ from ours. */
const LOCALES: Readonly<Partial<Record<Language, string>>> = { pt: 'pt-BR', zh: 'zh-CN' }
/** Countries whose states have a code in answers. */
const WITH_STATE_CODES: ReadonlySet<string> = new Set(['US', 'CA'])
/** The precision of coordinates. Files have some 11 metres, written as floating-point numbers with more digits. */
const PARTS_OF_A_DEGREE = 1e4

/**
 * The place of a record.
 * @returns undefined if the record has no country or no coordinates
 */
export function placeOfRecord(record: PlainRecord | GeoIp2Record, language: Language): IpPlace | undefined {
  return 'country_code' in record ? plainPlace(record) : geoIp2Place(record, language)
}

function plainPlace(record: PlainRecord): IpPlace | undefined {
  const countryCode = record.country_code
  const position = positionOf(record)
  if (position === undefined || !isCountry(countryCode)) return undefined
  const state = cleanName(record.state1)
  return {
    position,
    countryCode,
    state,
    stateCode: state && stateCodeOf(countryCode, state),
    city: cleanName(withoutBrackets(record.city)),
    postalCode: cleanName(record.postcode),
  }
}

function geoIp2Place(record: GeoIp2Record, language: Language): IpPlace | undefined {
  const countryCode = record.country?.iso_code ?? record.registered_country?.iso_code ?? ''
  const position = positionOf(record.location ?? {})
  if (position === undefined || !isCountry(countryCode)) return undefined
  const [subdivision] = record.subdivisions ?? []
  const city = nameIn(record.city?.names, language)
  const state = cleanName(nameIn(subdivision?.names, language))
  const english = subdivision?.names?.['en'] ?? ''
  return {
    position,
    countryCode,
    state,
    stateCode: WITH_STATE_CODES.has(countryCode)
      ? (cleanName(subdivision?.iso_code) ?? stateCodeOf(countryCode, english))
      : undefined,
    city: city === undefined ? undefined : cleanName(withoutBrackets(city)),
    postalCode: cleanName(record.postal?.code),
  }
}

function nameIn(names: Names | undefined, language: Language): string | undefined {
  return names?.[LOCALES[language] ?? language] ?? names?.['en']
}

function positionOf(at: { readonly latitude?: number; readonly longitude?: number }): Position | undefined {
  const { latitude, longitude } = at
  if (latitude === undefined || longitude === undefined) return undefined
  if (!(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180)) return undefined
  const rounded = (degrees: number): number => Math.round(degrees * PARTS_OF_A_DEGREE) / PARTS_OF_A_DEGREE
  return [rounded(longitude), rounded(latitude)]
}

/**
 * The city without what follows in brackets, which is a part of the city: `Seoul (Euljiro 3(sam)-ga)` becomes Seoul.
 */
function withoutBrackets(city: string): string {
  const bracket = city.search(/[([]/)
  return (bracket < 0 ? city : city.slice(0, bracket)).trim() || city
}
