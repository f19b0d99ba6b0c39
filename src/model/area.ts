import type { Position } from './geofence.ts'

/** An area in requests and answers. Radii are in metres, and `box` is west, south, east, north in degrees. */
export type Area =
  | { readonly type: 'circle'; readonly center: Position; readonly radius: number }
  | { readonly type: 'box'; readonly box: readonly [number, number, number, number] }
  | { readonly type: 'polygon'; readonly coordinates: readonly (readonly Position[])[] }
