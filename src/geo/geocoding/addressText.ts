import formatter from '@fragaria/address-formatter'
import { cityLines } from './cityLines.ts'

/** The parts of an address of which its texts are made. */
export interface AddressParts {
  readonly number?: string | undefined
  readonly street?: string | undefined
  readonly borough?: string | undefined
  readonly city?: string | undefined
  readonly state?: string | undefined
  readonly stateCode?: string | undefined
  readonly postalCode?: string | undefined
  /** The country's name in the language of the answer. */
  readonly country?: string | undefined
  readonly countryCode?: string | undefined
  /** The alpha-3 code. */
  readonly countryCode3?: string | undefined
}

/** The countries whose addresses are one line with the code of the state. */
const ONE_LINE: ReadonlySet<string> = new Set(['US', 'CA'])

/** What a label does not have: characters of HTML and regular expressions, and spaces at its ends or in a row. */
const UNLABELLED = /[()[\]{}*+?\\|^$<>]| {2}|^\s|\s$/

/** The text without the characters that a client's HTML and regular expressions would take for syntax. */
export function labelText(text: string): string {
  if (!UNLABELLED.test(text)) return text
  return text
    .replaceAll(/[()[\]{}*+?\\|^$<>]/g, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
}

/** Number and street in the order of the country: `20 Jay Street`, `Calle 25 de Mayo 500`. */
export function streetLine({ number, street, countryCode }: AddressParts): string {
  if (street === undefined) return number ?? ''
  if (number === undefined) return labelText(street)
  const { isNumberFirst, between } = streetOrder(countryCode)
  const [one, other] = [number, street].map(labelText)
  return isNumberFirst ? one + between + other : other + between + one
}

interface StreetOrder {
  readonly isNumberFirst: boolean
  readonly between: string
}

const orders = new Map<string, StreetOrder>()

/**
 * How a country writes number and street. Each country is tried once, because a template takes a tenth of a
 * millisecond.
 */
function streetOrder(countryCode = ''): StreetOrder {
  let order = orders.get(countryCode)
  if (order === undefined) {
    // In some countries, they are on two lines.
    const text = formatter
      .format({ houseNumber: '1', road: 'Street', countryCode }, { output: 'array' })
      .join(' ')
    const [number, street] = [text.indexOf('1'), text.indexOf('Street')]
    const isNumberFirst = number < street
    order = {
      isNumberFirst,
      between: isNumberFirst ? text.slice(number + 1, street) : text.slice(street + 'Street'.length, number),
    }
    orders.set(countryCode, order)
  }
  return order
}

/**
 * The whole address in one line.
 * @param label what comes before the city: number and street, or the name of something smaller; undefined if there is
 * nothing
 */
export function addressLine(label: string | undefined, parts: AddressParts): string {
  const { borough, city, state, stateCode, postalCode, country, countryCode, countryCode3 } = parts
  if (countryCode !== undefined && ONE_LINE.has(countryCode)) {
    const area = [stateCode ?? state, postalCode, countryCode3].filter((part) => part !== undefined).join(' ')
    return joined(label, [borough === city ? undefined : borough, city, area])
  }
  return joined(label, cityLines({ city, state, postcode: postalCode, country, countryCode }))
}

/** The parts in one line, each once, without those that are absent or empty. */
function joined(label: string | undefined, lines: readonly (string | undefined)[]): string {
  const parts = label === undefined || label === '' ? [] : [label]
  for (const line of lines) if (line !== undefined && line !== '' && !parts.includes(line)) parts.push(line)
  return labelText(parts.join(', '))
}
