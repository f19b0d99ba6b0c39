/** Which of several searches that wait for a thread is answered first. */
import { availableParallelism } from 'node:os'
import t from 'tap'
import type { OsmExtract } from '../../src/geo/extract/osmPbfWriter.ts'
import { estimatedMs } from '../../src/geo/geocoding/estimate.ts'
import { LAYERS } from '../../src/geo/geocoding/port.ts'
import { buildRegion, openGeocoder } from './kit.ts'

const [LONGITUDE, LATITUDE] = [-78.8784, 42.8864]
const NAMES = ['Oak', 'Pine', 'Maple', 'Cedar', 'Elm', 'Lake', 'Hill', 'Park', 'River', 'Church']

const extract: OsmExtract = {
  nodes: NAMES.flatMap((name, i) => [
    {
      id: 2 * i + 1,
      longitude: LONGITUDE + i / 1000,
      latitude: LATITUDE,
      tags: { 'addr:housenumber': String(i + 1), 'addr:street': `${name} Street`, 'addr:postcode': '14201' },
    },
    { id: 2 * i + 2, longitude: LONGITUDE + i / 1000, latitude: LATITUDE + 0.001, tags: {} },
  ]),
  ways: NAMES.map((name, i) => ({
    id: i + 1,
    nodes: [2 * i + 1, 2 * i + 2],
    tags: { highway: 'residential', name: `${name} Street` },
  })),
  relations: [],
}
const geocoder = openGeocoder(t, { all: [await buildRegion(t, 'fairness', extract)] })

const question = (query: string) =>
  ({ query, layers: LAYERS, countries: [], language: 'en', now: Date.now() }) as const

t.test('short searches do not wait for long ones that came before', async (t) => {
  await geocoder.forward(question('1 Oak Street'))
  const answered: string[] = []
  const ask = async (kind: string, query: string): Promise<void> => {
    const { addresses } = await geocoder.forward(question(query))
    t.match(addresses, /^\[/)
    answered.push(kind)
  }
  // Those that the threads take at once are answered first, whatever comes after them.
  const threads = Math.max(1, availableParallelism() - 1)
  const long = Array.from({ length: 20 + 2 * threads }, (_, i) => `${NAMES.join(' and ')} ${i}`)
  const short = NAMES.map((name, i) => `${i + 1} ${name} Street`)
  await Promise.all([
    ...long.map((query) => ask('long', query)),
    ...short.map((query) => ask('short', query)),
  ])
  t.equal(answered.length, long.length + short.length)
  const last = answered.lastIndexOf('short')
  const before = answered.slice(0, last).filter((kind) => kind === 'long').length
  t.ok(before <= threads, `${before} of ${long.length} long ones were answered before the last short one`)
})

t.test('what a question will take is estimated by its words, and never less than the least', async (t) => {
  const forward = (query: string): number => estimatedMs({ kind: 'forward', question: question(query) })
  const words = Array.from({ length: 40 }, (_, i) => `word${i}`)
  for (let count = 1; count < 20; count++)
    t.ok(forward(words.slice(0, count + 1).join(' ')) > forward(words.slice(0, count).join(', ')))
  t.equal(forward(words.join(' ')), forward(words.slice(0, 20).join(' ')), 'further words are not read')
  t.equal(forward('x'.repeat(1000)), forward('x'))
  const position = [LONGITUDE, LATITUDE] as const
  const reverse = estimatedMs({
    kind: 'reverse',
    question: { position, layers: LAYERS, language: 'en', now: 0 },
  })
  t.ok(reverse > 0 && reverse < forward('x'))
})
