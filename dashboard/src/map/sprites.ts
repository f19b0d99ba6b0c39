/** Small pictures as lists of pixels, which are copied into an image faster than a canvas draws them. */
export interface Sprite {
  /** The offset of the pixel from the centre. */
  readonly dx: Int16Array
  readonly dy: Int16Array
  /** The colour as the image has it in memory: alpha, blue, green, red. */
  readonly color: Uint32Array
  /** The greatest distance of a pixel from the centre, in either direction. */
  readonly reach: number
}

export const HEADINGS = 16
/** Pixels at an edge with a lower opacity are left out. */
const MIN_ALPHA = 100

/**
 * A disc with a ring around it, and a nose if it has a heading.
 * @param radius in pixels of the screen
 * @param heading radians from the east, to the south
 */
export function discSprite(radius: number, fill: string, ring: string, heading?: number): Sprite {
  const half = Math.ceil(radius * 2) + 1
  const size = 2 * half
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = size
  const context = canvas.getContext('2d', { willReadFrequently: true })!
  context.translate(half, half)
  if (heading !== undefined) {
    context.save()
    context.rotate(heading)
    context.fillStyle = fill
    context.strokeStyle = ring
    context.lineWidth = radius * 0.35
    context.beginPath()
    context.moveTo(radius * 1.75, 0)
    context.lineTo(radius * 0.6, -radius * 0.95)
    context.lineTo(radius * 0.6, radius * 0.95)
    context.closePath()
    context.stroke()
    context.fill()
    context.restore()
  }
  context.fillStyle = fill
  context.strokeStyle = ring
  context.lineWidth = Math.max(1, radius * 0.35)
  context.beginPath()
  context.arc(0, 0, radius, 0, 2 * Math.PI)
  context.fill()
  context.stroke()
  return spriteOf(context.getImageData(0, 0, size, size), half)
}

function spriteOf({ data, width, height }: ImageData, half: number): Sprite {
  const pixels = new Uint32Array(data.buffer)
  const dx: number[] = []
  const dy: number[] = []
  const color: number[] = []
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const pixel = pixels[y * width + x]!
      if (pixel >>> 24 < MIN_ALPHA) continue
      dx.push(x - half)
      dy.push(y - half)
      color.push(pixel)
    }
  return {
    dx: Int16Array.from(dx),
    dy: Int16Array.from(dy),
    color: Uint32Array.from(color),
    reach: Math.max(0, ...dx.map(Math.abs), ...dy.map(Math.abs)),
  }
}
