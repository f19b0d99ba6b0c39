/**
 * Addresses as the postal services of the United States and Canada write them: capitals, no punctuation, and the
 * abbreviations of USPS Publication 28 (appendices B, C1 and C2). The code is pure.
 */

/** Each line has the standard abbreviation, followed by other spellings. */
const SUFFIXES = `
ALY ALLEY
AVE AVENUE AV AVN
BLVD BOULEVARD BOUL
BR BRANCH
BRG BRIDGE
CIR CIRCLE
CLB CLUB
COR CORNER
CRES CRESCENT
CT COURT
CTR CENTER CENTRE
CV COVE
DR DRIVE DRV
EXPY EXPRESSWAY
EXT EXTENSION
FWY FREEWAY
GDNS GARDENS
GLN GLEN
GRN GREEN
GRV GROVE
HBR HARBOR
HL HILL
HLS HILLS
HTS HEIGHTS
HWY HIGHWAY
IS ISLAND
JCT JUNCTION
LK LAKE
LN LANE
LNDG LANDING
LOOP LOOPS
MDWS MEADOWS
MNR MANOR
MT MOUNT
MTN MOUNTAIN
PKWY PARKWAY PKY
PL PLACE
PLZ PLAZA
PT POINT
RD ROAD
RDG RIDGE
RIV RIVER
RTE ROUTE
SQ SQUARE
ST STREET STR
STA STATION
TER TERRACE TERR
TRL TRAIL
TPKE TURNPIKE
VIS VISTA
VLG VILLAGE
VLY VALLEY
VW VIEW
WAY WY
XING CROSSING
`
const DIRECTIONS = `
N NORTH
S SOUTH
E EAST
W WEST
NE NORTHEAST
NW NORTHWEST
SE SOUTHEAST
SW SOUTHWEST
`
const UNITS = `
APT APARTMENT
BLDG BUILDING
DEPT DEPARTMENT
FL FLOOR
LOT
OFC OFFICE
PH PENTHOUSE
RM ROOM
SPC SPACE
STE SUITE
TRLR TRAILER
UNIT
# NO
`

function table(lines: string): Map<string, string> {
  const words = new Map<string, string>()
  for (const line of lines.trim().split('\n')) {
    const [standard = '', ...others] = line.split(' ')
    for (const word of [standard, ...others]) words.set(word, standard)
  }
  return words
}

const suffixes = table(SUFFIXES)
const directions = table(DIRECTIONS)
const units = table(UNITS)

/** The text in capitals, without marks and punctuation except `-`, `/` and `#`, with single spaces. */
export function capitals(text: string): string {
  return text
    .normalize('NFKD')
    .toUpperCase()
    .replaceAll(/[\p{M}'’.]/gu, '')
    .replaceAll('#', ' # ')
    .replaceAll(/[^\p{L}\p{N}/#-]/gu, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
}

/**
 * The street with the last word that is a suffix, and directions at both ends, abbreviated: `NORTH MAIN STREET`
 * becomes `N MAIN ST`.
 */
export function standardStreet(street: string): string {
  const words = capitals(street).split(' ')
  const direction = (index: number): void => {
    // In `North Street`, the direction is the name.
    const word = directions.get(words[index]!)
    const next = index === 0 ? words[1] : undefined
    if (
      word !== undefined &&
      words.length > 1 &&
      !(words.length === 2 && next !== undefined && suffixes.has(next))
    )
      words[index] = word
  }
  direction(0)
  direction(words.length - 1)
  for (let index = words.length - 1; index > 0; index--) {
    const suffix = suffixes.get(words[index]!)
    if (suffix === undefined) continue
    words[index] = suffix
    break
  }
  return words.join(' ')
}

/** The parts of the first line of an address, in capitals. */
export interface FirstLine {
  readonly number: string | undefined
  readonly street: string
  /** The unit with its word: `APT 4`. */
  readonly unit: string | undefined
  /** A box at a post office (`P`), a rural or highway route (`R`), or general delivery (`G`). */
  readonly box: 'P' | 'R' | 'G' | undefined
}

/** Reads a first line: `841 Broadway Floor 7` becomes 841, BROADWAY and FL 7. */
export function readFirstLine(text: string): FirstLine {
  const line = capitals(text)
  const box = boxOf(line)
  if (box !== undefined) return { number: undefined, street: box.line, unit: undefined, box: box.type }
  const words = line.split(' ')
  const unitAt = words.findLastIndex(
    (word, index) => index > 0 && index < words.length - 1 && units.has(word),
  )
  const unit = unitAt === -1 ? undefined : standardUnit(words.slice(unitAt).join(' '))
  const rest = unitAt === -1 ? words : words.slice(0, unitAt)
  const hasNumber = /^\d/.test(rest[0] ?? '') && rest.length > 1
  const hasFraction = hasNumber && /^\d\/\d$/.test(rest[1]!)
  const count = hasFraction ? 2 : hasNumber ? 1 : 0
  return {
    number: count === 0 ? undefined : rest.slice(0, count).join(' '),
    street: standardStreet(rest.slice(count).join(' ')),
    unit,
    box: undefined,
  }
}

/** A unit in standard form: `Apartment 4b` becomes `APT 4B`, and a unit without a word gets `#`. */
export function standardUnit(text: string): string {
  const [first = '', ...rest] = capitals(text).split(' ')
  const word = units.get(first)
  return word === undefined ? ['#', first, ...rest].join(' ') : [word, ...rest].join(' ')
}

function boxOf(line: string): { type: 'P' | 'R' | 'G'; line: string } | undefined {
  if (line === 'GENERAL DELIVERY') return { type: 'G', line }
  const office = /^(?:P ?O BOX|POST OFFICE BOX) ([\p{L}\p{N}-]+)$/u.exec(line)
  if (office !== null) return { type: 'P', line: `PO BOX ${office[1]}` }
  const route = /^(RR|RURAL ROUTE|HC|HIGHWAY CONTRACT)(?: ROUTE)? (\d+)(?: BOX ([\p{L}\p{N}-]+))?$/u.exec(
    line,
  )
  if (route === null) return undefined
  const word = route[1]!.startsWith('R') ? 'RR' : 'HC'
  return { type: 'R', line: `${word} ${route[2]}${route[3] === undefined ? '' : ` BOX ${route[3]}`}` }
}

/** A postal code in standard form: `k1a0a9` becomes `K1A 0A9`, and `10003-4704` becomes 10003 and 4704. */
export function postalCodeOf(
  text: string,
  countryCode: 'US' | 'CA',
): { code: string; plus4: string | undefined } {
  const clean = capitals(text).replaceAll(' ', '')
  if (countryCode === 'CA') {
    const parts = /^([A-Z]\d[A-Z])(\d[A-Z]\d)?$/.exec(clean)
    return { code: parts === null ? clean : [parts[1], parts[2]].filter(Boolean).join(' '), plus4: undefined }
  }
  const parts = /^(\d{5})(?:-?(\d{4}))?$/.exec(clean)
  return parts === null ? { code: clean, plus4: undefined } : { code: parts[1]!, plus4: parts[2] }
}
