/**
 * The meaning of Valhalla's errors. Its binding only gives a text; its server also gives a number (`error_code`), and
 * in OSRM's form another text and code. One table has all of them.
 *
 * Source of the numbers and texts: `src/exceptions.cc` of Valhalla 3.6.
 */
import {
  BadRoutingRequest,
  NoMatch,
  NoRoadNear,
  NoRoute,
  TooFar,
  TooMuch,
  Unconnected,
  type RoutingRefusal,
} from './port.ts'

type RefusalClass = new (code: number, message: string) => RoutingRefusal

interface Cause {
  readonly code: number
  /** The beginning of the error's text. */
  readonly text: string
  /** The code in OSRM's form, if that code names no other cause before it. */
  readonly osrm?: string
  readonly refusal: RefusalClass
}

const CAUSES: readonly Cause[] = [
  { code: 150, text: 'Exceeded max locations', refusal: TooMuch },
  { code: 151, text: 'Exceeded max time', refusal: TooMuch },
  { code: 152, text: 'Exceeded max contours', refusal: TooMuch },
  { code: 153, text: 'Too many shape points', refusal: TooMuch },
  {
    code: 154,
    text: 'Path distance exceeds the max distance limit',
    osrm: 'DistanceExceeded',
    refusal: TooFar,
  },
  { code: 157, text: 'Exceeded max avoid locations', refusal: TooMuch },
  {
    code: 167,
    text: 'Exceeded maximum circumference for exclude_polygons',
    osrm: 'PerimeterExceeded',
    refusal: TooMuch,
  },
  { code: 170, text: 'Locations are in unconnected regions', refusal: Unconnected },
  { code: 171, text: 'No suitable edges near location', osrm: 'NoSegment', refusal: NoRoadNear },
  {
    code: 172,
    text: 'Exceeded breakage distance for all pairs',
    osrm: 'BreakageDistanceExceeded',
    refusal: TooFar,
  },
  { code: 430, text: 'Exceeded max iterations in CostMatrix::SourceToTarget', refusal: TooFar },
  { code: 441, text: 'Location is unreachable', refusal: NoRoute },
  { code: 442, text: 'No path could be found for input', osrm: 'NoRoute', refusal: NoRoute },
  { code: 443, text: 'Exact route match algorithm failed to find path', refusal: NoMatch },
  { code: 444, text: 'Map Match algorithm failed to find path', refusal: NoMatch },
]

/** Valhalla's number for errors that have no number of their own. */
const UNKNOWN = 199

/** The binding puts the method before the text: `TraceRoute error: …`. */
const METHOD = /^\w+ error: /

/**
 * The error class for a failure of Valhalla.
 * @param text the text of the binding's error, or the `error` or `message` of a server's answer
 * @param code the server's `error_code`, or its code in OSRM's form; undefined if only the text is known
 */
export function engineRefusal(text: string, code?: number | string): RoutingRefusal {
  const message = text.replace(METHOD, '')
  const cause = CAUSES.find((candidate) =>
    code === undefined
      ? message.startsWith(candidate.text)
      : code === candidate.code || code === candidate.osrm,
  )
  if (cause !== undefined) return new cause.refusal(cause.code, message)
  return new BadRoutingRequest(typeof code === 'number' ? code : UNKNOWN, message)
}
