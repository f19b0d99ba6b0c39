import { numberKey } from '../records/houseNumbers.ts'
import { fold, nameKey } from '../text/words.ts'
import type { PlaceRecords, StoredAddress, StoredStreet } from '../placeDatabase/port.ts'
import type { PostalArea } from '../world/port.ts'
import type { GeocodeCandidate } from './candidate.ts'
import { regionCandidates } from './candidates.ts'
import {
  capitals,
  postalCodeOf,
  readFirstLine,
  standardStreet,
  standardUnit,
  type FirstLine,
} from './postalStandard.ts'
import { readQuery, type NumberReading } from './query.ts'
import { Searches } from './searches.ts'
import type { SearchSources } from './sources.ts'
import type { Surroundings } from './surroundings.ts'
import type {
  RecordType,
  ValidatedAddress,
  Validation,
  ValidationQuestion,
  VerificationStatus,
} from './validation.ts'

const MOST_HOUSES = 200
/** For how many houses and streets the areas that contain them are looked up at most. */
const MOST_LOOKED_AT = 200
/** A shop with the same address must be within this distance. */
const SHOP_METERS = 30
/** How many characters of a postal code name an area. In Canada, these are the first three. */
const AREA_LENGTH = { US: 5, CA: 3 } as const

/** The question in standard form. */
interface Asked extends FirstLine {
  readonly question: ValidationQuestion
  readonly code: string
  readonly plus4: string | undefined
  readonly postal: PostalArea | undefined
}

/** A house or street that may be meant. */
interface Match {
  readonly candidate: GeocodeCandidate
  readonly around: Surroundings
  readonly street: string
}

/** Compares an address with what is known, and writes it in the form of the postal service. */
export function validate(sources: SearchSources, question: ValidationQuestion): Validation {
  const { countryCode, stateCode, firstLine } = question
  const { code, plus4 } = postalCodeOf(question.postalCode, countryCode)
  const line = readFirstLine(firstLine)
  const unit = question.unit === undefined ? line.unit : standardUnit(question.unit)
  const postal = sources.world.postalArea(countryCode, code)
  const asked: Asked = { ...line, unit, question, code, plus4, postal }
  if (postal === undefined || postal.stateCode !== stateCode) return answer(sources, asked, 'unverified')
  if (line.box !== undefined) {
    const agrees = nameKey(postal.city) === nameKey(question.city)
    return answer(sources, asked, agrees ? 'partially verified' : 'unverified')
  }
  if (line.street === '' || !hasAddresses(sources, asked)) return answer(sources, asked, 'unverified')
  return compare(sources, asked, matchesOf(sources, asked))
}

/** Whether any address with the postal code is loaded. */
function hasAddresses({ regions }: SearchSources, { code, question }: Asked): boolean {
  const area = fold(code.slice(0, AREA_LENGTH[question.countryCode])).split(' ')[0]!
  return regions.some(({ records }) =>
    records.index
      .search([{ forms: [area], prefixes: question.countryCode === 'CA' ? [area] : [] }], MOST_HOUSES)
      .some(({ kind, record }) => kind === 'area' && records.areaById(record).kind === 'postalCode'),
  )
}

/** All houses in the state whose number and street may be meant. */
function matchesOf(sources: SearchSources, { number, street, question }: Asked): Match[] {
  const query = readQuery(number === undefined ? street : `${number} ${street}`, false)
  const housesOf = (region: PlaceRecords, { id }: StoredStreet, reading?: NumberReading): StoredAddress[] =>
    reading === undefined
      ? []
      : region
          .housesOf(id, [reading.value, reading.value], MOST_HOUSES)
          .filter((house) => numberKey(house.number) === reading.key)
  const wanted = number === undefined ? undefined : numberKey(number)
  const searches = new Searches()
  const find = (edited: 'none' | 'all'): Match[] =>
    sources.regions
      .flatMap(({ records }) =>
        regionCandidates(records, query, { language: 'en', edited, searches, housesOf }),
      )
      .filter(({ layer, reading }) => layer === 'street' || (layer === 'address' && reading?.key === wanted))
      .sort((a, b) => fitOf(b) - fitOf(a))
      .slice(0, MOST_LOOKED_AT)
      .map((candidate) => ({
        candidate,
        around: sources.surroundings(candidate.position, candidate.own, 'en'),
        street: standardStreet(candidate.street ?? ''),
      }))
      .filter(({ around }) => around.stateCode === question.stateCode)
  const plain = find('none')
  return plain.some(({ candidate }) => candidate.layer === 'address') ? plain : find('all')
}

function compare(sources: SearchSources, asked: Asked, matches: readonly Match[]): Validation {
  const isSameArea = ({ around }: Match): boolean =>
    areaOf(around.postalCode, asked) === areaOf(asked.code, asked)
  const inCity = (match: Match): boolean => isCity(asked, match.around)
  const houses = matches.filter(({ candidate }) => candidate.precision === 'exact')
  const exact = (match: Match): boolean => match.street === asked.street
  // The attempts go from what fits best to what is corrected most.
  for (const some of [
    houses.filter((match) => isSameArea(match) && exact(match)),
    houses.filter(isSameArea),
    houses.filter((match) => inCity(match) && exact(match)),
    houses.filter(inCity),
  ]) {
    const best = bestOf(some)
    if (best.length === 0) continue
    if (new Set(best.map(({ street }) => street)).size > 1) return answer(sources, asked, 'ambiguous')
    const [match] = best as [Match]
    const units = unitsAt(best)
    const analysis = analysisOf(asked, units)
    const isVerified = isSameArea(match) && exact(match) && inCity(match) && analysis === undefined
    const status = isVerified ? 'verified' : 'partially verified'
    return answer(sources, asked, status, match, { hasUnits: units.size > 0, analysis })
  }
  // A long street has several postal codes. The code of the question comes first.
  const others = [
    ...matches.filter(isSameArea),
    ...matches.filter((match) => !isSameArea(match) && inCity(match)),
  ]
  const between = bestOf(others.filter(({ candidate }) => candidate.precision === 'interpolated'))
  const streets = bestOf(others.filter(({ candidate }) => candidate.layer === 'street'))
  const betweenExact = between.filter(exact)
  const ofRange = betweenExact.length > 0 ? betweenExact : between
  if (new Set(ofRange.map(({ street }) => street)).size > 1) return answer(sources, asked, 'ambiguous')
  const [found] = ofRange.length > 0 ? ofRange : streets.filter(exact)
  if (found !== undefined) return answer(sources, asked, 'partially verified', found)
  return answer(sources, asked, 'unverified')
}

function areaOf(code: string | undefined, { question: { countryCode } }: Asked): string | undefined {
  return code?.slice(0, AREA_LENGTH[countryCode]).toUpperCase()
}

/** Whether the city is the one of the postal code, or a part or place at the house. */
function isCity({ question, postal }: Asked, around: Surroundings): boolean {
  const key = nameKey(question.city)
  return [postal?.city, around.city, around.borough, around.neighborhood].some(
    (name) => name !== undefined && nameKey(name) === key,
  )
}

/**
 * The candidates that match the most parts of the question. Other parts of their names, such as a direction or a
 * suffix, do not make one better than another.
 */
function bestOf(matches: readonly Match[]): Match[] {
  const best = matches.reduce((most, { candidate }) => Math.max(most, fitOf(candidate)), 0)
  return matches.filter(({ candidate }) => fitOf(candidate) >= best)
}

/** How many parts of the question match. */
function fitOf({ fits }: GeocodeCandidate): number {
  return fits.reduce((sum, fit) => sum + fit, 0)
}

function unitsAt(matches: readonly Match[]): Set<string> {
  return new Set(matches.flatMap(({ candidate: { unit } }) => (unit === undefined ? [] : [unitKey(unit)])))
}

/** Only the number of a unit, because `APT 4B` and `4b` are the same. */
function unitKey(unit: string): string {
  return capitals(unit).split(' ').at(-1)!
}

function analysisOf(
  { unit, question }: Asked,
  units: ReadonlySet<string>,
): 'unit:missing' | 'unit:invalid' | undefined {
  if (units.size === 0 || question.countryCode !== 'US') return undefined
  if (unit === undefined) return 'unit:missing'
  return units.has(unitKey(unit)) ? undefined : 'unit:invalid'
}

function answer(
  sources: SearchSources,
  asked: Asked,
  verificationStatus: VerificationStatus,
  match?: Match,
  {
    hasUnits = false,
    analysis,
  }: { readonly hasUnits?: boolean; readonly analysis?: 'unit:missing' | 'unit:invalid' | undefined } = {},
): Validation {
  const { question, unit, box, plus4 } = asked
  const { countryCode, stateCode } = question
  const isShop = match !== undefined && isShopAt(sources, match)
  const recordType: RecordType = box ?? (isShop ? 'F' : unit !== undefined || hasUnits ? 'H' : 'S')
  const propertyType = isShop ? 'commercial' : match?.candidate.property
  const number = asked.number
  const street = match?.street ?? asked.street
  const addressLabel = [number, street, unit].filter((part) => part !== undefined && part !== '').join(' ')
  const known = match?.around.postalCode
  const isOther = known !== undefined && areaOf(known, asked) !== areaOf(asked.code, asked)
  const postalCode = isOther ? known.toUpperCase() : asked.code
  const postal = isOther ? sources.world.postalArea(countryCode, postalCode) : asked.postal
  const isCorrected = match !== undefined && !isCity(asked, match.around)
  const city = capitals(isCorrected ? (postal?.city ?? match.around.city ?? question.city) : question.city)
  const fips = postal?.countyFips
  const county = fips === undefined ? undefined : sources.world.countyByFips(fips)?.name
  const area = `${stateCode} ${postalCode}${plus4 === undefined || isOther ? '' : `-${plus4}`} ${countryCode}`
  const address: ValidatedAddress = {
    addressLabel,
    ...(number !== undefined && { number }),
    ...(street !== '' && { street }),
    ...(unit !== undefined && { unit }),
    city,
    stateCode,
    postalCode,
    ...(plus4 !== undefined && !isOther && { plus4 }),
    ...(county !== undefined && {
      county: capitals(county.replace(/ (?:County|Parish|Borough|Municipio|Census Area|Municipality)$/, '')),
    }),
    countryCode,
    formattedAddress: [addressLabel, city, area].filter((part) => part !== '').join(', '),
    metadata: { recordType, ...(propertyType !== undefined && { propertyType }) },
  }
  return { address, result: { verificationStatus, ...(analysis !== undefined && { analysis: [analysis] }) } }
}

/** Whether a named place has the same address. */
function isShopAt(sources: SearchSources, { candidate: { position, number, street } }: Match): boolean {
  if (number === undefined || street === undefined) return false
  return sources.around(position).some((region) => {
    const place = region.nearestPlace(position, SHOP_METERS)?.record
    return (
      place?.details.number !== undefined &&
      numberKey(place.details.number) === numberKey(number) &&
      nameKey(place.details.street ?? '') === nameKey(street)
    )
  })
}
