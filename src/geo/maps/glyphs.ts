/**
 * Letters for maps: for each font and each 256 characters, the signed distance fields of its letters as a Protocol
 * Buffers message, https://github.com/mapbox/node-fontnik/blob/master/proto/glyphs.proto. They are made from the web
 * font Noto Sans (SIL Open Font License 1.1).
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { ByteWriter } from '../mapFile/bytes.ts'
import { distanceField, pathEdges, FIELD_MARGIN, type PathCommand } from './distanceField.ts'
import { FONT_PACKAGE, FONT_WEIGHTS, LETTERS, type FontName } from './fonts.ts'

/** The size in which letters are drawn, in pixels. */
const SIZE = 24

/** What is used of opentype.js. */
interface Font {
  readonly unitsPerEm: number
  readonly ascender: number
  charToGlyphIndex(character: string): number
  charToGlyph(character: string): Glyph
}
interface Glyph {
  readonly advanceWidth?: number
  getPath(
    x: number,
    y: number,
    size: number,
  ): {
    readonly commands: readonly PathCommand[]
    getBoundingBox(): { readonly x1: number; readonly y1: number; readonly x2: number; readonly y2: number }
  }
}

const require = createRequire(import.meta.url)

/** Draws letters in a thread, with fonts that it opens when they are needed. */
export class GlyphMaker {
  readonly #fonts = new Map<FontName, readonly Font[]>()

  /**
   * The letters of a range.
   * @param start the first letter, a multiple of {@link LETTERS}
   * @returns the message, without letters that the font does not have
   */
  range(name: FontName, start: number): Uint8Array {
    const fonts = this.#fonts.get(name) ?? this.#open(name)
    const stack = new ByteWriter()
    stack.number((1 << 3) | 2)
    stack.text(name)
    stack.number((2 << 3) | 2)
    stack.text(`${start}-${start + LETTERS - 1}`)
    for (let code = start; code < start + LETTERS; code++) {
      const character = String.fromCharCode(code)
      const font = fonts.find((one) => one.charToGlyphIndex(character) > 0)
      if (font === undefined) continue
      stack.number((3 << 3) | 2)
      stack.bytes(drawn(font, character))
    }
    const message = new ByteWriter()
    message.number((1 << 3) | 2)
    message.bytes(stack.written())
    return message.written()
  }

  /** The files of a font, one for each script. */
  #open(name: FontName): readonly Font[] {
    const { parse } = require('opentype.js') as { parse(file: ArrayBuffer): Font }
    const folder = join(dirname(require.resolve(`${FONT_PACKAGE}/package.json`)), 'files')
    const ending = `-${FONT_WEIGHTS[name]}-normal.woff`
    const fonts = readdirSync(folder)
      .filter((file) => file.endsWith(ending))
      // The Latin file comes first, because it has the digits and signs that all scripts use.
      .sort((a, b) => Number(b.includes('-latin-')) - Number(a.includes('-latin-')) || a.length - b.length)
      .map((file) => parse(Uint8Array.from(readFileSync(join(folder, file))).buffer))
    this.#fonts.set(name, fonts)
    return fonts
  }
}

function drawn(font: Font, character: string): Uint8Array {
  const glyph = font.charToGlyph(character)
  const path = glyph.getPath(0, 0, SIZE)
  const { x1, y1, x2, y2 } = path.getBoundingBox()
  const [left, top] = [Math.floor(x1), Math.floor(y1)]
  const [width, height] = [Math.ceil(x2) - left, Math.ceil(y2) - top]
  const out = new ByteWriter()
  out.number(1 << 3)
  out.number(character.codePointAt(0)!)
  const isVisible = width > 0 && height > 0
  if (isVisible) {
    const field = distanceField(
      pathEdges(path.commands),
      left - FIELD_MARGIN,
      top - FIELD_MARGIN,
      width + 2 * FIELD_MARGIN,
      height + 2 * FIELD_MARGIN,
    )
    out.number((2 << 3) | 2)
    out.bytes(field)
  }
  out.number(3 << 3)
  out.number(isVisible ? width : 0)
  out.number(4 << 3)
  out.number(isVisible ? height : 0)
  out.number(5 << 3)
  out.signed(isVisible ? left : 0)
  // The distance is measured from the top of the line.
  out.number(6 << 3)
  out.signed(isVisible ? -top - Math.round((font.ascender * SIZE) / font.unitsPerEm) : 0)
  out.number(7 << 3)
  out.number(Math.max(0, Math.round(((glyph.advanceWidth ?? 0) * SIZE) / font.unitsPerEm)))
  return out.written()
}
