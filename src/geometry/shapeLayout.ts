/**
 * How a prepared shape lies in a Float64 store (`ref` is the index of its first value).
 *
 * Circle, 8 values: kind, size, centre x, y, z (Earth-centred), radius, centre latitude, centre longitude.
 *
 * Polygon: kind, size, edges n, leaves L, pole, flags, 0, 0; 2L − 1 nodes of 5 values: west, south, east, north,
 * smallest cosine of latitude; n + 1 vertices of 2 values: longitude, latitude. The chain of edges in ring order is cut
 * into L (a power of two) runs of about {@link LEAF_EDGES} edges; over the runs stands a complete binary tree of
 * their boxes, node i with the children 2i + 1 and 2i + 2, so neither pointers nor sorting are needed. Box and vertices
 * are in degrees, continuous in longitude, the inside to the left of every edge.
 */
export const KIND = 0
export const SIZE = 1
export const CIRCLE = 1
export const POLYGON = 2

export const CIRCLE_X = 2
export const CIRCLE_Y = 3
export const CIRCLE_Z = 4
export const CIRCLE_RADIUS = 5
export const CIRCLE_LATITUDE = 6
export const CIRCLE_LONGITUDE = 7
export const CIRCLE_SIZE = 8

export const POLYGON_EDGES = 2
export const POLYGON_LEAVES = 3
/** 1 encloses the north pole, −1 the south pole, 0 none. */
export const POLYGON_POLE = 4
export const POLYGON_FLAGS = 5
export const POLYGON_NODES = 8
export const NODE_SIZE = 5

/** Too wide for one local frame, or round a pole: every question takes the spherical path. */
export const FLAG_GLOBAL = 1
/** Spans exactly 360°; its two ends lie on each other and are no boundary. */
export const FLAG_SEAM = 2

/** Edges per leaf of the tree; the number of leaves is the next power of two. */
const LEAF_EDGES = 8

/** Leaves for that many edges: a power of two. */
export function leavesFor(edges: number): number {
  let leaves = 1
  while (leaves * LEAF_EDGES < edges) leaves *= 2
  return leaves
}

/** First edge of a leaf; `leaf` may be L for the end of the last. */
export function leafStart(leaf: number, leaves: number, edges: number): number {
  return Math.floor((leaf * edges) / leaves)
}

/** The index of a polygon's first vertex value. */
export function verticesOf(ref: number, leaves: number): number {
  return ref + POLYGON_NODES + NODE_SIZE * (2 * leaves - 1)
}
