import type { Position, Shape } from '../../src/model/geofence.ts'
import fc from '../kit/fastCheck.ts'
import type { Point } from './oracle.ts'

/** How often each property runs; RINGFENCE_TEST_RUNS multiplies it. */
export function runs(count: number): { numRuns: number } {
  return { numRuns: Math.max(1, Math.ceil(count * Number(process.env.RINGFENCE_TEST_RUNS ?? 1))) }
}

const METERS_PER_DEGREE = 111_200

/** The point so many metres east and north, approximately. The longitude may be outside ±180. */
export function offset(at: Point, east: number, north: number): Point {
  const cos = Math.max(0.01, Math.cos((at.latitude * Math.PI) / 180))
  return {
    latitude: Math.max(-90, Math.min(90, at.latitude + north / METERS_PER_DEGREE)),
    longitude: at.longitude + east / (METERS_PER_DEGREE * cos),
  }
}

export function inRange(at: Point): Point {
  const longitude = at.longitude - 360 * Math.round(at.longitude / 360)
  return { latitude: at.latitude, longitude: Math.max(-180, Math.min(180, longitude)) }
}

/** A number between two positive ones, with every order of magnitude equally likely. */
export function magnitude(min: number, max: number): fc.Arbitrary<number> {
  const range = { min: Math.log(min), max: Math.log(max), noNaN: true }
  return fc.double(range).map((exponent) => Math.exp(exponent))
}

export function place(maxLatitude: number): fc.Arbitrary<Point> {
  const longitude = fc.oneof(
    fc.double({ min: -180, max: 180, noNaN: true }),
    fc.constantFrom(-180, 180, 0, 179.9999, -179.9999),
  )
  return fc.record({ latitude: fc.double({ min: -maxLatitude, max: maxLatitude, noNaN: true }), longitude })
}

export interface Scene {
  readonly shape: Shape
  readonly center: Point
  /** Approximate size in metres. */
  readonly size: number
}

/**
 * Star-shaped polygons: they never cross themselves, have spikes, are wound in either direction, and have wrapped
 * longitudes or not.
 */
export function polygonScene(maxLatitude: number, minSize: number, maxSize: number): fc.Arbitrary<Scene> {
  return fc
    .record({
      center: place(maxLatitude),
      size: magnitude(minSize, maxSize),
      spokes: fc.array(fc.double({ min: 0.15, max: 1, noNaN: true }), { minLength: 3, maxLength: 40 }),
      turn: fc.double({ min: 0, max: 1, noNaN: true }),
      clockwise: fc.boolean(),
      wrapped: fc.boolean(),
    })
    .map(({ center, size, spokes, turn, clockwise, wrapped }) => {
      const ring: Position[] = spokes.map((spoke, i) => {
        const angle = (2 * Math.PI * (i + turn)) / spokes.length
        const at = offset(center, size * spoke * Math.cos(angle), size * spoke * Math.sin(angle))
        return wrapped ? [inRange(at).longitude, at.latitude] : [at.longitude, at.latitude]
      })
      ring.push(ring[0]!)
      if (clockwise) ring.reverse()
      return { shape: { kind: 'polygon', ring }, center, size }
    })
}

/** The same near a pole, with vertices at most 2.5° from it, but not around it. */
export function nearPoleScene(): fc.Arbitrary<Scene> {
  return fc.tuple(fc.boolean(), polygonScene(0, 5, 50_000)).map(([north, { shape, center, size }]) => {
    const latitude = north ? 89 : -89
    const ring = shape.kind === 'polygon' ? shape.ring : []
    const moved = ring.map(([lon, lat]): Position => {
      const offsetLon = inRange({ latitude: 0, longitude: lon - center.longitude }).longitude
      return [center.longitude + 40 * offsetLon, latitude + lat - center.latitude]
    })
    return { shape: { kind: 'polygon', ring: moved }, center: { ...center, latitude }, size }
  })
}

/** Rings around a pole, in the form of a coast: longitudes increase all the way round. */
export function polarScene(): fc.Arbitrary<Scene> {
  return fc
    .record({
      north: fc.boolean(),
      colatitude: magnitude(0.001, 25),
      wobble: fc.array(fc.double({ min: 0.4, max: 1, noNaN: true }), { minLength: 4, maxLength: 30 }),
      start: fc.double({ min: -180, max: 180, noNaN: true }),
      clockwise: fc.boolean(),
    })
    .map(({ north, colatitude, wobble, start, clockwise }) => {
      const sign = north ? 1 : -1
      const ring: Position[] = wobble.map((share, i) => [
        inRange({ latitude: 0, longitude: start + (360 * i) / wobble.length }).longitude,
        sign * (90 - colatitude * share),
      ])
      ring.push(ring[0]!)
      if (clockwise) ring.reverse()
      const center = { latitude: sign * 90, longitude: 0 }
      return { shape: { kind: 'polygon', ring }, center, size: colatitude * METERS_PER_DEGREE }
    })
}

export function circleScene(maxLatitude: number): fc.Arbitrary<Scene> {
  return fc.record({ center: place(maxLatitude), size: magnitude(10, 10_000) }).map(({ center, size }) => ({
    shape: { kind: 'circle', center: [center.longitude, center.latitude], radius: size },
    center,
    size,
  }))
}

/** The place of a probe, in units of the scene's size. */
export function standpoint(reach: number): fc.Arbitrary<{ east: number; north: number }> {
  const share = fc.double({ min: -reach, max: reach, noNaN: true })
  return fc.record({ east: share, north: share })
}

/**
 * A map drawn in letters. Each letter is a place. Columns are one step of longitude apart, rows one step of latitude;
 * row 0 is the northernmost, and indentation is ignored. `ring` lists letters in order.
 */
export function drawn(map: string, ring: string, at: Point, stepDegrees: number) {
  const places: Record<string, Position> = {}
  const rows = map.split('\n').filter((row) => row.trim() !== '')
  const indent = Math.min(...rows.map((row) => row.search(/\S/)))
  rows.forEach((line, y) => {
    const row = line.slice(indent)
    for (let x = 0; x < row.length; x++) {
      places[row[x]!] = [at.longitude + x * stepDegrees, at.latitude - y * stepDegrees]
    }
  })
  return { places, ring: [...ring].map((letter) => places[letter]!) }
}
