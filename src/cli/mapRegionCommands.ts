/** The commands of `npm run region`, except for reading their arguments. */
import fs from 'node:fs'
import { join } from 'node:path'
import { refuseOtherKind } from '../geo/extract/finishedBuild.ts'
import { importAddresses, type AddressImport } from '../geo/extract/importAddresses.ts'
import { importMapRegion, type MapRegionImport } from '../geo/extract/importMapRegion.ts'
import { SourceMissing, updateMapRegion, type MapRegionUpdate } from '../geo/extract/updateMapRegion.ts'
import {
  readManifest,
  readRecord,
  sweepBuilds,
  unfinishedBuild,
  unfinishedNames,
  writeManifest,
  type MapRegionRecord,
  type SourceRecord,
} from '../geo/extract/mapRegionFiles.ts'

type Print = (line: string) => void

/** No map region has that name. */
export class UnknownMapRegion extends Error {
  override name = 'UnknownMapRegion'
}

/** The commands, on the folder of all map regions; its lock is held, except for {@link listMapRegions}. */
export interface MapRegionCommands {
  readonly folder: string
  /**
   * Runs the work while no server has the data folder. Does nothing if one has: then that server removes builds that
   * are no longer served.
   */
  readonly withoutServer: (work: () => Promise<void>) => Promise<void>
  readonly print: Print
}

/** Prints the map regions in the order of precedence. */
export function listMapRegions(folder: string, print: Print): void {
  const records = fs.existsSync(folder)
    ? readManifest(folder).regions.map((region) => readRecord(join(folder, region.folder)))
    : []
  if (records.length === 0) print('There are no regions. Import one: npm run region -- import FILE.osm.pbf')
  for (const record of records) for (const line of described(record)) print(line)
  for (const name of fs.existsSync(folder) ? unfinishedNames(folder) : [])
    print(`${name}: its import is running or was interrupted`)
}

/**
 * Imports the extract, and reports the result.
 * @throws {NameTaken} and what importMapRegion throws
 */
export async function runImport(
  commands: MapRegionCommands,
  job: Omit<MapRegionImport, 'folder' | 'isSample' | 'onNote'>,
): Promise<void> {
  const { folder, print } = commands
  refuseOtherKind(folder, job.name, 'extract')
  await report(commands, await importMapRegion({ ...job, folder, isSample: false, onNote: print }))
}

/**
 * Imports files of addresses, and reports the result.
 * @throws {NameTaken} and what importAddresses throws
 */
export async function addAddresses(
  commands: MapRegionCommands,
  job: Omit<AddressImport, 'folder' | 'isSample' | 'onNote'>,
): Promise<void> {
  const { folder, print } = commands
  refuseOtherKind(folder, job.name, 'addresses')
  await report(commands, await importAddresses({ ...job, folder, isSample: false, onNote: print }))
}

async function report(
  { folder, withoutServer, print }: MapRegionCommands,
  record: MapRegionRecord,
): Promise<void> {
  await withoutServer(() => sweepBuilds(folder))
  print(`The region ${record.name} is ready. A running server uses it within a second:`)
  for (const line of described(record)) print(line)
}

/**
 * Gives regions of earlier versions the products of this version, and reports the result.
 * @param name undefined for all regions; if some cannot be updated, the others still are
 * @returns whether all of them are up to date now
 * @throws {UnknownMapRegion} and what updateMapRegion throws for a region that was named
 */
export async function updateMapRegions(
  commands: MapRegionCommands,
  name: string | undefined,
  job: Omit<MapRegionUpdate, 'folder' | 'name' | 'onNote'>,
): Promise<boolean> {
  const { folder, print } = commands
  const manifest = readManifest(folder)
  const names = manifest.regions.map((region) => region.name)
  if (name !== undefined && !names.includes(name)) throw unknown(name, manifest)
  let isComplete = true
  for (const one of name === undefined ? names : [name]) {
    try {
      const record = await updateMapRegion({ ...job, folder, name: one, onNote: print })
      if (record === undefined) print(`${one} is up to date.`)
      else await report(commands, record)
    } catch (error) {
      if (name !== undefined || !(error instanceof SourceMissing)) throw error
      isComplete = false
      print(error.message)
    }
  }
  return isComplete
}

/**
 * Gives the map region precedence over all others where they overlap.
 * @throws {UnknownMapRegion}
 */
export function useMapRegion({ folder, print }: MapRegionCommands, name: string): void {
  const manifest = readManifest(folder)
  const region = manifest.regions.find((one) => one.name === name)
  if (region === undefined) throw unknown(name, manifest)
  const others = manifest.regions.filter((one) => one !== region)
  writeManifest(folder, { ...manifest, regions: [region, ...others] })
  print(`Where regions overlap, ${name} comes first.`)
}

/**
 * Removes the map region, and what an interrupted import of it left.
 * @throws {UnknownMapRegion}
 */
export async function removeMapRegion(
  { folder, withoutServer, print }: MapRegionCommands,
  name: string,
): Promise<void> {
  const manifest = readManifest(folder)
  const regions = manifest.regions.filter((one) => one.name !== name)
  const isUnfinished = unfinishedNames(folder).includes(name)
  if (regions.length === manifest.regions.length && !isUnfinished) throw unknown(name, manifest)
  if (regions.length < manifest.regions.length) writeManifest(folder, { ...manifest, regions })
  fs.rmSync(unfinishedBuild(folder, name), { recursive: true, force: true })
  await withoutServer(() => sweepBuilds(folder))
  print(`The region ${name} has been removed.`)
}

function described(record: MapRegionRecord): string[] {
  const { name, bounds, sources, attribution, licence, importedAt, stages } = record
  const [west, south, east, north] = bounds.map((degrees) => degrees.toFixed(4))
  const [source, ...others] = sources as [SourceRecord, ...SourceRecord[]]
  const data = source.dataOf === undefined ? '' : `, data of ${source.dataOf.slice(0, 10)}`
  const files = others.length === 0 ? source.file : `${source.file} and ${others.length} more`
  const size = sources.reduce((sum, file) => sum + file.bytes, 0)
  const bytes = Object.values(stages).reduce((sum, stage) => sum + stage.bytes, 0)
  return [
    `${name}: ${contentsOf(record)}, latitude ${south} to ${north}, longitude ${west} to ${east}`,
    `    ${files}, ${megabytes(size)}${data}; imported ${importedAt.slice(0, 10)}, ${megabytes(bytes)} on the disk`,
    `    ${attribution}, ${licence}`,
  ]
}

function contentsOf({ nodes, roads, stages }: MapRegionRecord): string {
  const count = (number: number, what: string): string => `${number.toLocaleString('en-US')} ${what}`
  if (stages.routing !== undefined) return count(roads, 'roads')
  const parts = [
    nodes > 0 && count(nodes, 'addresses'),
    roads > 0 && count(roads, 'edges with number ranges'),
  ]
  return parts.filter(Boolean).join(', ')
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

function unknown(
  name: string,
  { regions }: { readonly regions: readonly { readonly name: string }[] },
): UnknownMapRegion {
  const names = regions.map((region) => region.name).join(', ')
  return new UnknownMapRegion(`There is no region ${name}${names === '' ? '.' : `; there are ${names}.`}`)
}
