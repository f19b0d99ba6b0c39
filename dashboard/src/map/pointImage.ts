import type { Fleet } from '../live/fleet.ts'
import { discSprite, HEADINGS, type Sprite } from './sprites.ts'

/** From this number of devices on, they are drawn smaller and without noses. */
const SMALL_FROM = 8000
const NOSES_BELOW = 500
export const RADIUS = 5
const SMALL_RADIUS = 2.5
/** No stamp reaches further from its centre than this. */
const MARGIN = 40
/** Places in the image are numbers: a row of this many for each line, wider than any screen. */
const PLACES_A_LINE = 1 << 15
/** The place of a device outside of the image. */
const OUTSIDE = -1

/** What part of the world the image shows. */
export interface PointView {
  /** The corner of the image in the Mercator square. */
  readonly left: number
  readonly top: number
  /** The pixels of the image for the side of the Mercator square. */
  readonly pixelScale: number
}

/** A sprite for an image of this width. */
interface Stamp extends Sprite {
  /** The offset in the image of each pixel from the centre. */
  readonly offset: Int32Array
}

/** The stamps of live devices: the small one, the plain one, one for each of the {@link HEADINGS}; then those of silent ones. */
const PLAIN = 1
const FIRST_HEADING = 2
const STAMPS_A_STATE = FIRST_HEADING + HEADINGS

/**
 * The picture of the devices. It knows where it has drawn each device, so that nothing is drawn if all of them are still
 * at the same pixels.
 */
export class PointImage {
  readonly data: ImageData
  readonly #pixels: Uint32Array
  readonly #stamps: readonly Stamp[]
  /** Where each slot of the fleet is drawn, and by which stamp. */
  #places = new Int32Array(0)
  #kinds = new Uint8Array(0)
  #drawn = 0

  /**
   * An empty picture.
   * @param ratio pixels of the image for one of CSS
   */
  constructor(
    width: number,
    height: number,
    ratio: number,
    colors: { readonly device: string; readonly silent: string; readonly ring: string },
  ) {
    this.data = new ImageData(width, height)
    this.#pixels = new Uint32Array(this.data.data.buffer)
    this.#stamps = [colors.device, colors.silent].flatMap((fill) => stampsOf(fill, colors.ring, ratio, width))
  }

  /**
   * Draws the devices where they are.
   * @param now in the time of `performance.now()`
   * @param silentBefore devices whose last update is older, in epoch milliseconds, are drawn as silent
   * @returns whether the picture has changed
   */
  draw(fleet: Fleet, view: PointView, now: number, silentBefore: number): boolean {
    if (!this.#place(fleet, view, now, silentBefore)) return false
    this.#stampAll(fleet.size)
    return true
  }

  /** Decides where each device is drawn. Returns whether that differs from what is drawn. */
  #place(fleet: Fleet, { left, top, pixelScale }: PointView, now: number, silentBefore: number): boolean {
    const { size, fromX, fromY, toX, toY, startedAt, updatedAt, glideMs } = fleet
    if (this.#places.length < size) this.#grow(fleet.toX.length)
    const { width, height } = this.data
    const isSmall = size > SMALL_FROM
    const hasNoses = size < NOSES_BELOW
    const places = this.#places
    const kinds = this.#kinds
    let isChanged = size !== this.#drawn
    this.#drawn = size
    // This loop runs for 50,000 devices 30 times a second, so it makes no objects and calls no functions of ours.
    for (let slot = 0; slot < size; slot++) {
      const age = now - startedAt[slot]!
      const share = age >= glideMs || glideMs === 0 ? 1 : age / glideMs
      const beginX = fromX[slot]!
      const beginY = fromY[slot]!
      const wayX = toX[slot]! - beginX
      const wayY = toY[slot]! - beginY
      // The copy of the world that is shown decides where the device is painted.
      const east = beginX + wayX * share - left
      const x = Math.round((east - Math.floor(east)) * pixelScale)
      const y = Math.round((beginY + wayY * share - top) * pixelScale)
      const isOutside = x > width + MARGIN || y < -MARGIN || y > height + MARGIN
      const place = isOutside ? OUTSIDE : (y + MARGIN) * PLACES_A_LINE + x
      let kind = isSmall ? 0 : PLAIN
      if (hasNoses && (wayX !== 0 || wayY !== 0)) {
        const turn = Math.atan2(wayY, wayX) / (2 * Math.PI)
        kind = FIRST_HEADING + (Math.round((turn + 1) * HEADINGS) % HEADINGS)
      }
      if (updatedAt[slot]! < silentBefore) kind += STAMPS_A_STATE
      if (place === places[slot] && kind === kinds[slot]) continue
      // What changes outside of the image is not seen.
      if (place !== OUTSIDE || places[slot] !== OUTSIDE) isChanged = true
      places[slot] = place
      kinds[slot] = kind
    }
    return isChanged
  }

  #stampAll(size: number): void {
    const pixels = this.#pixels
    const stamps = this.#stamps
    const places = this.#places
    const kinds = this.#kinds
    const { width, height } = this.data
    pixels.fill(0)
    for (let slot = 0; slot < size; slot++) {
      const place = places[slot]!
      if (place === OUTSIDE) continue
      stamp(
        pixels,
        width,
        height,
        stamps[kinds[slot]!]!,
        place % PLACES_A_LINE,
        Math.floor(place / PLACES_A_LINE) - MARGIN,
      )
    }
  }

  #grow(length: number): void {
    const places = new Int32Array(length).fill(OUTSIDE)
    const kinds = new Uint8Array(length)
    places.set(this.#places)
    kinds.set(this.#kinds)
    this.#places = places
    this.#kinds = kinds
  }
}

function stampsOf(fill: string, ring: string, ratio: number, width: number): Stamp[] {
  const stampOf = (radius: number, heading?: number): Stamp => {
    const sprite = discSprite(radius * ratio, fill, ring, heading)
    return { ...sprite, offset: Int32Array.from(sprite.dx, (dx, i) => sprite.dy[i]! * width + dx) }
  }
  return [
    stampOf(SMALL_RADIUS),
    stampOf(RADIUS),
    ...Array.from({ length: HEADINGS }, (_, i) => stampOf(RADIUS, (2 * Math.PI * i) / HEADINGS)),
  ]
}

function stamp(
  pixels: Uint32Array,
  width: number,
  height: number,
  { dx, dy, color, offset, reach }: Stamp,
  x: number,
  y: number,
): void {
  if (x >= reach && y >= reach && x < width - reach && y < height - reach) {
    const center = y * width + x
    for (let i = 0; i < color.length; i++) pixels[center + offset[i]!] = color[i]!
    return
  }
  for (let i = 0; i < color.length; i++) {
    const px = x + dx[i]!
    const py = y + dy[i]!
    if (px >= 0 && py >= 0 && px < width && py < height) pixels[py * width + px] = color[i]!
  }
}
