import type { AnswerOf } from '../../../../sdk/src/types.ts'
import { call } from '../../api/call.ts'
import type { LngLat } from '../../map/geometry.ts'

/** The question that somebody asks. */
export interface Asked {
  readonly points: readonly LngLat[]
  readonly text: string
  readonly mode: string
  readonly minutes: string
}

/** What the server answers, and the credit for its data. */
export type Answer = AnswerOfKind & { readonly credit: string | undefined }

type AnswerOfKind =
  | { readonly kind: 'addresses'; readonly addresses: AnswerOf<'/v1/geocode/forward', 'get'>['addresses'] }
  | {
      readonly kind: 'here'
      readonly addresses: AnswerOf<'/v1/geocode/reverse', 'get'>['addresses']
      readonly context: AnswerOf<'/v1/context', 'get'>['context']
    }
  | { readonly kind: 'places'; readonly places: AnswerOf<'/v1/search/places', 'get'>['places'] }
  | { readonly kind: 'routes'; readonly routes: AnswerOf<'/v1/route/directions', 'get'>['routes'] }
  | { readonly kind: 'order'; readonly route: AnswerOf<'/v1/route/optimize', 'get'>['route'] }
  | { readonly kind: 'matrix'; readonly matrix: AnswerOf<'/v1/route/matrix', 'get'>['matrix'] }
  | { readonly kind: 'matched'; readonly matched: AnswerOf<'/v1/route/match', 'post'> }
  | {
      readonly kind: 'reach'
      readonly isochrone: AnswerOf<'/v1/route/isochrone', 'get'>['isochrone']
    }

interface ShownRequest {
  readonly method?: 'POST'
  readonly path: string
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

interface Question {
  readonly title: string
  readonly help: string
  /** What the person must do before the question can be asked. */
  readonly missing: string
  /** The label of the text field, if the question has one. */
  readonly hasText?: string
  readonly hasMode?: true
  readonly hasMinutes?: true
  /** The call that the question is useless without, if not every server has it. */
  readonly needs?: string
  /** The maximum number of points. */
  readonly points: number
  isReady(asked: Asked): boolean
  callOf(asked: Asked): ShownRequest
  ask(asked: Asked, signal: AbortSignal): Promise<Answer>
}

/** The minutes of an isochrone, unless others are typed. */
export const USUAL_MINUTES = '10'
const TWO = 'Click on the map, or type two points.'
const GEOMETRY = { geometry: 'linestring', units: 'metric' } as const

/** Everything that can be tried, by the part of the address. */
export const QUESTIONS: Readonly<Record<string, Question>> = {
  search: {
    title: 'Search',
    help: 'Completes an address or the name of a place as you type it.',
    missing: 'Type the beginning of an address.',
    hasText: 'Address or place',
    points: 0,
    isReady: ({ text }) => text.trim() !== '',
    callOf: ({ text }) => ({ path: '/v1/search/autocomplete', query: { query: text } }),
    async ask({ text }, signal) {
      const query = { query: text }
      const { addresses, meta } = await call('get', '/v1/search/autocomplete', { query, signal })
      return { kind: 'addresses', addresses, credit: meta.attribution }
    },
  },
  here: {
    title: 'What is here?',
    help: 'The addresses, region, place and geofences of a point.',
    missing: 'Click on the map.',
    points: 1,
    isReady: ({ points }) => points.length === 1,
    callOf: ({ points }) => ({ path: '/v1/geocode/reverse', query: { coordinates: pointText(points[0]!) } }),
    async ask({ points }, signal) {
      const query = { coordinates: pointText(points[0]!) }
      const [{ addresses, meta }, { context }] = await Promise.all([
        call('get', '/v1/geocode/reverse', { query, signal }),
        call('get', '/v1/context', { query, signal }),
      ])
      return { kind: 'here', addresses, context, credit: meta.attribution }
    },
  },
  places: {
    title: 'Places',
    help: 'Places of a chain or category near a point.',
    missing: 'Click on the map, and name a category or chain.',
    hasText: 'Category or chain, such as restaurant',
    points: 1,
    isReady: ({ points, text }) => points.length === 1 && text.trim() !== '',
    callOf: ({ points, text }) => ({
      path: '/v1/search/places',
      query: { near: pointText(points[0]!), categories: text.trim(), radius: 2000, limit: 50 },
    }),
    async ask({ points, text }, signal) {
      const query = { near: pointText(points[0]!), categories: text.trim(), radius: 2000, limit: 50 }
      const { places, meta } = await call('get', '/v1/search/places', { query, signal })
      return { kind: 'places', places, credit: meta.attribution }
    },
  },
  route: {
    title: 'Directions',
    help: 'The way through points in their order, with its steps; with two points also other ways.',
    missing: TWO,
    hasMode: true,
    points: 25,
    isReady: ({ points }) => points.length > 1,
    callOf: (asked) => ({ path: '/v1/route/directions', query: directionsQuery(asked) }),
    async ask(asked, signal) {
      const { routes, meta } = await call('get', '/v1/route/directions', {
        query: directionsQuery(asked) as never,
        signal,
      })
      return { kind: 'routes', routes, credit: meta.attribution }
    },
  },
  optimize: {
    title: 'Best order',
    help: 'The order of the stops between the first and the last point that takes the least time.',
    missing: 'Click at least three points: where it begins, the stops, and where it ends.',
    hasMode: true,
    points: 10,
    isReady: ({ points }) => points.length > 1,
    callOf: (asked) => ({ path: '/v1/route/optimize', query: throughQuery(asked) }),
    async ask(asked, signal) {
      const { route, meta } = await call('get', '/v1/route/optimize', {
        query: throughQuery(asked) as never,
        signal,
      })
      return { kind: 'order', route, credit: meta.attribution }
    },
  },
  matrix: {
    title: 'Matrix',
    help: 'Distance and time from each point to each other one.',
    missing: TWO,
    hasMode: true,
    points: 10,
    isReady: ({ points }) => points.length > 1,
    callOf: (asked) => ({ path: '/v1/route/matrix', query: matrixQuery(asked) }),
    async ask(asked, signal) {
      const { matrix, meta } = await call('get', '/v1/route/matrix', {
        query: matrixQuery(asked) as never,
        signal,
      })
      return { kind: 'matrix', matrix, credit: meta.attribution }
    },
  },
  match: {
    title: 'Match',
    help: 'The roads that a recorded path followed: click along a street, a bit beside it.',
    missing: TWO,
    hasMode: true,
    points: 100,
    isReady: ({ points }) => points.length > 1,
    callOf: (asked) => ({ method: 'POST', path: '/v1/route/match', body: matchBody(asked) }),
    async ask(asked, signal) {
      const matched = await call('post', '/v1/route/match', { body: matchBody(asked) as never, signal })
      return { kind: 'matched', matched, credit: matched.meta.attribution }
    },
  },
  isochrone: {
    title: 'Isochrone',
    help: 'The area from which a point can be reached in some minutes.',
    missing: 'Click on the map.',
    hasMode: true,
    hasMinutes: true,
    needs: 'GET /v1/route/isochrone',
    points: 1,
    isReady: ({ points }) => points.length === 1,
    callOf: (asked) => ({ path: '/v1/route/isochrone', query: isochroneQuery(asked) }),
    async ask(asked, signal) {
      const { isochrone, meta } = await call('get', '/v1/route/isochrone', {
        query: isochroneQuery(asked) as never,
        signal,
      })
      return { kind: 'reach', isochrone, credit: meta.attribution }
    },
  },
}

/** `-34.90000,-56.17000`: the latitude first, as the API has it. */
export function pointText([longitude, latitude]: LngLat): string {
  return `${latitude.toFixed(5)},${longitude.toFixed(5)}`
}

/** The points in a text. Whatever is not a point is left out. */
export function pointsIn(text: string): LngLat[] {
  return text.split('|').flatMap((part): LngLat[] => {
    const [latitude, longitude] = part
      .split(',')
      .map((number) => (number.trim() === '' ? NaN : Number(number)))
    if (latitude === undefined || longitude === undefined) return []
    return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? [[longitude, latitude]] : []
  })
}

function throughQuery({ points, mode }: Asked) {
  return { locations: points.map(pointText).join('|'), mode, ...GEOMETRY }
}

function directionsQuery(asked: Asked) {
  return { ...throughQuery(asked), ...(asked.points.length === 2 && { alternatives: true }) }
}

function matrixQuery({ points, mode }: Asked) {
  const all = points.map(pointText).join('|')
  return { origins: all, destinations: all, mode, units: 'metric' }
}

function isochroneQuery({ points, mode, minutes }: Asked) {
  return { coordinates: pointText(points[0]!), minutes: minutes.trim() || USUAL_MINUTES, mode }
}

function matchBody({ points, mode }: Asked) {
  return { path: points.map((point) => ({ coordinates: pointText(point) })), mode, ...GEOMETRY }
}
