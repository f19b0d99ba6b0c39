/** The candidates that are where the query says, the best first. */
import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import { LANGUAGES, type Language } from '../records/names.ts'
import { codeWord, wordsOf, type Word } from '../text/words.ts'
import { countryAt } from '../world/countries.ts'
import { countryNames } from './areaCandidates.ts'
import type { GeocodeCandidate } from './candidate.ts'
import { optimisticText } from './candidates.ts'
import { isWhereNamed, type NamedAreas } from './namedAreas.ts'
import type { Query } from './query.ts'
import type { SearchSources } from './sources.ts'
import type { Surroundings } from './surroundings.ts'
import { fitContext, textScore } from './textScore.ts'

const TEXT = 0.7
const IMPORTANCE = 0.12
const NEARNESS = 0.18
/** The distance at which nearness is a half. */
const NEAR_METERS = 10_000

export interface Ranked {
  readonly candidate: GeocodeCandidate
  /** The areas around the candidate. They are looked up when they are first asked for. */
  readonly around: () => Surroundings
  /** For each word of the query, how well it fits the candidate or the areas around it. */
  readonly fits: Float64Array
  readonly score: number
  /** The distance to the point near which the search is made, in metres. */
  readonly meters: number | undefined
}

export interface RankingOptions {
  readonly countries: readonly string[]
  readonly language: Language
  readonly near?: Position | undefined
  /** Whether a result with at most this score is not needed after these results. */
  readonly isEnough: (ranked: readonly Ranked[], best: number) => boolean
  /** For how many candidates the areas that contain them are looked up at most. */
  readonly most: number
  /** Candidates with a lower score are left out. */
  readonly leastText: number
}

/**
 * Ranks candidates. Finding the areas around a candidate takes most of the time, so it is only done for those that may
 * be among the best, in the order of the score that they have if the areas fit perfectly. For a candidate whose own name
 * and number have every word of the query, the areas are only looked up when it is shown.
 * @returns the candidates in no order
 */
export function rank(
  sources: SearchSources,
  query: Query,
  candidates: readonly GeocodeCandidate[],
  named: NamedAreas,
  { countries, language, near, isEnough, most, leastText }: RankingOptions,
): Ranked[] {
  const bounded = candidates
    .map((candidate) => {
      const meters = near === undefined ? undefined : distance(near, candidate.anchor ?? candidate.position)
      return { candidate, meters, text: optimisticText(query, candidate) }
    })
    .filter(({ text }) => text >= leastText)
    .map((one) => ({ ...one, best: scoreOf(one.text, one.candidate, one.meters) }))
    .sort((a, b) => b.best - a.best)
  const ranked: Ranked[] = []
  let looked = 0
  for (const { candidate, meters, best } of bounded) {
    if (looked >= most || isEnough(ranked, best)) break
    if (countries.length > 0 && !countries.includes(countryAt(candidate.position)?.code ?? '')) continue
    looked++
    let kept: Surroundings | undefined
    const around = (): Surroundings => (kept ??= surroundingsOfCandidate(sources, candidate, language))
    const fits = fitContext(query, candidate.fits, contextWords(around, candidate))
    const text = textScore(query, fits, candidate.share)
    if (text < leastText || !isWhereNamed(named, candidate, around, fits)) continue
    ranked.push({ candidate, around, fits, meters, score: scoreOf(text, candidate, meters) })
  }
  return ranked
}

function scoreOf(text: number, { importance }: GeocodeCandidate, meters: number | undefined): number {
  const nearness = meters === undefined ? 0 : 1 / (1 + meters / NEAR_METERS)
  return TEXT * text + IMPORTANCE * importance + NEARNESS * nearness
}

/** The areas around a candidate. For an area, its own name is among them. */
function surroundingsOfCandidate(
  sources: SearchSources,
  { position, own, area }: GeocodeCandidate,
  language: Language,
): Surroundings {
  const around = sources.surroundings(position, own, language)
  if (area === undefined || area.layer === 'country') return around
  if (area.layer === 'state') return { ...around, state: area.name, stateCode: area.code ?? around.stateCode }
  return { ...around, [area.layer === 'locality' ? 'city' : area.layer]: area.name }
}

/**
 * The words of everything that contains a record, in all languages. For a house, also those of the street's other
 * parts.
 */
function* contextWords(around: () => Surroundings, { street, layer }: GeocodeCandidate): Generator<Word> {
  const { country, state, stateCode, county, city, borough, neighborhood, postalCode, areas } = around()
  if (layer === 'place' && street !== undefined) yield* wordsOf(street)
  for (const name of [city, neighborhood, borough, county, state, postalCode])
    if (name !== undefined) yield* wordsOf(name)
  if (stateCode !== undefined) yield codeWord(stateCode)
  for (const { name, names } of areas.values()) {
    yield* wordsOf(name)
    for (const language of LANGUAGES) if (names[language] !== undefined) yield* wordsOf(names[language])
  }
  if (country !== undefined) for (const name of countryNames(country.code)) yield* name
}

function distance([x, y]: Position, [px, py]: Position): number {
  return pointDistance(y, x, py, px)
}
