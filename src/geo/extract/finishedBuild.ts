/** What all builds of map regions have in common: their names, the room that they need, and how they enter service. */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { basename, join } from 'node:path'
import { wholeMegabytes } from './importNeeds.ts'
import {
  finishBuild,
  readManifest,
  readRecord,
  writeManifest,
  type MapRegionManifest,
} from './mapRegionFiles.ts'

/** The least room that is needed on the disk, in bytes. */
const ROOM_BYTES = 100e6

/** There is not enough room on the disk. */
export class NoRoom extends Error {
  override name = 'NoRoom'
}

/** The name belongs to a region of another kind. */
export class NameTaken extends Error {
  override name = 'NameTaken'
}

/**
 * An extract must not be replaced by addresses, nor the reverse: both can be in service.
 * @throws {NameTaken}
 */
export function refuseOtherKind(folder: string, name: string, kind: 'extract' | 'addresses'): void {
  const region = readManifest(folder).regions.find((one) => one.name === name)
  if (region === undefined) return
  const hasRoads = readRecord(join(folder, region.folder)).stages.routing !== undefined
  if (hasRoads === (kind === 'extract')) return
  throw new NameTaken(
    `${name} is a region of ${hasRoads ? 'an extract' : 'added addresses'}. Give another name with --name: both are used.`,
  )
}

/**
 * The name of a map region in its normal form: letters, digits, `.`, `_` and `-`, lower case, at most 64.
 * @param text a name, or the name of a file
 * @returns undefined if nothing is left
 */
export function mapRegionName(text: string): string | undefined {
  const stem = basename(text)
    .replace(/\.pbf$/i, '')
    .replace(/[.-]osm$/i, '')
    .replace(/-latest$/i, '')
  const name = stem
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .replace(/(?<![^a-z0-9])[^a-z0-9]+$/, '')
  return name === '' ? undefined : name.slice(0, 64)
}

/**
 * Makes a build durable and puts it into service under its name.
 * @param build the folder, with its record
 */
export function putIntoService(folder: string, build: string, name: string, isSample: boolean): void {
  const finished = `${name}-${randomBytes(4).toString('hex')}`
  finishBuild(build, join(folder, finished))
  writeManifest(folder, withMapRegion(readManifest(folder), { name, folder: finished }, isSample))
}

/**
 * Checks the room on the disk.
 * @throws {NoRoom}
 */
export function checkRoom(folder: string, bytes: number): void {
  const needed = bytes + ROOM_BYTES
  const { bavail, bsize } = fs.statfsSync(folder)
  if (bavail * bsize >= needed) return
  throw new NoRoom(
    `${folder} has room for ${wholeMegabytes(bavail * bsize)}; this import takes up to ${wholeMegabytes(needed)}.`,
  )
}

function withMapRegion(
  manifest: MapRegionManifest,
  region: MapRegionManifest['regions'][number],
  isSample: boolean,
): MapRegionManifest {
  const place = manifest.regions.findIndex(({ name }) => name === region.name)
  const regions = place < 0 ? [region, ...manifest.regions] : manifest.regions.with(place, region)
  return { ...manifest, regions, ...(isSample ? { sampleImported: true } : {}) }
}
