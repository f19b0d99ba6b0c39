/**
 * Reads an OpenStreetMap extract from beginning to end for what a map region needs: where it has nodes, whether it
 * has roads, whether it is complete, and which ways its areas consist of.
 */
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import protobuf from 'protobufjs/minimal.js'
import { isMapArea } from '../records/mapObjects.ts'
import { isRecordedArea } from '../records/objectRecords.ts'
import type { Tags } from '../records/tags.ts'
import { CoverageCounter, type Coverage } from './coverage.ts'
import { ExtractRefused, osmPbfBlobs } from './osmPbfBlobs.ts'
import { readObjects, type RelationMember, type ObjectSink } from './osmReader.ts'
import type { BoundingBox } from './port.ts'

/** The facts about an extract that a map region needs. */
export interface ExtractFacts {
  readonly bytes: number
  /** In hexadecimal. */
  readonly sha256: string
  readonly bounds: BoundingBox
  readonly coverage: Coverage
  readonly nodes: number
  /** The number of ways with the key `highway`. */
  readonly roads: number
  /** The ids of the ways of areas that are recorded or that maps show, ascending. */
  readonly members: Float64Array
  /** The time at which the data were taken from OpenStreetMap, in epoch milliseconds, if the file says so. */
  readonly dataOf: number | undefined
}

const KNOWN_FEATURES: ReadonlySet<string> = new Set(['OsmSchema-V0.6', 'DenseNodes'])

/**
 * Reads the extract.
 * @param onProgress called with the share that was read, from 0 to 1
 * @throws {ExtractRefused} for a file that is not an extract, or has no roads; and the system's errors
 */
export async function readExtract(
  path: string,
  onProgress: (share: number) => void,
  signal?: AbortSignal,
): Promise<ExtractFacts> {
  const { size } = await stat(path)
  const hash = createHash('sha256')
  const counts = new Counts()
  let dataOf: number | undefined
  for await (const { type, content, position } of osmPbfBlobs(path, (bytes) => hash.update(bytes))) {
    signal?.throwIfAborted()
    try {
      if (type === 'OSMHeader') dataOf = readHeader(content, path)
      else if (type === 'OSMData') readObjects(content, counts)
    } catch (cause) {
      throw cause instanceof ExtractRefused ? cause : new ExtractRefused(`${path} is damaged.`, { cause })
    }
    onProgress(position / size)
  }
  const { nodes, roads, bounds } = counts
  if (nodes === 0 || roads === 0)
    throw new ExtractRefused(`${path} has no ${nodes === 0 ? 'nodes' : 'roads'} in it.`)
  return {
    bytes: size,
    sha256: hash.digest('hex'),
    bounds,
    coverage: counts.coverage(),
    nodes,
    roads,
    members: Float64Array.from(counts.members).sort(),
    dataOf,
  }
}

/**
 * Reads the header.
 * @returns when the data were taken, in epoch milliseconds
 */
function readHeader(block: Uint8Array, path: string): number | undefined {
  const reader = protobuf.Reader.create(block)
  let dataOf: number | undefined
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag >>> 3 === 4) {
      const feature = reader.string()
      if (feature === 'HistoricalInformation') {
        throw new ExtractRefused(
          `${path} has every version of each object. Import an extract of the current data; \`osmium time-filter\` makes one.`,
        )
      }
      if (!KNOWN_FEATURES.has(feature)) throw new ExtractRefused(`${path} needs "${feature}" of its reader.`)
    } else if (tag >>> 3 === 32) dataOf = Number(reader.int64()) * 1000
    else reader.skipType(tag & 7)
  }
  if (dataOf !== undefined && Number.isNaN(new Date(dataOf).getTime()))
    throw new ExtractRefused(`${path} is damaged: the time of its data is not a valid time.`)
  return dataOf
}

/** The sums over the objects of an extract. */
class Counts implements ObjectSink {
  nodes = 0
  roads = 0
  readonly members = new Set<number>()
  readonly #cells = new CoverageCounter()
  #west = 180
  #south = 90
  #east = -180
  #north = -90

  get bounds(): BoundingBox {
    return [this.#west, this.#south, this.#east, this.#north]
  }

  coverage(): Coverage {
    return this.#cells.coverage()
  }

  node(_: number, longitude: number, latitude: number): void {
    this.nodes++
    this.#west = Math.min(this.#west, longitude)
    this.#east = Math.max(this.#east, longitude)
    this.#south = Math.min(this.#south, latitude)
    this.#north = Math.max(this.#north, latitude)
    this.#cells.add(longitude, latitude)
  }

  way(_: number, __: readonly number[], tags: Tags): void {
    if (tags.has('highway')) this.roads++
  }

  relation(_: number, members: readonly RelationMember[], tags: Tags): void {
    if (isRecordedArea(tags) || isMapArea(tags))
      for (const { type, id } of members) if (type === 'way') this.members.add(id)
  }
}
