import formatter from '@fragaria/address-formatter'

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
  if (countryCode !== undefined && ONE_LINE.has(countryCode)) return labelText(`${number} ${street}`)
  const [line] = formatter.format(
    { houseNumber: number, road: street, ...(countryCode !== undefined && { countryCode }) },
    { output: 'array' },
  )
  return labelText(line ?? `${number} ${street}`)
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
  const lines = formatter.format(present({ city, state, postcode: postalCode, country, countryCode }), {
    output: 'array',
  })
  return labelText(
    [...new Set([label, ...lines])].filter((part) => part !== undefined && part !== '').join(', '),
  )
}

function present(fields: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >
}
