/** Names of administrative areas of the United States and Canada that the data about them lack. */

/** The boroughs of New York City, by the county that each of them is. */
const BOROUGHS: Readonly<Record<string, string>> = {
  36005: 'Bronx',
  36047: 'Brooklyn',
  36061: 'Manhattan',
  36081: 'Queens',
  36085: 'Staten Island',
}

/**
 * The borough that is a county.
 * @param fips the code of the county, five digits
 */
export function boroughOf(fips: string): string | undefined {
  return Object.hasOwn(BOROUGHS, fips) ? BOROUGHS[fips] : undefined
}

/** Areas of the census in Alaska where there is no borough. */
const CENSUS_AREAS: ReadonlySet<string> = new Set([
  'Aleutians West',
  'Bethel',
  'Chugach',
  'Copper River',
  'Dillingham',
  'Hoonah-Angoon',
  'Kusilvak',
  'Nome',
  'Prince of Wales-Hyder',
  'Southeast Fairbanks',
  'Valdez-Cordova',
  'Yukon-Koyukuk',
])
const LOUISIANA = '22'
const ALASKA = '02'
const PUERTO_RICO = '72'
const WITHOUT_COUNTIES: ReadonlySet<string> = new Set(['11', '60', '66', '69', '78'])
/** In Maryland, Missouri, Nevada and Virginia, numbers from here on are cities that do not belong to a county. */
const FIRST_CITY = 510
const WITH_CITIES: ReadonlySet<string> = new Set(['24', '29', '32', '51'])

/**
 * The name of a county with its suffix: `Kings County`, `Orleans Parish`.
 * @param fips five digits, of which the first two are those of the state
 * @param name without a suffix
 */
export function countyName(fips: string, name: string): string {
  const state = fips.slice(0, 2)
  if (WITHOUT_COUNTIES.has(state)) return name
  if (state === LOUISIANA) return `${name} Parish`
  if (state === PUERTO_RICO) return `${name} Municipio`
  if (state === ALASKA) {
    if (name === 'Anchorage') return 'Anchorage Municipality'
    return CENSUS_AREAS.has(name) ? `${name} Census Area` : `${name} Borough`
  }
  if (WITH_CITIES.has(state) && Number(fips.slice(2)) >= FIRST_CITY)
    return / city$/i.test(name) ? name : `${name} City`
  return `${name} County`
}

/** Codes of states, districts and territories, by the number of the census. */
export const STATE_CODES: Readonly<Record<string, string>> = {
  '01': 'AL',
  '02': 'AK',
  '04': 'AZ',
  '05': 'AR',
  '06': 'CA',
  '08': 'CO',
  '09': 'CT',
  10: 'DE',
  11: 'DC',
  12: 'FL',
  13: 'GA',
  15: 'HI',
  16: 'ID',
  17: 'IL',
  18: 'IN',
  19: 'IA',
  20: 'KS',
  21: 'KY',
  22: 'LA',
  23: 'ME',
  24: 'MD',
  25: 'MA',
  26: 'MI',
  27: 'MN',
  28: 'MS',
  29: 'MO',
  30: 'MT',
  31: 'NE',
  32: 'NV',
  33: 'NH',
  34: 'NJ',
  35: 'NM',
  36: 'NY',
  37: 'NC',
  38: 'ND',
  39: 'OH',
  40: 'OK',
  41: 'OR',
  42: 'PA',
  44: 'RI',
  45: 'SC',
  46: 'SD',
  47: 'TN',
  48: 'TX',
  49: 'UT',
  50: 'VT',
  51: 'VA',
  53: 'WA',
  54: 'WV',
  55: 'WI',
  56: 'WY',
  60: 'AS',
  66: 'GU',
  69: 'MP',
  72: 'PR',
  78: 'VI',
}

/** The names of the states and the District of Columbia, by their codes. */
export const STATE_NAMES: Readonly<Record<string, string>> = {
  AK: 'Alaska',
  AL: 'Alabama',
  AR: 'Arkansas',
  AZ: 'Arizona',
  CA: 'California',
  CO: 'Colorado',
  CT: 'Connecticut',
  DC: 'District of Columbia',
  DE: 'Delaware',
  FL: 'Florida',
  GA: 'Georgia',
  HI: 'Hawaii',
  IA: 'Iowa',
  ID: 'Idaho',
  IL: 'Illinois',
  IN: 'Indiana',
  KS: 'Kansas',
  KY: 'Kentucky',
  LA: 'Louisiana',
  MA: 'Massachusetts',
  MD: 'Maryland',
  ME: 'Maine',
  MI: 'Michigan',
  MN: 'Minnesota',
  MO: 'Missouri',
  MS: 'Mississippi',
  MT: 'Montana',
  NC: 'North Carolina',
  ND: 'North Dakota',
  NE: 'Nebraska',
  NH: 'New Hampshire',
  NJ: 'New Jersey',
  NM: 'New Mexico',
  NV: 'Nevada',
  NY: 'New York',
  OH: 'Ohio',
  OK: 'Oklahoma',
  OR: 'Oregon',
  PA: 'Pennsylvania',
  RI: 'Rhode Island',
  SC: 'South Carolina',
  SD: 'South Dakota',
  TN: 'Tennessee',
  TX: 'Texas',
  UT: 'Utah',
  VA: 'Virginia',
  VT: 'Vermont',
  WA: 'Washington',
  WI: 'Wisconsin',
  WV: 'West Virginia',
  WY: 'Wyoming',
}

/**
 * The provinces of Canada by the first letter of the postal code. Several share X, and its second character
 * distinguishes them.
 */
const PROVINCES: Readonly<Record<string, readonly [code: string, name: string]>> = {
  A: ['NL', 'Newfoundland and Labrador'],
  B: ['NS', 'Nova Scotia'],
  C: ['PE', 'Prince Edward Island'],
  E: ['NB', 'New Brunswick'],
  G: ['QC', 'Quebec'],
  H: ['QC', 'Quebec'],
  J: ['QC', 'Quebec'],
  K: ['ON', 'Ontario'],
  L: ['ON', 'Ontario'],
  M: ['ON', 'Ontario'],
  N: ['ON', 'Ontario'],
  P: ['ON', 'Ontario'],
  R: ['MB', 'Manitoba'],
  S: ['SK', 'Saskatchewan'],
  T: ['AB', 'Alberta'],
  V: ['BC', 'British Columbia'],
  Y: ['YT', 'Yukon'],
}
const NUNAVUT: readonly [string, string] = ['NU', 'Nunavut']
const NORTHWEST: readonly [string, string] = ['NT', 'Northwest Territories']

export const ALL_PROVINCES: readonly (readonly [code: string, name: string])[] = [
  ...Object.values(PROVINCES),
  NUNAVUT,
  NORTHWEST,
]

/**
 * The province of a postal code.
 * @param code a postal code of Canada, at least its first three characters, in capitals
 */
export function provinceOf(code: string): readonly [code: string, name: string] | undefined {
  const letter = code[0] ?? ''
  if (letter === 'X') return code[1] === '0' && 'ABC'.includes(code[2] ?? '-') ? NUNAVUT : NORTHWEST
  return Object.hasOwn(PROVINCES, letter) ? PROVINCES[letter] : undefined
}

const CODES_BY_STATE: Readonly<Record<string, string>> = {
  Alabama: 'AL',
  Alaska: 'AK',
  Arizona: 'AZ',
  Arkansas: 'AR',
  California: 'CA',
  Colorado: 'CO',
  Connecticut: 'CT',
  Delaware: 'DE',
  'District of Columbia': 'DC',
  Florida: 'FL',
  Georgia: 'GA',
  Hawaii: 'HI',
  Idaho: 'ID',
  Illinois: 'IL',
  Indiana: 'IN',
  Iowa: 'IA',
  Kansas: 'KS',
  Kentucky: 'KY',
  Louisiana: 'LA',
  Maine: 'ME',
  Maryland: 'MD',
  Massachusetts: 'MA',
  Michigan: 'MI',
  Minnesota: 'MN',
  Mississippi: 'MS',
  Missouri: 'MO',
  Montana: 'MT',
  Nebraska: 'NE',
  Nevada: 'NV',
  'New Hampshire': 'NH',
  'New Jersey': 'NJ',
  'New Mexico': 'NM',
  'New York': 'NY',
  'North Carolina': 'NC',
  'North Dakota': 'ND',
  Ohio: 'OH',
  Oklahoma: 'OK',
  Oregon: 'OR',
  Pennsylvania: 'PA',
  'Rhode Island': 'RI',
  'South Carolina': 'SC',
  'South Dakota': 'SD',
  Tennessee: 'TN',
  Texas: 'TX',
  Utah: 'UT',
  Vermont: 'VT',
  Virginia: 'VA',
  Washington: 'WA',
  'West Virginia': 'WV',
  Wisconsin: 'WI',
  Wyoming: 'WY',
}
const CODES_BY_PROVINCE: ReadonlyMap<string, string> = new Map(
  ALL_PROVINCES.map(([code, name]) => [name, code]),
)

/**
 * The code of a state of the United States or a province of Canada.
 * @param name in English, as it is usually written
 */
export function stateCodeOf(countryCode: string, name: string): string | undefined {
  if (countryCode === 'CA') return CODES_BY_PROVINCE.get(name)
  return countryCode === 'US' && Object.hasOwn(CODES_BY_STATE, name) ? CODES_BY_STATE[name] : undefined
}
