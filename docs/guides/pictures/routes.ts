/**
 * Pictures of routes, to scale. directions.json is the answer of `GET /v1/route/directions` with alternatives, between two addresses
 * of the sample region, without what is not drawn.
 */
import { readFileSync } from 'node:fs'
import { pointDistance } from '../../../src/geometry/distance.ts'
import { decodePolyline, type LonLatPoint } from '../../../src/geo/routing/polyline.ts'
import { box, circle, label, path, picture } from './svg.ts'

interface Directions {
  readonly routes: readonly {
    readonly distance: { readonly text: string }
    readonly duration: { readonly text: string }
    readonly geometry: { readonly polyline: string }
    readonly legs: readonly { readonly steps: readonly Step[] }[]
  }[]
}

interface Step {
  readonly start_location: { readonly longitude: number; readonly latitude: number }
  readonly instructions: string
}

const WIDTH = 760
const MARGIN = 45
const TOP = 50

/** The best way with its turns, those behind it, and what to do at each turn. */
export function directions(): string {
  const { routes } = JSON.parse(
    readFileSync(new URL('directions.json', import.meta.url), 'utf8'),
  ) as Directions
  const ways = routes.map(({ geometry }) => decodePolyline(geometry.polyline, 6))
  const { at, height, metersWide } = frame(ways.flat())
  const [best] = routes
  const steps = best!.legs.flatMap((leg) => leg.steps)
  const parts = ways.slice(1).map((way) => path(way.map(at), 'otherroute'))
  parts.push(path(ways[0]!.map(at), 'route'))
  for (const { start_location: place } of steps.slice(1, -1))
    parts.push(circle(...at([place.longitude, place.latitude]), 4.5, 'turn'))
  for (const [i, end] of [ways[0]![0]!, ways[0]!.at(-1)!].entries()) {
    const [x, y] = at(end)
    parts.push(circle(x, y, 10, 'dot'), label(x, y + 4.5, 'AB'[i]!, 'onbar', 'middle'))
  }
  const texts = routes.map(({ distance, duration }) => `${distance.text}, ${duration.text}`)
  const others = texts.slice(1).map((text) => `or ${text}`)
  parts.push(label(18, 28, texts[0]!, 'strong'), label(150, 28, others.join('; '), 'small'))
  const kilometer = (WIDTH - 2 * MARGIN) / (metersWide / 1000)
  parts.push(box(WIDTH - 20 - kilometer, 26, kilometer, 3, 'dot'))
  parts.push(label(WIDTH - 20 - kilometer / 2, 20, '1 km', 'small', 'middle'))
  const listTop = TOP + height + 40
  for (const [i, { instructions }] of steps.entries()) {
    const column = Math.floor(i / 4)
    parts.push(label(45 + column * 345, listTop + (i % 4) * 22, `${i + 1}. ${instructions}`))
  }
  const bottom = listTop + 4 * 22 + 8
  parts.push(label(WIDTH - 18, bottom - 8, '© OpenStreetMap contributors', 'small', 'end'))
  return picture(WIDTH, bottom, 'Three ways between two addresses, and the steps of the best', parts)
}

/** Where places are in the picture: all of them between its margins, north up. `height` is theirs, in pixels. */
function frame(places: readonly LonLatPoint[]) {
  const longitudes = places.map(([longitude]) => longitude)
  const latitudes = places.map(([, latitude]) => latitude)
  const [west, east] = [Math.min(...longitudes), Math.max(...longitudes)]
  const [south, north] = [Math.min(...latitudes), Math.max(...latitudes)]
  const middle = (south + north) / 2
  const metersWide = pointDistance(middle, west, middle, east)
  const metersHigh = pointDistance(south, west, north, west)
  const width = WIDTH - 2 * MARGIN
  const height = (width * metersHigh) / metersWide
  const at = ([longitude, latitude]: LonLatPoint): [number, number] => [
    MARGIN + (width * (longitude - west)) / (east - west),
    TOP + (height * (north - latitude)) / (north - south),
  ]
  return { at, height, metersWide }
}
