import type { Position } from './geofence.ts'

/** An area as requests and answers have it. Radii are metres; `box` is west, south, east, north in degrees. */
export type Area =
  | { readonly type: 'circle'; readonly center: Position; readonly radius: number }
  | { readonly type: 'box'; readonly box: readonly [number, number, number, number] }
  | { readonly type: 'polygon'; readonly coordinates: readonly (readonly Position[])[] }
