/** The questions of `geocode-quality`, and how many answers of a geocoder are right: the same for Ringfence and for another one. */
import { setImmediate } from 'node:timers/promises'
import type { Position } from '../../src/model/geofence.ts'
import { metersBetween, SAME_METERS, SPELLINGS, type House, type Manner } from './addressQuestions.ts'

/** A geocoder that is asked. Its answers are the best ones first. */
export interface Geocoder {
  /** Where the address is that the question names. */
  find(query: string): Position | undefined | Promise<Position | undefined>
  /** The streets of the first five completions near a point. */
  complete(begun: string, near: Position): readonly string[] | Promise<readonly string[]>
  /** Where the house is that is nearest to a point. */
  nearest(point: Position): Position | undefined | Promise<Position | undefined>
  spent(): Spent | Promise<Spent>
}

/** What a geocoder has done so far. */
export interface Spent {
  readonly searches: number
  readonly cpuSeconds: number
}

export interface Questions {
  /** The houses that are asked for, each once. */
  readonly drawn: readonly House[]
  readonly spelled: readonly (readonly [
    spelling: string,
    asked: readonly { readonly query: string; readonly house: House }[],
  ])[]
  readonly completed: readonly (readonly [question: string, houses: readonly House[]])[]
  /** Points near houses, and how far away the nearest house is. */
  readonly points: readonly { readonly point: Position; readonly least: number }[]
}

export interface RightAnswers {
  readonly question: string
  readonly asked: number
  readonly right: number
  /** CPU of a search. */
  readonly milliseconds: number
}

const LETTERS_SHARE = 0.6
/** Of the random points around a house. */
const AROUND_DEGREES = 1e-3

/**
 * @param houses see `distinctHouses`
 * @param count how many questions there are of each kind, at most
 */
export function drawQuestions(
  houses: readonly House[],
  manner: Manner,
  count: number,
  random: () => number,
): Questions {
  const drawn = someOf(houses, count, random)
  const spelled = Object.entries(SPELLINGS).map(([spelling, write]) => {
    const asked = drawn.flatMap((house) => {
      const query = write(house, manner, random)
      return query === undefined ? [] : [{ query, house }]
    })
    return [spelling, asked] as const
  })
  const streets = [...new Map(houses.map((house) => [house.streetId, house])).values()]
  const draw = (from: readonly House[]): House => from[Math.floor(random() * from.length)]!
  const drawMany = (from: readonly House[]): House[] => Array.from({ length: count }, () => draw(from))
  const completed = [
    ['a street after 60 % of its letters', drawMany(streets)],
    ['the same, by houses', drawMany(houses)],
  ] as const
  const points = Array.from({ length: count }, () => {
    const [x, y] = draw(houses).position
    const point: Position = [x + (random() - 0.5) * AROUND_DEGREES, y + (random() - 0.5) * AROUND_DEGREES]
    return { point, least: leastMeters(houses, point) }
  })
  return { drawn, spelled, completed, points }
}

/** Asks all questions and counts the right answers. */
export async function askAll(geocoder: Geocoder, questions: Questions): Promise<RightAnswers[]> {
  const answers: RightAnswers[] = []
  const count = async <One>(
    question: string,
    asked: readonly One[],
    isRight: (one: One) => Promise<boolean>,
  ): Promise<void> => {
    // So that the bench can be ended by a signal.
    await setImmediate()
    const before = await geocoder.spent()
    let right = 0
    for (const one of asked) if (await isRight(one)) right++
    const { searches, cpuSeconds } = await geocoder.spent()
    const milliseconds = (1000 * (cpuSeconds - before.cpuSeconds)) / (searches - before.searches)
    answers.push({ question, asked: asked.length, right, milliseconds })
  }
  for (const [spelling, asked] of questions.spelled)
    await count(spelling, asked, async ({ query, house }) => {
      const at = await geocoder.find(query)
      return at !== undefined && metersBetween(house.position, at) <= SAME_METERS
    })
  for (const [question, houses] of questions.completed)
    await count(question, houses, async ({ street, position }) => {
      const begun = street.slice(0, Math.ceil(street.length * LETTERS_SHARE))
      const streets = await geocoder.complete(begun, position)
      return streets.some((one) => one.toLowerCase() === street.toLowerCase())
    })
  await count('the nearest house', questions.points, async ({ point, least }) => {
    const at = await geocoder.nearest(point)
    return at !== undefined && flatMeters(point, at) <= least * 1.01 + 0.1
  })
  return answers
}

/** Draws this many of the houses at random, each at most once. */
function someOf(houses: readonly House[], count: number, random: () => number): House[] {
  const left = [...houses]
  return Array.from({ length: Math.min(count, left.length) }, () => {
    const at = Math.floor(random() * left.length)
    const [house] = left.splice(at, 1, left.at(-1)!)
    left.pop()
    return house!
  })
}

function leastMeters(houses: readonly House[], point: Position): number {
  return houses.reduce((meters, { position }) => Math.min(meters, flatMeters(point, position)), Infinity)
}

/** An approximation that is quicker than the exact distance, and right to a per cent within a kilometre. */
function flatMeters([x, y]: Position, [px, py]: Position): number {
  return Math.hypot((px - x) * Math.cos((y * Math.PI) / 180), py - y) * 111_195
}
