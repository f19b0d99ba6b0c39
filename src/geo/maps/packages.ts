import { ApiError } from '../../runtime/errors.ts'
import { packageFolder } from '../../runtime/packageFolder.ts'
import { FONT_PACKAGE } from './fonts.ts'
import { ICON_PACKAGE } from './placeIcons.ts'

/** The optional packages of maps: letters, icons, tiles that users bring, and the map of the pages under /docs. */
export const GLYPH_PACKAGES = [FONT_PACKAGE, 'opentype.js'] as const
export const SPRITE_PACKAGES = [ICON_PACKAGE, 'svgpath'] as const
export const TILE_FILE_PACKAGES = ['pmtiles', '@mapbox/vector-tile', 'pbf'] as const
export const MAP_PACKAGES = [...GLYPH_PACKAGES, ...SPRITE_PACKAGES, 'maplibre-gl', 'pmtiles'] as const

const found = new Set<string>()

/**
 * Checks that packages are installed.
 * @throws {ApiError} 503 that names the first one that is not
 */
export function checkInstalled(names: readonly string[]): void {
  for (const name of names) {
    if (found.has(name)) continue
    if (packageFolder(name) === undefined)
      throw new ApiError(503, `The package ${name} is not installed: npm install ${name}.`)
    found.add(name)
  }
}
