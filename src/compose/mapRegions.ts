/**
 * The map regions of this process's data folder, and the sample that is built automatically. Part of the composition
 * roots.
 */
import type { Options } from '../../config/options.ts'
import { mapRegionsFolder } from '../geo/extract/mapRegionFiles.ts'
import type { MapRegion } from '../geo/extract/port.ts'
import { MapRegionStore } from '../geo/extract/mapRegionStore.ts'
import { MapRegionUploads } from '../geo/extract/mapRegionUploads.ts'
import { SampleMapRegion } from '../geo/extract/sampleMapRegion.ts'
import { wantsSample } from '../geo/extract/samples.ts'
import { whyMissing } from '../geo/extract/valhallaTools.ts'
import { lockStore } from '../log/store.ts'
import type { ReadinessCheck } from '../ops/healthRoutes.ts'
import { systemTime as time } from '../runtime/clock.ts'
import type { Service } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'

export interface OpenMapRegions {
  readonly regions: MapRegionStore
  /** Builds the sample. It starts when the server listens, because tracking does not wait for it. */
  readonly sample: Service
  readonly uploads: MapRegionUploads
  readonly check: ReadinessCheck
}

/**
 * Opens the map regions of the data folder.
 * @throws {MapRegionsRefused} if they are of a later version or damaged
 */
export function openMapRegions({
  options,
  logger,
  world,
}: {
  readonly options: Options
  readonly logger: Logger
  /** Makes the file of the world, which searches need besides map regions. */
  readonly world: () => Promise<unknown>
}): OpenMapRegions {
  const { data: dataFolder, sampleRegion, routingUrl } = options
  const sample = new SampleMapRegion({ dataFolder, needed: world, imported: () => regions.look(), logger })
  const wantsOne = routingUrl === '' && wantsSample(mapRegionsFolder(dataFolder))
  const missing = wantsOne ? whyMissing() : undefined
  if (missing !== undefined) logger.info({ reason: missing }, 'routing is off; everything else works')
  const isWanted = sampleRegion && wantsOne && missing === undefined
  const regions = new MapRegionStore({
    dataFolder,
    lock: lockStore,
    coming: () =>
      isWanted
        ? `There is no region yet; the sample region: ${sample.condition}.`
        : (missing ?? 'There is no region yet. Import one: npm run region -- import FILE.osm.pbf'),
    time,
    logger,
  })
  const nothing: Service = { name: sample.name, stop() {} }
  const uploads = new MapRegionUploads({
    dataFolder,
    // Requests must not wait for it.
    lock: (folder) => lockStore(folder, 0),
    imported: () => regions.look(),
    memory: () => process.availableMemory(),
    clock: time,
    logger,
  })
  const check: ReadinessCheck = {
    name: 'regions',
    // The process is ready without them, because tracking needs no roads.
    check() {
      const names = regions.all.map(nameOf).join(', ') || 'none'
      const isComing = isWanted && sample.condition !== 'ready'
      return { ok: true, detail: isComing ? `${names}; sample: ${sample.condition}` : names }
    },
  }
  return { regions, sample: isWanted ? sample : nothing, uploads, check }
}

/** A region that an earlier version imported lacks products, or has some that this version cannot read. */
function nameOf({ name, places, map, tiles }: MapRegion): string {
  const isOfExtract = tiles !== undefined
  const lacks = [places === undefined && 'geocoding', isOfExtract && map === undefined && 'a map'].filter(
    Boolean,
  )
  return lacks.length === 0
    ? name
    : `${name} (without ${lacks.join(' and ')}: npm run region -- update ${name})`
}
