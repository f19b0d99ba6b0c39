/**
 * Icons for maps: those of Maki (CC0) side by side in one picture, as signed distance fields, so that styles choose their
 * colours. https://maplibre.org/maplibre-style-spec/sprite/
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { crc32, deflateSync } from 'node:zlib'
import { distanceField, pathEdges, FIELD_MARGIN, type PathCommand } from './distanceField.ts'
import { ICON_NAMES, ICON_PACKAGE } from './placeIcons.ts'

/** The side of an icon in units, which are pixels on a screen with one pixel for each. */
const SIDE = 15
const COLUMNS = 12
/** `PNG` between bytes that text tools would change. */
const SIGNATURE = Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10)

const require = createRequire(import.meta.url)

/** A sprite: the picture, and where each icon is in it. */
export interface Sprite {
  readonly png: Uint8Array
  readonly json: string
}

/**
 * Draws the icons.
 * @param ratio the pixels of the picture for each pixel on the screen, 1 or 2
 */
export function makeSprite(ratio: number): Sprite {
  const svgPath = require('svgpath') as (d: string) => SvgPath
  const side = SIDE * ratio + 2 * FIELD_MARGIN
  const rows = Math.ceil(ICON_NAMES.length / COLUMNS)
  const [width, height] = [COLUMNS * side, rows * side]
  const pixels = new Uint8Array(width * height)
  const places: Record<string, object> = {}
  for (const [i, name] of ICON_NAMES.entries()) {
    const [x, y] = [(i % COLUMNS) * side, Math.floor(i / COLUMNS) * side]
    const svg = readFileSync(require.resolve(`${ICON_PACKAGE}/icons/${name}.svg`), 'utf8')
    const edges = [...svg.matchAll(/\sd="([^"]*)"/g)].flatMap(([, path]) =>
      pathEdges(commandsOf(svgPath(path!.replaceAll(/&#x[0-9A-F];/g, ' ')).scale(ratio))),
    )
    const field = distanceField(edges, -FIELD_MARGIN, -FIELD_MARGIN, side, side)
    for (let row = 0; row < side; row++)
      pixels.set(field.subarray(row * side, (row + 1) * side), (y + row) * width + x)
    places[name] = { x, y, width: side, height: side, pixelRatio: ratio, sdf: true }
  }
  return { png: pngOf(pixels, width, height), json: JSON.stringify(places) }
}

/** What is used of svgpath. */
interface SvgPath {
  scale(factor: number): SvgPath
  abs(): SvgPath
  unarc(): SvgPath
  unshort(): SvgPath
  iterate(visit: (segment: readonly [string, ...number[]], index: number, x: number, y: number) => void): void
}

function commandsOf(path: SvgPath): PathCommand[] {
  const commands: PathCommand[] = []
  path
    .abs()
    .unarc()
    .unshort()
    .iterate(([type, ...n], _, startX, startY) => {
      if (type === 'H') commands.push({ type: 'L', x: n[0]!, y: startY })
      else if (type === 'V') commands.push({ type: 'L', x: startX, y: n[0]! })
      else if (type === 'C')
        commands.push({ type, x1: n[0]!, y1: n[1]!, x2: n[2]!, y2: n[3]!, x: n[4]!, y: n[5]! })
      else if (type === 'Q') commands.push({ type, x1: n[0]!, y1: n[1]!, x: n[2]!, y: n[3]! })
      else if (type === 'Z') commands.push({ type })
      else commands.push({ type, x: n[0]!, y: n[1]! })
    })
  return commands
}

/** A PNG of black with this opacity, of which clients only read the latter. https://www.w3.org/TR/png-3/ */
function pngOf(opacity: Uint8Array, width: number, height: number): Uint8Array {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Grey and opacity have eight bits each.
  header.set([8, 4, 0, 0, 0], 8)
  const lines = Buffer.alloc(height * (1 + 2 * width))
  for (let row = 0; row < height; row++)
    for (let column = 0; column < width; column++)
      lines[row * (1 + 2 * width) + 2 + 2 * column] = opacity[row * width + column]!
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(lines)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(content.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}
