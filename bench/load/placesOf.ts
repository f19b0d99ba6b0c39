import { mkdirSync } from 'node:fs'
import { readExtract } from '../../src/geo/extract/extractReader.ts'
import { buildProducts } from '../../src/geo/extract/products.ts'

/**
 * Builds the place database of an extract into a new folder.
 * @returns its bounds: west, south, east, north
 */
export async function buildPlacesOf(
  extract: string,
  folder: string,
): Promise<readonly [number, number, number, number]> {
  mkdirSync(folder, { recursive: true })
  const { members, bounds } = await readExtract(extract, () => {})
  const { signal } = new AbortController()
  await buildProducts({ extract, members, folders: { places: folder }, signal, onProgress() {}, onNote() {} })
  return bounds
}
