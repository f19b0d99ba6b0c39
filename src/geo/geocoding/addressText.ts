import formatter from '@fragaria/address-formatter'
import { LRUCache } from 'lru-cache'

/** The parts of an address that its texts are made of. */
export interface AddressParts {
  readonly number?: string | undefined
  readonly street?: string | undefined
  readonly borough?: string | undefined
  readonly city?: string | undefined
  readonly state?: string | undefined
  readonly stateCode?: string | undefined
  readonly postalCode?: string | undefined
  /** In the language of the answer. */
  readonly country?: string | undefined
  readonly countryCode?: string | undefined
  /** Alpha-3. */
  readonly countryCode3?: string | undefined
}

/** Addresses of these countries are one line with the code of the state. */
const ONE_LINE: ReadonlySet<string> = new Set(['US', 'CA'])

/** Without the characters that a client's HTML and regular expressions would take for syntax. */
export function labelText(text: string): string {
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

/** How a country writes number and street. It is asked once, because a template takes a tenth of a millisecond. */
function streetOrder(countryCode = ''): StreetOrder {
  let order = orders.get(countryCode)
  if (order === undefined) {
    // Some countries write them on two lines.
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
 * The whole address as one line.
 * @param label what comes before the city: number and street, or the name of what is smaller; undefined for none
 */
export function addressLine(label: string | undefined, parts: AddressParts): string {
  const { borough, city, state, stateCode, postalCode, country, countryCode, countryCode3 } = parts
  if (countryCode !== undefined && ONE_LINE.has(countryCode)) {
    const area = [stateCode ?? state, postalCode, countryCode3].filter((part) => part !== undefined).join(' ')
    const line = [label, borough === city ? undefined : borough, city, area]
    return labelText([...new Set(line.filter((part) => part !== undefined && part !== ''))].join(', '))
  }
  const lines = cityLines({ city, state, postcode: postalCode, country, countryCode })
  return labelText(
    [...new Set([label, ...lines])].filter((part) => part !== undefined && part !== '').join(', '),
  )
}

/** Some hundred bytes each. The usual requests are about few cities, but IP addresses are of the whole world. */
const KEPT_LINES = 10_000
const cities = new LRUCache<string, readonly string[]>({ max: KEPT_LINES })

function cityLines(parts: Readonly<Record<string, string | undefined>>): readonly string[] {
  const key = JSON.stringify(parts)
  let lines = cities.get(key)
  if (lines === undefined) {
    lines = formatter.format(present(parts), { output: 'array' })
    cities.set(key, lines)
  }
  return lines
}

function present(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >
}
