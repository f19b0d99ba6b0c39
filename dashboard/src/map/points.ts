import type { Map as MapLibre } from 'maplibre-gl'
import { serverNow } from '../clock.ts'
import type { Fleet } from '../live/fleet.ts'
import { discSprite, HEADINGS, type Sprite } from './sprites.ts'

/** The time between two paintings during glides. */
const FRAME_MS = 33
/** From this number of devices in view on, they are drawn smaller and without noses. */
const SMALL_FROM = 8000
const NOSES_BELOW = 500
const RADIUS = 5
const SMALL_RADIUS = 2.5
/** A device that has been silent for this long is grey. */
const SILENT_MS = 10 * 60_000
/** The greatest distance between a click and the device that it chooses. */
const HIT_PX = 14

interface Colors {
  readonly device: string
  readonly silent: string
  readonly chosen: string
  readonly ring: string
}

/** A sprite for the image of this width. */
interface Stamp extends Sprite {
  /** The offset in the image of each pixel from the centre. */
  readonly offset: Int32Array
}

/** The sprites of a device, one for each of the {@link HEADINGS} and one without a heading. */
interface SpriteSet {
  readonly plain: Stamp
  readonly small: Stamp
  readonly byHeading: readonly Stamp[]
}

/**
 * The devices, on a canvas above the map: when they move, the map is not drawn again. Nothing is painted while nothing
 * moves.
 */
export class Points {
  readonly #map: MapLibre
  readonly #fleet: Fleet
  readonly #canvas = document.createElement('canvas')
  readonly #context: CanvasRenderingContext2D
  #image: ImageData
  #pixels: Uint32Array
  #sprites: { readonly live: SpriteSet; readonly silent: SpriteSet } | undefined
  #colors: Colors | undefined
  #frame = 0
  #paintedAt = -Infinity
  #ratio = 1
  /** The device whose disc of accuracy is shown. */
  chosen: string | undefined
  /** Whether no positions arrive, so that all points are grey. */
  isStale = false
  /** How often it was painted, for measurements. */
  painted = 0

  constructor(map: MapLibre, fleet: Fleet) {
    this.#map = map
    this.#fleet = fleet
    this.#canvas.className = 'points'
    this.#context = this.#canvas.getContext('2d', { willReadFrequently: true })!
    this.#image = new ImageData(1, 1)
    this.#pixels = new Uint32Array(this.#image.data.buffer)
    map.getCanvasContainer().append(this.#canvas)
    map.on('resize', () => this.#resize())
    // The positions are painted in the frame of the map, so that points do not swim.
    map.on('move', () => this.#paint(performance.now()))
    this.#resize()
  }

  /** Takes the colours of another theme. */
  restyle(colors: Colors): void {
    this.#colors = colors
    this.#sprites = undefined
    this.changed()
  }

  /** Must be called after a change of the fleet: paints now, and until the last device has arrived. */
  changed(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame((now) => this.#step(now))
  }

  /** The device at a point of the screen. */
  at(x: number, y: number): string | undefined {
    const fleet = this.#fleet
    const now = performance.now()
    const { scale, left, top } = this.#view()
    let best = HIT_PX * HIT_PX
    let found: number | undefined
    for (let slot = 0; slot < fleet.size; slot++) {
      const share = fleet.progress(slot, now)
      const px =
        this.#onScreen(fleet.fromX[slot]! + (fleet.toX[slot]! - fleet.fromX[slot]!) * share, left) * scale
      const py = (fleet.fromY[slot]! + (fleet.toY[slot]! - fleet.fromY[slot]!) * share - top) * scale
      const distance = (px - x) ** 2 + (py - y) ** 2
      if (distance > best) continue
      best = distance
      found = slot
    }
    return found === undefined ? undefined : fleet.positions[found]!.user.deviceId
  }

  close(): void {
    cancelAnimationFrame(this.#frame)
    this.#canvas.remove()
  }

  #step(now: number): void {
    this.#frame = 0
    if (now - this.#paintedAt >= FRAME_MS - 4) this.#paint(now)
    if (now < this.#fleet.glidesUntil + FRAME_MS) this.changed()
  }

  /** The corner of the map in Mercator, and the pixels of the world. */
  #view() {
    const scale = 512 * 2 ** this.#map.getZoom()
    const { lng, lat } = this.#map.getCenter()
    const { clientWidth, clientHeight } = this.#map.getContainer()
    const sine = Math.sin((lat * Math.PI) / 180)
    const y = 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)
    return { scale, left: (lng + 180) / 360 - clientWidth / 2 / scale, top: y - clientHeight / 2 / scale }
  }

  /** The pixels from the left edge, in the copy of the world that is shown. */
  #onScreen(x: number, left: number): number {
    const offset = x - left
    return offset - Math.floor(offset)
  }

  #resize(): void {
    const { clientWidth, clientHeight } = this.#map.getContainer()
    this.#ratio = Math.min(devicePixelRatio, 2)
    this.#canvas.width = Math.max(1, Math.round(clientWidth * this.#ratio))
    this.#canvas.height = Math.max(1, Math.round(clientHeight * this.#ratio))
    this.#canvas.style.width = `${clientWidth}px`
    this.#canvas.style.height = `${clientHeight}px`
    this.#image = new ImageData(this.#canvas.width, this.#canvas.height)
    this.#pixels = new Uint32Array(this.#image.data.buffer)
    this.#sprites = undefined
    this.changed()
  }

  #paint(now: number): void {
    if (this.#colors === undefined) return
    this.#paintedAt = now
    this.painted++
    const fleet = this.#fleet
    const { scale, left, top } = this.#view()
    const { width, height } = this.#image
    const sprites = (this.#sprites ??= this.#makeSprites(this.#colors))
    const pixels = this.#pixels
    const pixelScale = scale * this.#ratio
    const isSmall = fleet.size > SMALL_FROM
    const hasNoses = fleet.size < NOSES_BELOW
    const silentBefore = this.isStale ? Infinity : serverNow() - SILENT_MS
    pixels.fill(0)
    // This loop runs for 50,000 devices 30 times a second, so it makes no objects and calls no functions.
    const { size, fromX, fromY, toX, toY, startedAt, updatedAt, glideMs } = fleet
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
      if (x > width + 20 || y < -20 || y > height + 20) continue
      const set = updatedAt[slot]! < silentBefore ? sprites.silent : sprites.live
      let sprite = isSmall ? set.small : set.plain
      if (hasNoses && (wayX !== 0 || wayY !== 0)) {
        const turn = Math.atan2(wayY, wayX) / (2 * Math.PI)
        sprite = set.byHeading[Math.round((turn + 1) * HEADINGS) % HEADINGS]!
      }
      stamp(pixels, width, height, sprite, x, y)
    }
    this.#context.putImageData(this.#image, 0, 0)
    if (this.chosen !== undefined) this.#paintChosen(this.chosen, now, left, top, scale)
  }

  /** The disc of accuracy and a ring around the chosen device. */
  #paintChosen(deviceId: string, now: number, left: number, top: number, scale: number): void {
    const fleet = this.#fleet
    const slot = fleet.slotOf(deviceId)
    if (slot === undefined) return
    const share = fleet.progress(slot, now)
    const x =
      this.#onScreen(fleet.fromX[slot]! + (fleet.toX[slot]! - fleet.fromX[slot]!) * share, left) * scale
    const y = (fleet.fromY[slot]! + (fleet.toY[slot]! - fleet.fromY[slot]!) * share - top) * scale
    const latitude = fleet.positions[slot]!.location.coordinates[1]
    const metersPerPixel = (40_075_017 * Math.cos((latitude * Math.PI) / 180)) / scale
    const context = this.#context
    context.save()
    context.scale(this.#ratio, this.#ratio)
    context.strokeStyle = this.#colors!.chosen
    context.fillStyle = this.#colors!.chosen
    context.lineWidth = 2.5
    context.beginPath()
    context.arc(x, y, RADIUS + 5, 0, 2 * Math.PI)
    context.stroke()
    context.globalAlpha = 0.16
    context.beginPath()
    context.arc(x, y, Math.min(fleet.accuracy[slot]! / metersPerPixel, 4000), 0, 2 * Math.PI)
    context.fill()
    context.restore()
  }

  #makeSprites({ device, silent, ring }: Colors) {
    const { width } = this.#image
    const stampOf = (radius: number, fill: string, heading?: number): Stamp => {
      const sprite = discSprite(radius * this.#ratio, fill, ring, heading)
      return { ...sprite, offset: Int32Array.from(sprite.dx, (dx, i) => sprite.dy[i]! * width + dx) }
    }
    const setOf = (fill: string): SpriteSet => ({
      plain: stampOf(RADIUS, fill),
      small: stampOf(SMALL_RADIUS, fill),
      byHeading: Array.from({ length: HEADINGS }, (_, i) =>
        stampOf(RADIUS, fill, (2 * Math.PI * i) / HEADINGS),
      ),
    })
    return { live: setOf(device), silent: setOf(silent) }
  }
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
