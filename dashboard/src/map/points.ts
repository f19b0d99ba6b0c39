import type { Map as MapLibre } from 'maplibre-gl'
import { serverNow } from '../clock.ts'
import type { Fleet } from '../live/fleet.ts'
import { PointImage, RADIUS } from './pointImage.ts'

/** The least time between two paintings during glides, and the greatest that is waited for. Frames come in steps of the screen. */
const MIN_FRAME_MS = 14
const MAX_FRAME_MS = 29
/** Between two paintings is as many times the time that one takes. */
const REST = 3
/** How much one painting counts in the average of the time that it takes. */
const NEWEST_SHARE = 0.1
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

interface Disc {
  readonly x: number
  readonly y: number
  readonly accuracy: number
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
  /** Undefined until it is painted with these colours in this size. */
  #image: PointImage | undefined
  #colors: Colors | undefined
  #frame = 0
  #paintedAt = -Infinity
  /** The milliseconds that a painting takes. */
  #cost = 0
  /** What is drawn around the chosen device. */
  #drawnChosen = ''
  #ratio = 1
  /** The device whose disc of accuracy is shown. */
  chosen: string | undefined
  /** Whether no positions arrive, so that all points are grey. */
  isStale = false
  /** How often something new was painted, for measurements. */
  painted = 0

  constructor(map: MapLibre, fleet: Fleet) {
    this.#map = map
    this.#fleet = fleet
    this.#canvas.className = 'points'
    this.#context = this.#canvas.getContext('2d')!
    map.getCanvasContainer().append(this.#canvas)
    map.on('resize', () => this.#resize())
    // The positions are painted in the frame of the map, so that points do not swim.
    map.on('move', () => this.#paint(performance.now()))
    this.#resize()
  }

  /** Takes the colours of another theme. */
  restyle(colors: Colors): void {
    this.#colors = colors
    this.#image = undefined
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
    // What is cheap is painted with each frame of the screen; what is not leaves time for all else.
    const rest = Math.max(MIN_FRAME_MS, Math.min(MAX_FRAME_MS, this.#cost * REST))
    const mayPaint = now - this.#paintedAt >= rest
    if (mayPaint) this.#paint(now)
    // What has to rest is painted in one of the next frames: a resized canvas is empty, and perhaps no device moves.
    if (!mayPaint || now < this.#fleet.glidesUntil + MAX_FRAME_MS) this.changed()
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
    this.#image = undefined
    this.changed()
  }

  #paint(now: number): void {
    if (this.#colors === undefined) return
    this.#paintedAt = now
    const begin = performance.now()
    const { width, height } = this.#canvas
    const isNew = this.#image === undefined
    const image = (this.#image ??= new PointImage(width, height, this.#ratio, this.#colors))
    const view = this.#view()
    const { scale, left, top } = view
    const silentBefore = this.isStale ? Infinity : serverNow() - SILENT_MS
    const pixelScale = scale * this.#ratio
    const hasMoved = image.draw(this.#fleet, { left, top, pixelScale }, now, silentBefore)
    const chosen = this.#chosenDisc(now, view)
    const chosenText = JSON.stringify(chosen)
    if (!isNew && !hasMoved && chosenText === this.#drawnChosen) return
    this.#drawnChosen = chosenText
    this.painted++
    this.#context.putImageData(image.data, 0, 0)
    if (chosen !== undefined) this.#paintChosen(chosen)
    this.#cost += (performance.now() - begin - this.#cost) * NEWEST_SHARE
  }

  /** Where the chosen device is, with its accuracy; in pixels of CSS. */
  #chosenDisc(
    now: number,
    { scale, left, top }: { scale: number; left: number; top: number },
  ): Disc | undefined {
    const fleet = this.#fleet
    const slot = this.chosen === undefined ? undefined : fleet.slotOf(this.chosen)
    if (slot === undefined) return undefined
    const share = fleet.progress(slot, now)
    const x =
      this.#onScreen(fleet.fromX[slot]! + (fleet.toX[slot]! - fleet.fromX[slot]!) * share, left) * scale
    const y = (fleet.fromY[slot]! + (fleet.toY[slot]! - fleet.fromY[slot]!) * share - top) * scale
    const latitude = fleet.positions[slot]!.location.coordinates[1]
    const metersPerPixel = (40_075_017 * Math.cos((latitude * Math.PI) / 180)) / scale
    const inTenths = (pixels: number) => Math.round(pixels * 10) / 10
    return {
      x: inTenths(x),
      y: inTenths(y),
      accuracy: inTenths(Math.min(fleet.accuracy[slot]! / metersPerPixel, 4000)),
    }
  }

  /** The disc of accuracy and a ring around the chosen device. */
  #paintChosen({ x, y, accuracy }: Disc): void {
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
    context.arc(x, y, accuracy, 0, 2 * Math.PI)
    context.fill()
    context.restore()
  }
}
