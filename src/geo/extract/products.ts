/**
 * The products that are made of the objects of an extract, in one pass over it: the place database and the map. Routing
 * tiles are not among them, because the routing engine reads the extract itself.
 */
import fs from 'node:fs'
import { MAP_ENGINE, mapProduct } from './mapFeatures.ts'
import type { MapRegionRecord } from './mapRegionFiles.ts'
import { osmPbfBlobs } from './osmPbfBlobs.ts'
import { readObjects } from './osmReader.ts'
import { hasCurrentPlaces, PLACE_DATABASE_ENGINE, placesProduct } from './placeRecords.ts'
import { ShapeAssembler, type Product } from './shapeAssembler.ts'

/** The stages of a build whose products are made here. */
export const PRODUCTS = ['places', 'map'] as const

export type ProductStage = (typeof PRODUCTS)[number]

/** The version of each product, as the record of a build names it. */
export const PRODUCT_ENGINES: Readonly<Record<ProductStage, string>> = {
  places: PLACE_DATABASE_ENGINE,
  map: MAP_ENGINE,
}

type Stages = Partial<MapRegionRecord['stages']>

/** Whether a build has the product as this version makes it. A build of addresses has no map. */
export function isCurrent(stage: ProductStage, stages: Stages): boolean {
  if (stage === 'places') return hasCurrentPlaces(stages)
  return stages.routing === undefined || stages.map?.engine === MAP_ENGINE
}

export function hasAllProducts({ stages }: MapRegionRecord): boolean {
  return PRODUCTS.every((stage) => isCurrent(stage, stages))
}

export interface ProductsJob {
  /** The absolute path of the extract. */
  readonly extract: string
  /** The ids of the ways that areas consist of. */
  readonly members: Float64Array
  /** An empty folder for each product that is wanted. */
  readonly folders: Readonly<Partial<Record<ProductStage, string>>>
  readonly signal: AbortSignal
  /** Called with the share that is done, from 0 to 1. */
  readonly onProgress: (share: number) => void
  /** Called with a sentence for each part that a product lacks. */
  readonly onNote: (sentence: string) => void
}

/** The share of the work that is reading. */
const READING_SHARE = 2 / 3

/**
 * Builds the products.
 * @throws ExtractRefused, the signal's reason and the system's errors
 */
export async function buildProducts(job: ProductsJob): Promise<void> {
  const { extract, members, folders, signal, onProgress, onNote } = job
  const { size } = await fs.promises.stat(extract)
  const products: Product[] = []
  try {
    if (folders.places !== undefined) products.push(placesProduct(folders.places, onNote))
    if (folders.map !== undefined) products.push(mapProduct(folders.map))
    const shapes = new ShapeAssembler(
      products.map(({ sink }) => sink),
      new Set(members),
    )
    for await (const { type, content, position } of osmPbfBlobs(extract, () => {})) {
      signal.throwIfAborted()
      if (type === 'OSMData') readObjects(content, shapes)
      onProgress((position / size) * READING_SHARE)
    }
    for (const [i, product] of products.entries()) {
      product.finish(shapes)
      onProgress(READING_SHARE + ((1 - READING_SHARE) * (i + 1)) / products.length)
    }
  } catch (error) {
    for (const product of products) product.abandon()
    throw error
  }
}
